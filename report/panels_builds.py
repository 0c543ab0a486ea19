# SPDX-License-Identifier: MIT
"""Panels of builds: RegEff's tables 3 and 4, and items of this project."""

from .cells import Notes, cell, grid, name_cell, number, outcome, row_median, table
from .plots import TIME, axis, curve, plot, sampled
from .text import bytes_text, count_text, figure

MIB = 1 << 20


def pools_of(rows):
    """{scene: {bytes: labels}}: which pool each allocator of a scene had."""
    pools = {}
    for row in rows:
        sizes = pools.setdefault(row["scene"], {})
        size = row.get("memory", {}).get("pool_bytes")
        if size and row.get("builder") != "per-level":
            sizes.setdefault(size, []).append(row["label"])
    return pools


def pool_cell(sizes):
    if not sizes:
        return cell("–")
    text = " to ".join(figure(size / MIB) for size in sorted({min(sizes), max(sizes)}))
    return cell(text, min(sizes) / MIB)


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


def builds(item, over):
    """A table with a column per scene: properties of the requests, slowdowns relative to `over`."""

    def panels(results):
        rows = results.rows(item)
        scenes = list(dict.fromkeys(row["scene"] for row in rows))
        at = {(row["allocator"], row["scene"]): row for row in rows}
        notes, lines, names = Notes(), [], []

        def add(first, cells, allocator=None):
            lines.append([first, *cells])
            names.append(allocator)

        # From any complete build: requests depend on the tree only.
        whole = {
            s: next((row for row in rows if row["scene"] == s and row["status"] == "ok"), {})
            for s in scenes
        }
        add(cell("triangles", heading=True), [number(whole[s].get("triangles")) for s in scenes])
        add(
            cell("refs per triangle", heading=True),
            [number(whole[s].get("tree", {}).get("refs_per_triangle"), 2) for s in scenes],
        )
        for text, key in (
            ("allocations", "count"),
            ("mean size, bytes", "mean_bytes"),
            ("sigma of sizes, bytes", "sigma_bytes"),
        ):
            add(
                cell(text, heading=True),
                [number(whole[s].get("allocations", {}).get(key)) for s in scenes],
            )
        pools = pools_of(rows)
        add(cell("pool, MiB", heading=True), [pool_cell(pools[s]) for s in scenes])
        reference = {
            s: (
                at.get((over, s), {}).get("median_ms")
                if at.get((over, s), {}).get("status") == "ok"
                else None
            )
            for s in scenes
        }
        label = results.labels().get(over, over)
        add(
            cell(f"{label}, ms", heading=True),
            [outcome(at.get((over, s), {}), reference[s], notes) for s in scenes],
            over,
        )
        for allocator in results.labels():
            if allocator == over or not any((allocator, s) in at for s in scenes):
                continue
            cells = []
            for scene in scenes:
                row = at.get((allocator, scene), {})
                time = row.get("median_ms") if row.get("status") == "ok" else None
                cells.append(
                    outcome(
                        row, time / reference[scene] if time and reference[scene] else None, notes
                    )
                )
            add(name_cell(results, allocator), cells, allocator)
        sources = [
            f"{s}: {whole[s].get('source')}"
            + (", procedural" if whole[s].get("procedural") else "")
            for s in scenes
            if whole[s]
        ]
        said = [
            f"Slowdowns are relative to {label}. * cannot free single blocks. Scenes: {'; '.join(sources)}."
        ]
        said += [pool_note(pools)]
        said += [f"{i + 1}: {line}" for i, line in enumerate(notes.lines)]
        panels = [table("Builds: times and slowdowns", ["", *scenes], lines, said, names)]
        complete = [row for row in rows if row["status"] == "ok"]
        sizes = [row["triangles"] for row in complete]
        if sizes and max(sizes) > 2 * min(sizes):  # a plot needs a range of sizes
            panels.append(
                sampled(
                    results,
                    "Build time over triangles",
                    axis("triangles"),
                    TIME,
                    complete,
                    "triangles",
                )
            )
        return panels

    return panels


