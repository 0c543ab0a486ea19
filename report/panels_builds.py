# SPDX-License-Identifier: MIT
"""Panels of builds: RegEff's tables 3 and 4, and items of this project."""

from .cells import Notes, cell, grid, name_cell, number, outcome, row_median, table
from .plots import TIME, axis, curve, plot, sampled
from .text import count_text


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
                "Build time above that of the faster of the allocators that never free, whose own cost is not included."
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
    ]
    lines = [
        [
            name_cell(results, row["allocator"]),
            number(max(p[1] for p in row["points"]) / (1 << 20)),
            number(max(p[3] for p in row["points"]) / (1 << 20)),
            number(max(p[5] for p in row["points"])),
            number(row["points"][-1][5]),
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
    ]
