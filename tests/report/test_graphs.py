# SPDX-License-Identifier: MIT
"""Claims and panels of the dynamic graphs: results with known verdicts."""

import unittest

from report.claims import CHUNKS, FAILS, HOLDS, OPEN, PAGES, judge
from report.panels_graphs import footprint, samples
from report.panels import PANELS

from .made import BY_ID, results, row, verdict

CLAIMS = [name for name in BY_ID if name.startswith("graph-")]
OUROBOROS = (*PAGES, *CHUNKS)
# name: (vertices, edges)
GRAPHS = {"small_road": (100_000, 200_000), "large_grid": (4_000_000, 100_000_000)}
ITEMS = [f"ouroboros-graph-{n}" for n in ("init", "memory", "updates", "pagerank", "triangles")]


def graph_row(allocator, graph, times, held=100):
    """times: {phase: ms}, each with three samples."""
    vertices, edges = GRAPHS[graph]
    phases = [{"phase": name, "runs_ms": [0.99 * t, t, 1.01 * t]} for name, t in times.items()]
    memory = {"table_bytes": 16, "held_bytes": held, "metadata_bytes": 4, "payload_bytes": 50}
    one = row(allocator, vertices=vertices, edges=edges, phases=phases, memory=memory)
    if allocator in ("pages", "csr"):
        del one["frees"]
    return one


def made(times, held=None, **more):
    """times(allocator, graph, phase, updates, init) in ms; held: {allocator: bytes in use}."""
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
                graph_row(
                    a,
                    graph,
                    {phase: times(a, graph, phase, updates, init) for phase in phases},
                    (held or {}).get(a, 100),
                )
                for a in (*OUROBOROS, "cuda", *layouts)
            ]
            cases.append((f"{graph} {init} {updates}", about, rows))
    return results(dict.fromkeys(ITEMS, cases), **more)


class Graphs(unittest.TestCase):
    def test_published_behaviour_holds(self):
        def times(allocator, graph, phase, _, init):
            large = graph == "large_grid"
            if allocator == "cuda":
                return 1785 if phase == "init" else 500
            if allocator in ("pages", "csr"):
                return {"pagerank": 1.5, "triangles": 1.8}.get(phase, 1)
            if phase == "init":
                return (0.9 if large else 1.2) if init == "counted" else 7
            if phase in ("insert", "delete"):
                return 1.2 if allocator in CHUNKS or large else 0.8
            return 1

        held = {"pages": 2980, PAGES[0]: 200}
        content = made(times, held)
        self.assertGreaterEqual(len(CLAIMS), 12)
        for name in CLAIMS:
            self.assertEqual(verdict(name, content), HOLDS, (name, judge(BY_ID[name], content)))
            self.assertEqual(verdict(name, made(times, held, scale="quick")), OPEN, name)

    def test_equal_allocators_contradict_it(self):
        content = made(lambda *_: 1)
        for name in CLAIMS:
            # An average of 1 is not that of the paper, and nothing is faster than anything.
            self.assertEqual(verdict(name, content), FAILS, name)

    def test_missing_layouts_leave_claims_undecided(self):
        content = made(lambda *_: 1)
        for case in content.cases.values():
            case["results"] = [r for r in case["results"] if r["allocator"] != "pages"]
        for name in ("graph-pagerank", "graph-updates-sparse", "graph-memory-factor"):
            self.assertEqual(verdict(name, content), OPEN)

    def test_panels_show_layouts_which_the_filter_does_not_know(self):
        content = made(lambda *_: 2)
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
        self.assertEqual(len(samples(one, "insert", "delete")), 3)
        self.assertAlmostEqual(samples(one, "insert", "delete")[1], 3)
        self.assertEqual(samples(one, "pagerank"), [])
        del one["memory"]["held_bytes"]
        self.assertIsNone(footprint(one))
