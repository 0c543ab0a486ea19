# SPDX-License-Identifier: MIT
"""What the page shows of each item: tables and plots, from what was measured. A new item is a function in PANELS."""

from .cells import Notes, bytes_text, cell, count_text, grid, name_cell, number, outcome, row_median, table
from .plots import axis, curve, plot, sampled, valued
from .properties import properties
from .results import blocks_shown

PAYLOAD = axis("bytes asked for", sizes=True)
TIME = axis("milliseconds")


def generic(item, x, x_axis, x_text, title, **settings):
    """Times of a generic test over one parameter: a plot and its table for each size of grid."""

    def panels(results):
        blocks = []
        grids = sorted({row.get("blocks") for row in results.rows(item, **settings)}, key=lambda b: (b != 120, b or 0))
        for count in [None] if x == "blocks" else grids:
            rows = [row for row in results.rows(item, **settings) if count is None or row.get("blocks") == count]
            name = f"{title}, {count} blocks" if count else title
            blocks += [sampled(results, name, x_axis, TIME, rows, x), grid(results, name, "ms", rows, x, row_median, x_text)]
        return blocks

    return panels


def each(item):
    """Ouroboros' allocations: a plot over the sizes, a table of malloc and one of free, mixed sizes in a column of their own."""

    def panels(results):
        rows = results.rows(item, test="alloc")
        threads = rows[0]["threads"] if rows else 0
        blocks = [sampled(results, f"{threads:,} threads allocate once", PAYLOAD, TIME, rows, "payload_bytes", "allocate_ms")]
        mixed = [{**row, "payload_bytes": 1 << 40} for row in results.rows(item, test="mixed")]
        for key, what in (("allocate_ms", "Allocation"), ("free_ms", "Free")):
            blocks.append(grid(results, f"{what} alone, {threads:,} threads", "ms", rows + mixed, "payload_bytes",
                               lambda row, key=key: row_median(row, key),
                               lambda p: "mixed" if p == 1 << 40 else bytes_text(p)))
        return blocks

    return panels


def registers(results):
    rows = [row for row in results.rows("regeff-t1")]
    notes, lines, names = Notes(), [], []
    for row in rows:
        line = [name_cell(results, row["allocator"])]
        for key in ("calls", "calls_coalesced"):
            line += [outcome(row, row.get(key, {}).get(call, {}).get("registers"), notes) for call in ("malloc", "free", "both")]
        lines.append(line)
        names.append(row["allocator"])
    columns = ["", "malloc", "free", "both", "malloc, coalesced", "free, coalesced", "both, coalesced"]
    return [table("Registers a thread", columns, lines, [f"{i + 1}: {line}" for i, line in enumerate(notes.lines)], names)]


def calls_of_p(results):
    rows = [row for row in results.rows("regeff-t2") if "allocations" in row]
    columns = ["", "allocations", "expected", "deallocations", "expected"]
    lines = [[name_cell(results, row["allocator"]), number(row["allocations"]["count"]), number(row["expected"]["count"]),
              number(row["allocations"]["deallocations"]), number(row["expected"]["deallocations"])] for row in rows]
    return [table("Calls in P, 120 blocks, 10 launches", columns, lines, ["Expected: by the paper's rule, which its own counts do not follow."],
                  [row["allocator"] for row in rows])]


def pages(results):
    rows = results.rows("regeff-4", "scatter")
    names = {}
    for row in sorted(rows, key=lambda row: row["page_bytes"]):
        names[str(row["page_bytes"])] = f"pages of {bytes_text(row['page_bytes'])}"
    rows = [{**row, "allocator": str(row["page_bytes"])} for row in rows]
    title = "Alloc Cycle Dealloc with ScatterAlloc"
    return [sampled(results, title, PAYLOAD, TIME, rows, "payload_bytes", names=names),
            grid(results, title, "ms", rows, "payload_bytes", row_median, bytes_text, names)]


