# SPDX-License-Identifier: MIT
"""Panels of Ouroboros and Bulk."""

from .cells import Notes, cell, grid, name_cell, number, outcome, row_median, table
from .plots import PAYLOAD, TIME, axis, curve, plot, sampled, valued
from .text import bytes_text, count_text

# Rounds in one pool: the last one is timed. Later ones reuse what the first has freed.
POOLS = ((2, "a used pool"), (1, "a fresh pool"))


def each(item):
    """Ouroboros' allocation test, in used and in fresh pools: plots over the sizes; tables of malloc
    and free."""

    def panels(results):
        blocks = []
        for rounds, where in POOLS:
            rows = results.rows(item, test="alloc", rounds=rounds)
            if not rows:
                continue
            threads = rows[0]["threads"]
            blocks.append(
                sampled(
                    results,
                    f"{threads:,} threads allocate once, {where}",
                    PAYLOAD,
                    TIME,
                    rows,
                    "payload_bytes",
                    "allocate_ms",
                )
            )
            mixed = [
                {**row, "payload_bytes": 1 << 40}
                for row in results.rows(item, test="mixed", rounds=rounds)
            ]
            for key, what in (("allocate_ms", "Allocation"), ("free_ms", "Free")):
                blocks.append(
                    grid(
                        results,
                        f"{what} only, {threads:,} threads, {where}",
                        "ms",
                        rows + mixed,
                        "payload_bytes",
                        lambda row, key=key: row_median(row, key),
                        lambda p: "mixed" if p == 1 << 40 else bytes_text(p),
                    )
                )
        return blocks

    return panels


def scaling(item):
    """Time of allocation over the number of threads, in used and in fresh pools."""

    def panels(results):
        blocks = []
        for rounds, where in POOLS:
            rows = results.rows(item, rounds=rounds)
            if not rows:
                continue
            title = f"Allocate once, {where}"
            blocks += [
                sampled(results, title, axis("threads"), TIME, rows, "threads", "allocate_ms"),
                grid(
                    results,
                    title,
                    "ms",
                    rows,
                    "threads",
                    lambda row: row_median(row, "allocate_ms"),
                    count_text,
                ),
            ]
        return blocks

    return panels


def address_range(results):
    rows = results.rows("ouroboros-range")

    def times(row):
        got = row.get("space", {}).get("first_address_bytes")
        return got / (row["threads"] * row["request_bytes"]) if got else None

    title = "Address range over requested bytes, first iteration"
    return [
        valued(
            results, title, PAYLOAD, axis("range / requested bytes"), rows, "payload_bytes", times
        ),
        grid(results, title, "", rows, "payload_bytes", times, bytes_text),
    ]


def churn(results):
    rows = [row for row in results.rows("ouroboros-churn") if row.get("space", {}).get("steps")]
    curves, lines, names = [], [], []
    for row in rows:
        space = row["space"]
        steps = space["steps"][0]
        # The steps are thinned. The last one is the iteration after the last complete one.
        last = max(space.get("iterations", len(steps)), 1)
        x = [1 + i * last / max(len(steps) - 1, 1) for i in range(len(steps))]
        curves.append(
            curve(
                row["label"],
                x,
                [step["address_bytes"] / (1 << 20) for step in steps],
                allocator=row["allocator"],
            )
        )
        lines.append(
            [
                name_cell(results, row["allocator"]),
                number(space.get("iterations")),
                number(100 * space.get("utilization", 0), 1),
                number(space.get("iteration_ms")),
                number(space.get("last_ms")),
                cell(row.get("reason", "")),
            ]
        )
        names.append(row["allocator"])
    columns = [
        "",
        "iterations",
        "in use at the end, %",
        "median iteration, ms",
        "last iteration, ms",
        "remark",
    ]
    return [
        plot(
            "Address range while half of each iteration's blocks are freed",
            axis("iteration", log=False),
            axis("MiB"),
            curves,
        ),
        table("Until the first request is refused", columns, lines, (), names),
    ]


