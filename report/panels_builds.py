# SPDX-License-Identifier: MIT
"""Panels of builds: RegEff's tables 3 and 4, and items of this project."""

from .cells import Notes, allocator_table, cell, heading, lines_by_allocator, number, outcome, table
from .plots import TIME, TRIANGLES, axis, curve, curve_of, plot, sampled
from .results import time_of
from .figures import bytes_text, extremes, figure, median

MIB = 1 << 20
INTERNAL = 6  # of a point of a recording (docs/reproduction.md)
EVENT = axis("requests and frees so far", log=False)


def internal_points(row):
    """The points of a recording that have the internal fragmentation."""
    return [p for p in row.get("points", []) if len(p) > INTERNAL and p[INTERNAL] is not None]


def internal_at_peak(row):
    """Internal fragmentation of a recording where most blocks are in use."""
    points = internal_points(row)
    return max(points, key=lambda point: point[2])[INTERNAL] if points else None


def pools_of(rows):
    """{scene: {bytes: labels}}: which pool each allocator of a scene had."""
    pools = {}
    for row in rows:
        sizes = pools.setdefault(row["scene"], {})
        size = row.get("memory", {}).get("pool_bytes")
        if size:
            sizes.setdefault(size, []).append(row["label"])
    return pools


def pool_cell(sizes):
    if not sizes:
        return cell("–")
    return cell(extremes([size / MIB for size in sizes]), min(sizes) / MIB)


def pool_note(pools):
    """Which pool each allocator had, in words."""
    apart = [
        f"{scene}: "
        + ", ".join(f"{figure(b / MIB)} MiB {', '.join(of)}" for b, of in sizes.items())
        for scene, sizes in pools.items()
        if len(sizes) > 1
    ]
    same = (
        f"Pools differ: {'; '.join(apart)}."
        if apart
        else "Every allocator had the same pool on a scene."
    )
    return f"{same} CudaMalloc has the heap of the device (on the CPU, the system's) instead."


def scenes_of(rows):
    return list(dict.fromkeys(row["scene"] for row in rows))


def source_text(row):
    return f"{row.get('source')}{', procedural' if row.get('procedural') else ''}"


def ratio(time, over):
    return time / over if time and over else None


def slowdown_bars(labels, times, rows, over):
    """Bars of the median slowdowns over the scenes, the lowest first."""
    slowdowns = {}
    for row in rows:
        if value := ratio(time_of(row), times[row["scene"]]):
            slowdowns.setdefault(labels[row["allocator"]], []).append(value)
    medians = {name: median(slowdowns[name]) for name in slowdowns if name != labels.get(over)}
    names = sorted(medians, key=medians.get)
    return plot(
        "Slowdown, median over the scenes",
        axis("allocator", log=False),
        axis(f"build time over {labels.get(over, over)}'s"),
        [curve("slowdown", names, [medians[name] for name in names])],
        "bars",
    )


def builds(item, over, results):
    """A table with a column per scene: properties of the requests, slowdowns relative to `over`; and
    bars of the slowdowns."""
    rows, notes = results.rows(item), Notes()
    scenes, pools, label = scenes_of(rows), pools_of(rows), results.labels().get(over, over)
    at = {(row["allocator"], row["scene"]): row for row in rows}
    complete = [row for row in rows if row["status"] == "ok"]
    # Requests depend only on the tree, so they are taken from any complete build.
    whole = [next((row for row in complete if row["scene"] == s), {}) for s in scenes]
    allocations = [row.get("allocations", {}) for row in whole]
    reference = [at.pop((over, s), {}) for s in scenes]
    times = dict(zip(scenes, map(time_of, reference)))
    properties = {
        "triangles": [number(row.get("triangles")) for row in whole],
        "refs per triangle": [
            number(row.get("tree", {}).get("refs_per_triangle"), 2) for row in whole
        ],
        "allocations": [number(of.get("count")) for of in allocations],
        "mean size, bytes": [number(of.get("mean_bytes")) for of in allocations],
        "sigma of sizes, bytes": [number(of.get("sigma_bytes")) for of in allocations],
        "pool, MiB": [pool_cell(pools[s]) for s in scenes],
        f"{label}, ms": [outcome(row, time_of(row), notes) for row in reference],
    }
    lines, names = lines_by_allocator(
        results, scenes, at, lambda row, s: outcome(row, ratio(time_of(row), times[s]), notes)
    )
    sources = [f"{s}: {source_text(row)}" for s, row in zip(scenes, whole) if row]
    said = [
        f"Slowdowns are relative to {label}. * cannot free single blocks. Scenes: {'; '.join(sources)}.",
        pool_note(pools),
        *notes.numbered(),
    ]
    lines = [*([heading(text), *cells] for text, cells in properties.items()), *lines]
    names = [*[None] * (len(properties) - 1), over, *names]
    blocks = [
        table("Builds: times and slowdowns", ["", *scenes], lines, said, names),
        slowdown_bars(results.labels(), times, complete, over),
    ]
    sizes = [row["triangles"] for row in complete]
    if sizes and max(sizes) > 2 * min(sizes):  # a plot needs a range of sizes
        title = "Build time over triangles"
        blocks.append(sampled(results, title, TRIANGLES, TIME, complete))
    return blocks