def builds(item, over):
    """Tables 3 and 4: scenes in columns, properties of the requests, then slowdowns over one allocator's time."""

    def panels(results):
        rows = results.rows(item)
        scenes = list(dict.fromkeys(row["scene"] for row in rows))
        at = {(row["allocator"], row["scene"]): row for row in rows}
        notes, lines, names = Notes(), [], []

        def add(first, cells, allocator=None):
            lines.append([first, *cells])
            names.append(allocator)

        # Of any allocator whose build was complete: requests depend on the tree alone.
        whole = {s: next((row for row in rows if row["scene"] == s and row["status"] == "ok"), {}) for s in scenes}
        add(cell("triangles", heading=True), [number(whole[s].get("triangles")) for s in scenes])
        add(cell("refs per triangle", heading=True), [number(whole[s].get("tree", {}).get("refs_per_triangle"), 2) for s in scenes])
        for text, key in (("allocations", "count"), ("mean size, bytes", "mean_bytes"), ("sigma of sizes, bytes", "sigma_bytes")):
            add(cell(text, heading=True), [number(whole[s].get("allocations", {}).get(key)) for s in scenes])
        reference = {s: at.get((over, s), {}).get("median_ms") if at.get((over, s), {}).get("status") == "ok" else None for s in scenes}
        label = results.labels().get(over, over)
        add(cell(f"{label}, ms", heading=True), [outcome(at.get((over, s), {}), reference[s], notes) for s in scenes], over)
        for allocator in results.labels():
            if allocator == over or not any((allocator, s) in at for s in scenes):
                continue
            cells = []
            for scene in scenes:
                row = at.get((allocator, scene), {})
                time = row.get("median_ms") if row.get("status") == "ok" else None
                cells.append(outcome(row, time / reference[scene] if time and reference[scene] else None, notes))
            add(name_cell(results, allocator), cells, allocator)
        sources = [f"{s}: {whole[s].get('source')}" + (", procedural" if whole[s].get("procedural") else "") for s in scenes if whole[s]]
        said = [f"Slowdowns over {label}'s time. * cannot free single blocks. Scenes: {'; '.join(sources)}."]
        said += [f"{i + 1}: {line}" for i, line in enumerate(notes.lines)]
        complete = [row for row in rows if row["status"] == "ok"]
        return [table("Builds: times and slowdowns", ["", *scenes], lines, said, names),
                sampled(results, "Build time over triangles", axis("triangles"), TIME, complete, "triangles")]

    return panels


def fragmentation(item, which, key, title):
    def panels(results):
        rows = [row for row in results.rows(item) if row.get("blocks") == blocks_shown(results, item)]

        def value(row):
            return row.get("memory", {}).get(which, {}).get(key)

        return [valued(results, title, PAYLOAD, axis("fragmentation", log=False), rows, "payload_bytes", value),
                grid(results, title, "", rows, "payload_bytes", value, bytes_text)]

    return panels


def address_range(results):
    rows = results.rows("ouroboros-range")

    def times(row):
        got = row.get("space", {}).get("first_address_bytes")
        return got / (row["threads"] * row["request_bytes"]) if got else None

    title = "Range of addresses over the bytes asked for, first iteration"
    return [valued(results, title, PAYLOAD, axis("range / bytes asked for"), rows, "payload_bytes", times),
            grid(results, title, "", rows, "payload_bytes", times, bytes_text)]


