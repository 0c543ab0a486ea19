# SPDX-License-Identifier: MIT
"""Panels of the dynamic graphs: Ouroboros' figure 4."""

from .cells import grid
from .graphs import LAYOUTS, degree, footprint, samples
from .plots import TIME, axis, sampled
from .samples import median

EDGES = axis("edges of the graph")


def names_of(results):
    return {**results.labels(), **LAYOUTS}


def graph_panels(results, title, rows, y_axis, unit, value):
    """A plot over the edges of the graphs and its table; each row has the samples of the panel."""
    names = names_of(results)
    columns = {}
    for row in rows:
        columns.setdefault(row["edges"], row["graph"])
    shown = [row for row in rows if row.get("samples")]
    plot = sampled(results, title, EDGES, y_axis, shown, "edges", "samples", names=names)
    by_name = {name: allocator for allocator, name in names.items()}
    for curve in plot["curves"]:  # for the filter; a layout has no allocator
        allocator = by_name[curve["name"]]
        curve["allocator"] = None if allocator in LAYOUTS else allocator
    lines = grid(results, title, unit, rows, "edges", value, columns.get, names)
    labels = results.labels()
    present = [a for a in names if any(row["allocator"] == a for row in rows)]
    lines["allocators"] = [a if a in labels else None for a in present]
    return [plot, lines]


def graphs_text(rows):
    """Sizes of the graphs and their stand-ins, in one sentence."""
    known = {}
    for row in rows:
        source = f", generated: {row['source']}" if row.get("procedural") else ""
        known[row["edges"]] = (
            f"{row['graph']} ({row['vertices']:,} vertices, {row['edges']:,} edges, mean degree"
            f" {degree(row):.1f}{source})"
        )
    return "Graphs: " + "; ".join(known[edges] for edges in sorted(known)) + "."


def timed(item, title, *phases, **settings):
    def panels(results):
        rows = [
            {**row, "samples": samples(row, *phases)}
            for row in results.rows(item, **settings)
            if "edges" in row
        ]
        return graph_panels(results, title, rows, TIME, "ms", lambda row: median(row["samples"]))

    return panels


def together(item, *parts):
    """The panels of an item; its first table says which graphs were measured."""

    def panels(results):
        blocks = [block for part in parts for block in part(results)]
        rows = [row for row in results.rows(item) if "vertices" in row]
        if rows:
            blocks[1]["notes"].append(graphs_text(rows))
        return blocks

    return panels


graph_init = together(
    "ouroboros-graph-init",
    timed("ouroboros-graph-init", "Initialization, one malloc per vertex", "init", init="each"),
    timed("ouroboros-graph-init", "Initialization, size classes counted", "init", init="counted"),
)

graph_updates = together(
    "ouroboros-graph-updates",
    *(
        timed("ouroboros-graph-updates", f"{what} of a batch, {text}", phase, updates=updates)
        for updates, text in (("random", "random sources"), ("pressure", "within 1,000 vertices"))
        for phase, what in (("insert", "Insertion"), ("delete", "Deletion"))
    ),
)

graph_page_rank = together(
    "ouroboros-graph-pagerank",
    timed("ouroboros-graph-pagerank", "PageRank, one iteration", "pagerank"),
)
graph_triangles = together(
    "ouroboros-graph-triangles",
    timed("ouroboros-graph-triangles", "Triangle counting", "triangles"),
)


def memory_and_ratio(results):
    rows = []
    for row in results.rows("ouroboros-graph-memory"):
        used = footprint(row)
        if used is not None:
            rows.append({**row, "samples": [used / (1 << 20)]})
    title = "Vertices, memory in use and tables after initialization"
    mebibytes = graph_panels(
        results, title, rows, axis("MiB"), "MiB", lambda row: row["samples"][0]
    )
    payload = "Memory in use over 4 bytes per edge"

    def over_payload(row):
        return row["memory"]["held_bytes"] / row["memory"]["payload_bytes"]

    rows = [{**row, "samples": [over_payload(row)]} for row in rows]
    return mebibytes + graph_panels(
        results, payload, rows, axis("ratio", log=False), "", over_payload
    )


graph_memory = together("ouroboros-graph-memory", memory_and_ratio)
