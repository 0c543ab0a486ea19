# SPDX-License-Identifier: MIT
"""Figures of the dynamic graphs (Ouroboros 6.2) in results files, for panels and claims; the panels of
Ouroboros' figure 4."""

from functools import partial

from .cells import grid
from .plots import TIME, Parameter, axis, sampled
from .figures import median

LAYOUTS = {"pages": "Linked pages", "csr": "CSR rebuilt"}


def samples(row, phase):
    """Milliseconds of one phase of a result."""
    phases = {one["phase"]: one.get("runs_ms", []) for one in reversed(row.get("phases", []))}
    return phases.get(phase, [])


def footprint(row):
    """Bytes: the vertex table, the memory that is not free, and the tables of the allocator."""
    memory = row.get("memory", {})
    if "held_bytes" not in memory:
        return None
    return memory["table_bytes"] + memory["held_bytes"] + memory["metadata_bytes"]


def degree(row):
    return row["edges"] / row["vertices"]


def graph_panels(results, title, rows, y_axis, unit, value):
    """A plot over the edges of the graphs and its table; each row has the samples of the panel."""
    labels = results.labels()
    names = {**labels, **LAYOUTS}
    graphs = {row["edges"]: row["graph"] for row in reversed(rows)}
    shown = [row for row in rows if row.get("samples")]
    edges = Parameter("edges", axis("edges of the graph"), graphs.get)
    plot = sampled(results, title, edges, y_axis, shown, "samples", names=names)
    by_name = {name: allocator for allocator, name in labels.items()}
    for curve in plot["curves"]:  # for the filter; a layout has no allocator
        curve["allocator"] = by_name.get(curve["name"])
    lines = grid(results, title, unit, rows, edges, value, names)
    present = {row["allocator"] for row in rows}
    lines["allocators"] = [a if a in labels else None for a in names if a in present]
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


def timed(title, phase, results, item, **settings):
    rows = [
        {**row, "samples": samples(row, phase)}
        for row in results.rows(item, **settings)
        if "edges" in row
    ]
    return graph_panels(results, title, rows, TIME, "ms", lambda row: median(row["samples"]))


def memory_and_ratio(results, item):
    rows = [row for row in results.rows(item) if footprint(row) is not None]
    blocks = []
    for title, y_axis, unit, value in (
        (
            "Vertices, memory in use and tables after initialization",
            axis("MiB"),
            "MiB",
            lambda row: footprint(row) / (1 << 20),
        ),
        (
            "Memory in use over 4 bytes per edge",
            axis("ratio", log=False),
            "",
            lambda row: row["memory"]["held_bytes"] / row["memory"]["payload_bytes"],
        ),
    ):
        measured = [{**row, "samples": [value(row)]} for row in rows]
        blocks += graph_panels(results, title, measured, y_axis, unit, value)
    return blocks


def together(item, parts, results):
    """The panels of an item; its first table says which graphs were measured."""
    blocks = [block for part in parts for block in part(results, item)]
    rows = [row for row in results.rows(item) if "vertices" in row]
    if rows:
        blocks[1]["notes"].append(graphs_text(rows))
    return blocks


PARTS = {
    "ouroboros-graph-init": [
        partial(timed, "Initialization, one malloc per vertex", "init", init="each"),
        partial(timed, "Initialization, size classes counted", "init", init="counted"),
    ],
    "ouroboros-graph-memory": [memory_and_ratio],
    "ouroboros-graph-updates": [
        partial(timed, f"{what} of a batch, {text}", phase, updates=updates)
        for updates, text in (("random", "random sources"), ("pressure", "within 1,000 vertices"))
        for phase, what in (("insert", "Insertion"), ("delete", "Deletion"))
    ],
    "ouroboros-graph-pagerank": [partial(timed, "PageRank, one iteration", "pagerank")],
    "ouroboros-graph-triangles": [partial(timed, "Triangle counting", "triangles")],
}
GRAPH_PANELS = {item: partial(together, item, parts) for item, parts in PARTS.items()}
