# SPDX-License-Identifier: MIT
"""Claims and panels of the dynamic graphs: results with known verdicts."""

import unittest

from report.claims import CHUNKS, FAILS, HOLDS, OPEN, PAGES, judge
from report.panels_graphs import footprint, samples
from report.panels import PANELS

from .made import BY_ID, results, row

OUROBOROS = (*PAGES, *CHUNKS)
# name: (vertices, edges)
GRAPHS = {"small_road": (100_000, 200_000), "large_grid": (4_000_000, 100_000_000)}
ITEMS = [f"ouroboros-graph-{n}" for n in ("init", "memory", "updates", "pagerank", "triangles")]


def graph_row(allocator, graph, times):
    """times: {phase: ms}, each with three samples."""
    vertices, edges = GRAPHS[graph]
    phases = [{"phase": name, "runs_ms": [0.99 * t, t, 1.01 * t]} for name, t in times.items()]
    memory = {"table_bytes": 16, "held_bytes": 100, "metadata_bytes": 4, "payload_bytes": 50}
    one = row(allocator, vertices=vertices, edges=edges, phases=phases, memory=memory)
    if allocator in ("pages", "csr"):
        del one["frees"]
    return one


def made(times):
    """times(allocator): milliseconds of each phase."""
    cases = []
    for graph in GRAPHS:
        for init, updates, phases in (
            ("each", "random", ("init", "pagerank", "triangles", "insert", "delete")),
            ("each", "pressure", ("init", "insert", "delete")),
            ("counted", "random", ("init",)),
        ):
            layouts = () if init == "counted" else ("pages", "csr")
            about = {"graph": graph, "source": "road:1k", "procedural": True}
            about |= {"init": init, "updates": updates}
            rows = [
                graph_row(a, graph, dict.fromkeys(phases, times(a)))
                for a in (*OUROBOROS, "cuda", *layouts)
            ]
            cases.append((f"{graph} {init} {updates}", about, rows))
    return results(dict.fromkeys(ITEMS, cases))


class Graphs(unittest.TestCase):
    def test_pagerank(self):
        for linked, expected in ((1.5, HOLDS), (1, FAILS), (1.1, FAILS)):
            content = made(lambda allocator: linked if allocator == "pages" else 1)
            self.assertEqual(judge(BY_ID["graph-pagerank"], content).verdict, expected)
        for case in content.cases.values():
            case["results"] = [r for r in case["results"] if r["allocator"] != "pages"]
        self.assertEqual(judge(BY_ID["graph-pagerank"], content).verdict, OPEN)

    def test_panels_show_layouts_which_the_filter_does_not_know(self):
        content = made(lambda _: 2)
        self.assertNotIn("pages", content.labels())
        for item in ITEMS:
            blocks = PANELS[item](content)
            plots = [block for block in blocks if block["kind"] == "plot"]
            tables = [block for block in blocks if block["kind"] == "table"]
            self.assertEqual(len(plots), len(tables))
            self.assertIn("generated: road:1k", tables[0]["notes"][-1])
            for block in plots:
                for curve in block["curves"]:
                    layout = curve["name"] in ("Linked pages", "CSR rebuilt")
                    self.assertEqual(curve["allocator"] is None, layout)
            for block in tables:
                self.assertEqual(block["columns"], ["", "small_road", "large_grid"])
                self.assertEqual(len(block["rows"]), len(block["allocators"]))
        counted = PANELS["ouroboros-graph-init"](content)[2]
        self.assertNotIn("Linked pages", [curve["name"] for curve in counted["curves"]])

    def test_figures(self):
        one = graph_row("cuda", "small_road", {"insert": 1, "delete": 2})
        self.assertEqual(footprint(one), 120)
        self.assertEqual(len(samples(one, "insert")), 3)
        self.assertEqual(samples(one, "pagerank"), [])
        del one["memory"]["held_bytes"]
        self.assertIsNone(footprint(one))