def share(results):
    """The min share of build time due to the allocator: time above the fastest lower bound."""
    rows = [row for row in results.rows("own-share") if row["status"] == "ok"]
    bound, notes = {}, Notes()
    for row in rows:
        if row["lower_bound"]:
            bound[row["scene"]] = min(row["median_ms"], bound.get(row["scene"], row["median_ms"]))
    frees = {row["allocator"] for row in rows if not row["lower_bound"]}

    def cell_of(row, scene):
        share = max(0.0, 100 * (1 - bound[scene] / row["median_ms"])) if row else None
        return outcome(row, share, notes)

    at = {(row["allocator"], row["scene"]): row for row in rows if row["allocator"] in frees}
    lines, names = lines_by_allocator(results, sorted(bound), at, cell_of)
    said = [
        "Build time above that of the faster of the allocators that never free, whose own cost is not included.",
        pool_note(pools_of(rows)),
    ]
    title = "Min share of the build time that is the allocator, %"
    return [table(title, ["", *sorted(bound)], lines, said, names)]


def rays(results):
    """Rays per second over the scenes' numbers of triangles."""
    kinds = ("primary", "diffuse")
    steps = {"inner": "inner nodes", "leaves": "leaves", "triangles": "triangles"}
    rows = [row for row in results.rows("own-trace") if row["status"] == "ok"]
    scenes = {}
    for row in rows:
        scenes.setdefault(row["key"], {})[row["kind"]] = row
    lines = []
    for of in scenes.values():
        scene = next(iter(of.values()))
        line = [heading(scene["scene"]), cell(source_text(scene)), number(scene["triangles"])]
        for one in (of.get(kind, {}) for kind in kinds):
            line.append(number(one.get("mrays_per_second")))
            line += [
                number(one["steps"][key] / one["rays"] if one.get("rays") else None, 1)
                for key in steps
            ]
        lines.append(line)
    columns = ["", "source", "triangles"]
    for kind in kinds:
        columns += [f"{kind}, Mrays/s", *(f"{kind}: {what} per ray" for what in steps.values())]
    title = "Closest hits per second"
    rate = axis("millions per second")
    return [
        sampled(
            results,
            title,
            TRIANGLES,
            rate,
            rows,
            scale=lambda row, ms: row["rays"] / ms / 1e3,
            names={kind: f"{kind.capitalize()} rays" for kind in kinds},
        ),
        table(f"{title} and steps per ray", columns, lines),
    ]


def pool_over_build(results):
    rows = [row for row in results.rows("own-pool") if row.get("points")]

    def over_build(title, y_axis, column, unit=1):
        curves = [
            curve_of(
                row["label"], [(p[0], p[column] / unit) for p in row["points"]], row["allocator"]
            )
            for row in rows
        ]
        return plot(title, EVENT, y_axis, curves)

    def cells_of(row):
        points = row["points"]
        return [
            number(max(p[1] for p in points) / MIB),
            number(max(p[3] for p in points) / MIB),
            number(max(p[5] for p in points)),
            number(points[-1][5]),
            number(internal_at_peak(row)),
            number(row["pool_bytes"] / MIB if row.get("pool_bytes") else None),
        ]

    columns = [
        "max in use, MiB",
        "highest address, MiB",
        "max external fragmentation below it",
        "at the end",
        "internal fragmentation, most blocks",
        "pool, MiB",
    ]
    below = "External fragmentation below the highest address"
    return [
        over_build("Memory in use over the build", axis("MiB", log=False), 1, MIB),
        over_build("Highest address over the build", axis("MiB"), 3, MIB),
        over_build(below, axis("fragmentation", log=False), 5),
        allocator_table(results, "The pool over the build", columns, rows, cells_of),
    ]


def internal_of_builds(results):
    """Internal fragmentation during recorded builds."""
    rows = [row for row in results.rows("regeff-recorded") if row.get("points")]
    scenes = scenes_of(rows)
    panels = []
    for scene in scenes:
        curves = [
            curve_of(row["label"], [(p[0], p[6]) for p in internal_points(row)], row["allocator"])
            for row in rows
            if row["scene"] == scene
        ]
        title = f"Internal fragmentation over the build of {scene}"
        panels.append(plot(title, EVENT, axis("fragmentation", log=False), curves))
    at = {(row["allocator"], row["scene"]): row for row in rows}
    lines, names = lines_by_allocator(
        results, scenes, at, lambda row, _: number(internal_at_peak(row))
    )
    said = [
        "Mean of (size - requested) / size over the blocks in use, where most are. The size is the min distance to the next"
        " block that was seen for requests of that size, headers included: exact once two such blocks were adjacent."
    ]
    title = "Internal fragmentation where most blocks are in use"
    return [*panels, table(title, ["", *scenes], lines, said, names)]


def scatter_pages(item, table_item, results):
    """Slowdowns of ScatterAlloc by page size, over AtomicMalloc or, without it, over its best."""
    rows, notes = results.rows(item, "scatter"), Notes()
    over = {}
    for row in results.complete(item, "scatter"):
        over[row["source"]] = min(row["median_ms"], over.get(row["source"], row["median_ms"]))
    for row in results.complete(table_item, "atomic"):
        over[row["source"]] = row["median_ms"]
    scenes = dict.fromkeys((row["scene"], row["source"]) for row in rows)
    at = {(row["page_bytes"], row["source"]): row for row in rows if row.get("page_bytes")}
    lines = []
    for size in sorted({size for size, _ in at}):
        line = [heading(f"pages of {bytes_text(size)}")]
        for _, source in scenes:
            row = at.get((size, source), {})
            line.append(outcome(row, ratio(time_of(row), over.get(source)), notes))
        lines.append(line)
    said = [
        "Over AtomicMalloc's build of the table without page sizes, in the same pool; where that is incomplete, over the"
        " best page size.",
        pool_note(pools_of(rows)),
        *notes.numbered(),
    ]
    title = "Builds with ScatterAlloc by page size: slowdown"
    return [table(title, ["", *(scene for scene, _ in scenes)], lines, said)]