def share(results):
    """The min share of build time due to the allocator: time above the fastest lower bound."""
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
        lines.append(
            [
                name_cell(results, allocator),
                *(
                    outcome(
                        mine.get(s, {}),
                        (
                            max(0.0, 100 * (1 - bound[s] / mine[s]["median_ms"]))
                            if s in mine
                            else None
                        ),
                        notes,
                    )
                    for s in scenes
                ),
            ]
        )
        names.append(allocator)
    return [
        table(
            "Min share of the build time that is the allocator, %",
            ["", *scenes],
            lines,
            [
                "Build time above that of the faster of the allocators that never free, whose own cost is not included.",
                pool_note(pools_of(rows)),
            ],
            names,
        )
    ]


def rays(results):
    """Rays per second over the scenes' numbers of triangles."""
    kinds, steps = ("primary", "diffuse"), {
        "inner": "inner nodes",
        "leaves": "leaves",
        "triangles": "triangles",
    }
    rows = [row for row in results.rows("own-trace") if row["status"] == "ok"]
    scenes = {}
    for row in rows:
        scenes.setdefault(row["key"], {})[row["kind"]] = row
    lines = []
    for of in scenes.values():
        scene = next(iter(of.values()))
        source = scene["source"] + (", procedural" if scene["procedural"] else "")
        line = [cell(scene["scene"], heading=True), cell(source), number(scene["triangles"])]
        for kind in kinds:
            one = of.get(kind, {})
            line.append(number(one.get("mrays_per_second")))
            line += [
                number(one["steps"][key] / one["rays"], 1) if one.get("rays") else number(None)
                for key in steps
            ]
        lines.append(line)
    columns = ["", "source", "triangles"]
    for kind in kinds:
        columns += [f"{kind}, Mrays/s", *(f"{kind}: {what} per ray" for what in steps.values())]
    title = "Closest hits per second"
    return [
        sampled(
            results,
            title,
            axis("triangles"),
            axis("millions per second"),
            rows,
            "triangles",
            scale=lambda row, ms: row["rays"] / ms / 1e3,
            names={kind: f"{kind.capitalize()} rays" for kind in kinds},
        ),
        table(f"{title} and steps per ray", columns, lines),
    ]


def pool_over_build(results):
    rows = [row for row in results.rows("own-pool") if row.get("points")]

    def curves(column, scale=1.0):
        return [
            curve(
                row["label"],
                [p[0] for p in row["points"]],
                [p[column] / scale for p in row["points"]],
                allocator=row["allocator"],
            )
            for row in rows
        ]

    columns = [
        "",
        "max in use, MiB",
        "highest address, MiB",
        "max external fragmentation below it",
        "at the end",
        "internal fragmentation, most blocks",
        "pool, MiB",
    ]
    lines = [
        [
            name_cell(results, row["allocator"]),
            number(max(p[1] for p in row["points"]) / (1 << 20)),
            number(max(p[3] for p in row["points"]) / (1 << 20)),
            number(max(p[5] for p in row["points"])),
            number(row["points"][-1][5]),
            number(internal_at_peak(row)),
            number(row["pool_bytes"] / MIB if row.get("pool_bytes") else None),
        ]
        for row in rows
    ]
    event = axis("requests and frees so far", log=False)
    return [
        plot("Memory in use over the build", event, axis("MiB", log=False), curves(1, 1 << 20)),
        plot("Highest address over the build", event, axis("MiB"), curves(3, 1 << 20)),
        plot(
            "External fragmentation below the highest address",
            event,
            axis("fragmentation", log=False),
            curves(5),
        ),
        table("The pool over the build", columns, lines, (), [row["allocator"] for row in rows]),
    ]


def internal_at_peak(row):
    """Internal fragmentation of a recording where most blocks are in use."""
    points = [p for p in row.get("points", []) if len(p) > 6 and p[6] is not None]
    return max(points, key=lambda point: point[2])[6] if points else None


