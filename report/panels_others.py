# SPDX-License-Identifier: MIT
"""Panels of Ouroboros, Bulk and the host-managed allocators."""

from .cells import allocator_table, cell, grid, heading, Notes, number, outcome, row_median, table
from .plots import PAYLOAD, THREADS, TIME, axis, curve_of, plot, sampled, sampled_and_grid
from .plots import valued_and_grid
from .figures import bytes_text

MIB = 1 << 20
CALL = axis("call", log=False)


def measured(results, item):
    return [row for row in results.rows(item) if row.get("passes")]


def first_pass(name, row, key, unit=1):
    """A curve over the hundredths of the first pass."""
    windows = [w for w in row["passes"][0].get("windows", []) if w.get(key)]
    return curve_of(name, [(w["op"], w[key] / unit) for w in windows])


def latency(results):
    rows = measured(results, "host-3")
    columns = [
        f"{when}: {what}"
        for when in ("first pass", "later")
        for what in ("allocate, median", "99.9%", "free, median", "99.9%")
    ]
    lines = []
    for row in rows:
        lines.append([heading(row["label"])])
        for source in (row["passes"][0], row.get("warm", {})):
            for kind in ("allocate_us", "free_us"):
                lines[-1] += [number(source.get(kind, {}).get(key)) for key in ("p50", "p99_9")]
    return [
        *(
            plot(
                f"{what} in each hundredth of the first pass",
                CALL,
                axis("microseconds"),
                [first_pass(row["label"], row, key) for row in rows],
            )
            for what, key in (("Median latency", "median_us"), ("Slowest call", "max_us"))
        ),
        table("Latency, microseconds", ["", *columns], lines),
    ]


def memory(results):
    rows = measured(results, "host-4")
    curves = [first_pass(row["label"], row, "mapped_bytes", MIB) for row in rows]
    curves += [first_pass("requested", row, "requested_bytes", MIB) for row in rows[:1]]
    lines = []
    for row in rows:
        first = row["passes"][0]
        ratio = first.get("mapped_over_requested_mean")
        sizes = (first.get("peak_requested_bytes"), first.get("peak_mapped_bytes"))
        lines.append(
            [
                heading(row["label"]),
                *(number(size / MIB if size else None) for size in sizes),
                number(1 / ratio if ratio else None, 2),
                number(first.get("mappings")),
            ]
        )
    columns = ["max requested, MiB", "max mapped, MiB", "mean share of mapped in use", "mappings"]
    return [
        plot("Memory mapped over the first pass", CALL, axis("MiB", log=False), curves),
        table("Memory, first pass", ["", *columns], lines),
    ]


# Rounds in one pool, of which the last is timed. The second round reuses what the first has freed.
POOLS = ((2, "a used pool"), (1, "a fresh pool"))
MIXED = 1 << 40  # the column of the test of mixed sizes


def each(item, results):
    """Ouroboros' allocation test, in used and in fresh pools: plots over the sizes; tables of malloc
    and free."""
    blocks = []
    for rounds, where in POOLS:
        rows = results.rows(item, test="alloc", rounds=rounds)
        if not rows:
            continue
        what = f"{rows[0]['threads']:,} threads"
        title = f"{what} allocate once, {where}"
        blocks.append(sampled(results, title, PAYLOAD, TIME, rows, "allocate_ms"))
        rows += [
            {**row, "payload_bytes": MIXED}
            for row in results.rows(item, test="mixed", rounds=rounds)
        ]
        sizes = PAYLOAD._replace(
            text=lambda size: "mixed" if size == MIXED else bytes_text(size)
        )
        for key, call in (("allocate_ms", "Allocation"), ("free_ms", "Free")):
            blocks.append(
                grid(
                    results,
                    f"{call} only, {what}, {where}",
                    "ms",
                    rows,
                    sizes,
                    lambda row, key=key: row_median(row, key),
                )
            )
    return blocks


def scaling(item, results):
    """Time of allocation over the number of threads, in used and in fresh pools."""
    blocks = []
    for rounds, where in POOLS:
        if rows := results.rows(item, rounds=rounds):
            title = f"Allocate once, {where}"
            blocks += sampled_and_grid(results, title, THREADS, rows, "allocate_ms")
    return blocks


def address_range(results):
    def times(row):
        got = row.get("space", {}).get("first_address_bytes")
        return got / (row["threads"] * row["request_bytes"]) if got else None

    return valued_and_grid(
        results,
        "Address range over requested bytes, first iteration",
        PAYLOAD,
        axis("range / requested bytes"),
        results.rows("ouroboros-range"),
        times,
    )