def utilization(results):
    rows = results.rows("ouroboros-utilization")
    notes, lines = Notes(), []
    for row in rows:
        value = row.get("space", {}).get("utilization")
        line = outcome(row, None if value is None else 100 * value, notes)
        lines.append([name_cell(results, row["allocator"]), line])
    # The platform's heap may differ in size from the pool.
    sizes = {row["allocator"]: row.get("space", {}).get("capacity_bytes", 0) for row in rows}
    capacity = max((size for name, size in sizes.items() if name != "cuda"), default=0)
    heap = sizes.get("cuda", 0)
    beside = f" (CudaMalloc: of {bytes_text(heap)})" if heap not in (0, capacity) else ""
    return [
        table(
            f"Share of {bytes_text(capacity)}{beside} allocated in blocks of 16 bytes, %",
            ["", "share, %"],
            lines,
            [f"{i + 1}: {line}" for i, line in enumerate(notes.lines)],
            [row["allocator"] for row in rows],
        )
    ]


def primitive_rows(results, item):
    return [{**case["about"], **row} for case in results.cases_of(item) for row in case["results"]]


def semaphores(results):
    rows = primitive_rows(results, "bulk-5")
    names = {row["allocator"]: row["label"] for row in rows}
    title = "Units acquired per second"
    return [
        sampled(
            results,
            title,
            axis("threads"),
            axis("millions per second"),
            rows,
            "threads",
            scale=lambda row, ms: row["threads"] / ms / 1e3,
            names=names,
        ),
        grid(
            results,
            title,
            "millions",
            rows,
            "threads",
            lambda row: row["threads"] / row["median_ms"] / 1e3 if row.get("median_ms") else None,
            count_text,
            names,
        ),
    ]


def rcu(results):
    at = {
        (row["threads"], row["readers"], row["allocator"]): row
        for row in primitive_rows(results, "bulk-6")
    }
    rows, names = [], {}
    for (threads, readers, variant), row in at.items():
        other = at.get((threads, readers, "delegated"))
        if (
            variant != "plain"
            or not other
            or not row.get("median_ms")
            or not other.get("median_ms")
        ):
            continue
        names[str(readers)] = f"1 : {readers}"
        rows.append(
            {
                "allocator": str(readers),
                "threads": threads,
                "status": "ok",
                "speed": row["median_ms"] / other["median_ms"],
            }
        )
    curves = []
    for readers, name in sorted(names.items(), key=lambda pair: int(pair[0])):
        points = sorted(
            (row["threads"], row["speed"]) for row in rows if row["allocator"] == readers
        )
        curves.append(
            curve(f"writers : readers {name}", [p[0] for p in points], [p[1] for p in points])
        )
    title = "Time with one barrier per writer over time with delegation"
    return [
        plot(title, axis("threads"), axis("ratio"), curves),
        grid(results, title, "", rows, "threads", lambda row: row["speed"], count_text, names),
    ]


def exhausting(results):
    # Refused requests are part of the experiment and have a separate table.
    rows = [{**row, "status": "ok"} for row in results.rows("bulk-7") if row.get("allocate_ms")]

    def requested(row):
        return row["allocations"]["count"] + row["allocations"]["refused"]

    title = "Requests per second until the pool is exhausted"
    return [
        sampled(
            results,
            title,
            PAYLOAD,
            axis("millions per second"),
            rows,
            "payload_bytes",
            "allocate_ms",
            scale=lambda row, ms: requested(row) / ms / 1e3,
        ),
        grid(
            results,
            title,
            "millions",
            rows,
            "payload_bytes",
            lambda row: requested(row) / row_median(row, "allocate_ms") / 1e3,
            bytes_text,
        ),
        grid(
            results,
            "Refused",
            "%",
            rows,
            "payload_bytes",
            lambda row: 100 * row["allocations"]["refused"] / requested(row),
            bytes_text,
        ),
    ]