def internal_of_builds(results):
    """Internal fragmentation during recorded builds."""
    rows = [row for row in results.rows("regeff-recorded") if row.get("points")]
    scenes = list(dict.fromkeys(row["scene"] for row in rows))
    panels, lines, names = [], [], []
    for scene in scenes:
        curves = [
            curve(
                row["label"],
                [p[0] for p in row["points"] if len(p) > 6 and p[6] is not None],
                [p[6] for p in row["points"] if len(p) > 6 and p[6] is not None],
                allocator=row["allocator"],
            )
            for row in rows
            if row["scene"] == scene
        ]
        panels.append(
            plot(
                f"Internal fragmentation over the build of {scene}",
                axis("requests and frees so far", log=False),
                axis("fragmentation", log=False),
                curves,
            )
        )
    at = {(row["allocator"], row["scene"]): row for row in rows}
    for allocator in results.labels():
        if any((allocator, s) in at for s in scenes):
            values = [internal_at_peak(at.get((allocator, s), {})) for s in scenes]
            lines.append([name_cell(results, allocator), *(number(v) for v in values)])
            names.append(allocator)
    said = [
        "Mean of (size - requested) / size over the blocks in use, where most are. The size is the min distance to the next"
        " block that was seen for requests of that size, headers included: exact once two such blocks were adjacent."
    ]
    title = "Internal fragmentation where most blocks are in use"
    return [*panels, table(title, ["", *scenes], lines, said, names)]


def scatter_pages(item, table_item):
    """Slowdowns of ScatterAlloc by page size, over AtomicMalloc or, without it, over its best."""

    def panels(results):
        rows, atomic = results.rows(item, "scatter"), {}
        for row in results.rows(table_item, "atomic"):
            if row.get("status") == "ok" and row.get("median_ms"):
                atomic[row["source"]] = row["median_ms"]
        scenes = list(dict.fromkeys((row["scene"], row["source"]) for row in rows))
        sizes = sorted({row["page_bytes"] for row in rows if row.get("page_bytes")})
        at = {(row["page_bytes"], row["source"]): row for row in rows if row.get("page_bytes")}
        best = {}
        for row in rows:
            if row.get("status") == "ok" and row.get("median_ms"):
                best[row["source"]] = min(
                    row["median_ms"], best.get(row["source"], row["median_ms"])
                )
        notes, lines = Notes(), []
        for size in sizes:
            line = [cell(f"pages of {bytes_text(size)}", heading=True)]
            for _, source in scenes:
                row = at.get((size, source), {})
                time = row.get("median_ms") if row.get("status") == "ok" else None
                over = atomic.get(source) or best.get(source)
                line.append(outcome(row, time / over if time and over else None, notes))
            lines.append(line)
        said = [
            "Over AtomicMalloc's build of the table without page sizes, in the same pool; where that is incomplete, over the"
            " best page size.",
            pool_note(pools_of(rows)),
            *(f"{i + 1}: {line}" for i, line in enumerate(notes.lines)),
        ]
        title = "Builds with ScatterAlloc by page size: slowdown"
        return [table(title, ["", *(scene for scene, _ in scenes)], lines, said)]

    return panels


def builders(results):
    """The single-kernel builder with each allocator, and the per-level builder."""
    rows = [
        {**row, "allocator": f"{row['allocator']} {row['builder']}", "name": row["label"]}
        for row in results.rows("own-builder")
    ]
    names = {}
    for row in rows:
        names[row["allocator"]] = f"{row['name']}, {row['builder']}"
    title = "Build time of the two builders"
    complete = [row for row in rows if row["status"] == "ok"]
    return [
        sampled(results, title, axis("triangles"), TIME, complete, "triangles", names=names),
        grid(results, title, "ms", complete, "triangles", row_median, count_text, names),
        memory_of_builders(rows),
    ]


def memory_of_builders(rows):
    """Device memory of the two builders, without the mesh."""
    lines = []
    for row in rows:
        of, size = row.get("memory", {}), None
        if of.get("peak_bytes"):
            size = of["peak_bytes"]
        elif of.get("high_water_bytes") and of.get("workspace_bytes"):
            size = of["high_water_bytes"] + of["workspace_bytes"]
        lines.append(
            [
                cell(f"{row['name']}, {row['builder']}", heading=True),
                cell(row["scene"]),
                number(size / MIB if size else None),
                number(of["pool_bytes"] / MIB if of.get("pool_bytes") else None),
            ]
        )
    said = [
        "Single kernel: the peak bytes in use plus the workspace; the pool is what it was given. Per level: the peak"
        " bytes in use."
    ]
    return table("Memory of the two builders, MiB", ["", "scene", "needed", "pool"], lines, said)