def churn(results):
    rows = [row for row in results.rows("ouroboros-churn") if row.get("space", {}).get("steps")]
    curves = []
    for row in rows:
        steps = row["space"]["steps"][0]
        # The steps are thinned. The last one belongs to the iteration after the last complete one.
        last = max(row["space"].get("iterations", len(steps)), 1)
        points = [
            (1 + i * last / max(len(steps) - 1, 1), step["address_bytes"] / (1 << 20))
            for i, step in enumerate(steps)
        ]
        curves.append(curve_of(row["label"], points, row["allocator"]))

    def cells_of(row):
        space = row["space"]
        return [
            number(space.get("iterations")),
            number(100 * space.get("utilization", 0), 1),
            number(space.get("iteration_ms")),
            number(space.get("last_ms")),
            cell(row.get("reason", "")),
        ]

    return [
        plot(
            "Address range while half of each iteration's blocks are freed",
            axis("iteration", log=False),
            axis("MiB"),
            curves,
        ),
        allocator_table(
            results,
            "Until the first request is refused",
            [
                "iterations",
                "in use at the end, %",
                "median iteration, ms",
                "last iteration, ms",
                "remark",
            ],
            rows,
            cells_of,
        ),
    ]


def utilization(item, results):
    rows, notes = results.rows(item), Notes()
    # CUDA's heap may have another size than the pool of the others.
    sizes = {row["allocator"]: row.get("space", {}).get("capacity_bytes", 0) for row in rows}
    heap = sizes.pop("cuda", 0)
    capacity = max(sizes.values(), default=heap)
    beside = f" (CudaMalloc: of {bytes_text(heap)})" if heap not in (0, capacity) else ""

    def cells_of(row):
        value = row.get("space", {}).get("utilization")
        return [outcome(row, None if value is None else 100 * value, notes)]

    title = f"Share of {bytes_text(capacity)}{beside} allocated in blocks of 16 bytes, %"
    return [allocator_table(results, title, ["share, %"], rows, cells_of, notes=notes)]


def first_launches(results):
    lines = [
        [heading(f"{row['threads']:,} of {bytes_text(row['payload_bytes'])}"), *map(number, row["allocate_ms"])]
        for row in results.rows("ouroboros-first")
        if row.get("allocate_ms")
    ]
    return [table("Launches in a fresh heap, ms", ["requests", "first", "second", "third"], lines)]


def min_blocks(results):
    lines = [
        [
            heading(bytes_text(row["min_block_bytes"])),
            number(row["warm"]["both_us"]["p50"]),
            number(row["passes"][0].get("mapped_over_requested_mean"), 3),
        ]
        for row in measured(results, "host-minimum")
    ]
    columns = ["min block", "median of malloc and free, µs", "mapped over requested, mean"]
    return [table("Min blocks of segregated fit", columns, lines)]


def primitive_rows(results, item):
    return [{**case["about"], **row} for case in results.cases_of(item) for row in case["results"]]


def semaphores(results):
    rows = primitive_rows(results, "bulk-5")
    return sampled_and_grid(
        results,
        "Units acquired per second",
        THREADS,
        rows,
        count=lambda row: row["threads"],
        names={row["allocator"]: row["label"] for row in rows},
    )


def rcu(results):
    at = {
        (row["readers"], row["threads"], row["allocator"]): row["median_ms"]
        for row in primitive_rows(results, "bulk-6")
        if row.get("median_ms")
    }
    speeds = {}
    for readers, threads, variant in sorted(at):
        delegated = at.get((readers, threads, "delegated"))
        if variant == "plain" and delegated:
            speed = at[readers, threads, "plain"] / delegated
            speeds.setdefault(readers, []).append((threads, speed))
    curves = [
        curve_of(f"writers : readers 1 : {readers}", points) for readers, points in speeds.items()
    ]
    rows = [
        {"allocator": str(readers), "threads": threads, "status": "ok", "speed": speed}
        for readers, points in speeds.items()
        for threads, speed in points
    ]
    names = {str(readers): f"1 : {readers}" for readers in speeds}
    title = "Time with one barrier per writer over time with delegation"
    return [
        plot(title, THREADS.axis, axis("ratio"), curves),
        grid(results, title, "", rows, THREADS, lambda row: row["speed"], names),
    ]


def exhausting(item, results):
    # Refused requests are part of this experiment and have a separate table.
    rows = [{**row, "status": "ok"} for row in results.rows(item) if row.get("allocate_ms")]

    def requested(row):
        return row["allocations"]["count"] + row["allocations"]["refused"]

    def refused(row):
        return 100 * row["allocations"]["refused"] / requested(row)

    title = "Requests per second until the pool is exhausted"
    return [
        *sampled_and_grid(results, title, PAYLOAD, rows, "allocate_ms", count=requested),
        grid(results, "Refused", "%", rows, PAYLOAD, refused),
    ]