def churn(results):
    rows = [row for row in results.rows("ouroboros-churn") if row.get("space", {}).get("steps")]
    curves, lines, names = [], [], []
    for row in rows:
        space = row["space"]
        steps = space["steps"][0]
        # Thinned when it was written: the last step is the iteration after the last complete one.
        last = max(space.get("iterations", len(steps)), 1)
        x = [1 + i * last / max(len(steps) - 1, 1) for i in range(len(steps))]
        curves.append(curve(row["label"], x, [step["address_bytes"] / (1 << 20) for step in steps], allocator=row["allocator"]))
        lines.append([name_cell(results, row["allocator"]), number(space.get("iterations")), number(100 * space.get("utilization", 0), 1),
                      number(space.get("iteration_ms")), number(space.get("last_ms")), cell(row.get("reason", ""))])
        names.append(row["allocator"])
    columns = ["", "iterations", "in use then, %", "median iteration, ms", "last, ms", "remark"]
    return [plot("Range of addresses while half of each iteration's blocks are freed", axis("iteration", log=False), axis("MiB"), curves),
            table("Until the first request is refused", columns, lines, (), names)]


def utilization(results):
    rows = results.rows("ouroboros-utilization")
    notes, lines = Notes(), []
    for row in rows:
        value = row.get("space", {}).get("utilization")
        line = outcome(row, None if value is None else 100 * value, notes)
        lines.append([name_cell(results, row["allocator"]), line])
    capacity = max((row.get("space", {}).get("capacity_bytes", 0) for row in rows), default=0)
    return [table(f"Share of {bytes_text(capacity)} handed out in blocks of 16 bytes, %", ["", "share, %"], lines,
                  [f"{i + 1}: {line}" for i, line in enumerate(notes.lines)], [row["allocator"] for row in rows])]


def primitive_rows(results, item):
    return [{**case["about"], **row} for case in results.cases_of(item) for row in case["results"]]


def semaphores(results):
    rows = primitive_rows(results, "bulk-5")
    names = {row["allocator"]: row["label"] for row in rows}
    title = "Units taken a second"
    return [sampled(results, title, axis("threads"), axis("millions a second"), rows, "threads",
                    scale=lambda row, ms: row["threads"] / ms / 1e3, names=names),
            grid(results, title, "millions", rows, "threads",
                 lambda row: row["threads"] / row["median_ms"] / 1e3 if row.get("median_ms") else None, count_text, names)]


def rcu(results):
    at = {(row["threads"], row["readers"], row["allocator"]): row for row in primitive_rows(results, "bulk-6")}
    rows, names = [], {}
    for (threads, readers, variant), row in at.items():
        other = at.get((threads, readers, "delegated"))
        if variant != "plain" or not other or not row.get("median_ms") or not other.get("median_ms"):
            continue
        names[str(readers)] = f"1 : {readers}"
        rows.append({"allocator": str(readers), "threads": threads, "status": "ok", "speed": row["median_ms"] / other["median_ms"]})
    curves = []
    for readers, name in sorted(names.items(), key=lambda pair: int(pair[0])):
        points = sorted((row["threads"], row["speed"]) for row in rows if row["allocator"] == readers)
        curves.append(curve(f"writers : readers {name}", [p[0] for p in points], [p[1] for p in points]))
    title = "Time with a barrier each over time with delegation"
    return [plot(title, axis("threads"), axis("ratio"), curves),
            grid(results, title, "", rows, "threads", lambda row: row["speed"], count_text, names)]


def exhausting(results):
    rows = [row for row in results.rows("bulk-7") if row.get("allocate_ms")]

    def asked(row):
        return row["allocations"]["count"] + row["allocations"]["refused"]

    title = "Requests a second until the pool is exhausted"
    return [sampled(results, title, PAYLOAD, axis("millions a second"), rows, "payload_bytes", "allocate_ms",
                    scale=lambda row, ms: asked(row) / ms / 1e3),
            grid(results, title, "millions", rows, "payload_bytes", lambda row: asked(row) / row_median(row, "allocate_ms") / 1e3, bytes_text),
            grid(results, "Refused", "%", [{**row, "status": "ok"} for row in rows], "payload_bytes",
                 lambda row: 100 * row["allocations"]["refused"] / asked(row), bytes_text)]


def share(results):
    """What an allocator costs beyond the bare minimum: build time above the fastest lower bound's, over build time."""
    rows = [row for row in results.rows("own-share") if row["status"] == "ok"]
    bound = {}
    for row in rows:
        if row["lower_bound"]:
            bound[row["scene"]] = min(row["median_ms"], bound.get(row["scene"], row["median_ms"]))
    notes, lines, names = Notes(), [], []
    scenes = sorted(bound)
    for allocator in results.labels():
        mine = {row["scene"]: row for row in rows if row["allocator"] == allocator}
        if not mine or all(row["lower_bound"] for row in mine.values()):
            continue
        lines.append([name_cell(results, allocator),
                      *(outcome(mine.get(s, {}), max(0.0, 100 * (1 - bound[s] / mine[s]["median_ms"])) if s in mine else None, notes) for s in scenes)])
        names.append(allocator)
    return [table("At least this share of the build is the allocator, %", ["", *scenes], lines,
                  ["Build time above that of the faster allocator that never frees, which costs something itself."], names)]


def pool_over_build(results):
    rows = [row for row in results.rows("own-pool") if row.get("points")]

    def curves(column, scale=1.0):
        return [curve(row["label"], [p[0] for p in row["points"]], [p[column] / scale for p in row["points"]], allocator=row["allocator"])
                for row in rows]

    columns = ["", "most in use, MiB", "highest address, MiB", "worst external fragmentation below it", "at the end"]
    lines = [[name_cell(results, row["allocator"]), number(max(p[1] for p in row["points"]) / (1 << 20)),
              number(max(p[3] for p in row["points"]) / (1 << 20)), number(max(p[5] for p in row["points"])), number(row["points"][-1][5])] for row in rows]
    event = axis("requests and frees so far", log=False)
    return [plot("Memory in use over the build", event, axis("MiB", log=False), curves(1, 1 << 20)),
            plot("Highest address over the build", event, axis("MiB"), curves(3, 1 << 20)),
            plot("External fragmentation below the highest address", event, axis("fragmentation", log=False), curves(5)),
            table("The pool over the build", columns, lines, (), [row["allocator"] for row in rows])]


def scaling(item):
    return generic(item, "threads", axis("threads"), count_text, "Allocate once, free once")


PANELS = {
    "regeff-t1": registers,
    "regeff-t2": calls_of_p,
    "regeff-3a": generic("regeff-3a", "payload_bytes", PAYLOAD, bytes_text, "Alloc Dealloc"),
    "regeff-3b": generic("regeff-3b", "pool_bytes", axis("size of the pool", sizes=True), bytes_text, "Alloc Cycle Dealloc"),
    "regeff-3c": generic("regeff-3c", "iterations", axis("successive allocations a thread", log=False), str, "Alloc Cycle Dealloc"),
    "regeff-3d": generic("regeff-3d", "blocks", axis("blocks of 8 allocating threads"), str, "Probability, 10 launches"),
    "regeff-4": pages,
    "regeff-t3": builds("regeff-t3", "atomic"),
    "regeff-t4": builds("regeff-t4", "halloc"),
    "regeff-t5": properties,
    "regeff-5a": fragmentation("regeff-5a", "peak", "internal_fragmentation", "Internal fragmentation, all blocks in use"),
    "regeff-5b": fragmentation("regeff-5b", "end", "external_fragmentation", "External fragmentation, all blocks freed"),
    "ouroboros-10k": each("ouroboros-10k"),
    "ouroboros-100k": each("ouroboros-100k"),
    **{item: scaling(item) for item in ("ouroboros-32", "ouroboros-128", "ouroboros-1k", "ouroboros-8k")},
    "ouroboros-range": address_range,
    "ouroboros-churn": churn,
    "ouroboros-utilization": utilization,
    "bulk-5": semaphores,
    "bulk-6": rcu,
    "bulk-7": exhausting,
    "own-triangles": builds("own-triangles", "atomic"),
    "own-slowdown": builds("own-slowdown", "atomic"),
    "own-share": share,
    "own-pool": pool_over_build,
}
