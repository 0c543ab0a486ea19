# SPDX-License-Identifier: MIT
"""Panels of made-up results: which figure is in which cell."""

import unittest

from report.panels import PANELS
from report.panels_builds import pool_note, pools_of

from .made import joined, one_case, over, results, row

MIB = 1 << 20


def texts(table):
    return [[cell["text"] for cell in line] for line in table["rows"]]


def built(allocator, ms, mib, status="ok", **settings):
    return row(
        allocator,
        [ms] * 3 if status == "ok" else [],
        status=status,
        reason="" if status == "ok" else "pool exhausted",
        median_ms=ms if status == "ok" else None,
        triangles=1000,
        memory={"pool_bytes": mib * MIB, "high_water_bytes": 2 * MIB},
        settings=settings,
    )


class Pools(unittest.TestCase):
    def test_slowdowns_are_over_one_time(self):
        made = one_case(
            "own-pools",
            built("atomic", 0, 4, "incomplete", pool="live:2"),
            built("scatter", 6, 4, pool="live:2"),
            built("atomic", 3, 64, pool="fast"),
            built("scatter", 4.5, 64, pool="fast"),
            scene="a",
        )
        plot, table = PANELS["own-pools"](results(made))
        self.assertEqual(table["columns"], ["", "live:2", "fast"])
        self.assertEqual(
            texts(table),
            [
                ["pool over the peak bytes in use", "2", "32"],
                ["pool, MiB", "4", "64"],
                ["AtomicMalloc", "incomplete", "1"],
                ["ScatterAlloc", "2", "1.5"],
            ],
        )
        self.assertIn("pool exhausted", table["notes"][-1])
        self.assertEqual([c["x"] for c in plot["curves"]], [[32], [2, 32]])

    def test_a_median_needs_every_scene(self):
        made = joined(
            *(
                one_case(
                    "own-pools",
                    built("atomic", 1, 4, pool="fast"),
                    built("scatter", 2, 4, status, pool="fast"),
                    scene=scene,
                )
                for scene, status in (("a", "ok"), ("b", "incomplete"))
            )
        )
        table = PANELS["own-pools"](results(made))[1]
        self.assertEqual(texts(table)[-1], ["ScatterAlloc", "incomplete"])

    def test_tables_of_builds_say_which_pool_each_allocator_had(self):
        def panel(*pools):
            rows = (built(a, 1, p) for a, p in zip(("atomic", "scatter"), pools))
            made = results(one_case("regeff-t3", *rows, scene="a"))
            return PANELS["regeff-t3"](made)[0], pool_note(pools_of(made.rows("regeff-t3")))

        table, note = panel(8, 8)
        self.assertIn(["pool, MiB", "8"], texts(table))
        self.assertIn("Every allocator had the same pool", note)
        self.assertIn(note, table["notes"])
        table, note = panel(8, 16)
        self.assertIn(["pool, MiB", "8 to 16"], texts(table))
        self.assertIn("a: 8 MiB AtomicMalloc, 16 MiB ScatterAlloc", note)


class Steps(unittest.TestCase):
    def test_rates_of_each_pool_and_memory_of_the_first(self):
        def run(allocator, pool, status="ok", **more):
            return {
                **row(allocator, [5] * 3, status=status, source="steady:9", **more),
                **({"pool": pool} if pool else {}),
                "phases": [{"phase": "rounds", "items_per_second": 20}],
                "refused": 0 if status == "ok" else 7,
                "held_over_live": 1.25,
                "memory": [{"step": 3, "live_bytes": 80, "held_bytes": 100}],
            }

        rings = run("rings", "4x")
        del rings["frees"]
        made = one_case("own-particles", run("halloc", "4x"), rings, run("halloc", "2x", "failed"))
        plot, large, small = PANELS["own-particles"](results(made))
        self.assertEqual([(c["x"], c["y"]) for c in plot["curves"]], [([4], [1.25])] * 2)
        self.assertEqual(large["columns"], ["", "rounds", "refused", "held / live"])
        self.assertEqual(
            texts(large), [["Halloc", "20", "0", "1.25"], ["rings", "20", "0", "1.25"]]
        )
        self.assertEqual(texts(small), [["Halloc", "20", "7", "1.25"]])


class Ablation(unittest.TestCase):
    def test_gain_of_each_step(self):
        steps = {
            "cfmmalloc-published": 8,
            "cfmmalloc-draws": 4,
            "cfmmalloc-ungrouped": 2,
            "cfmmalloc": 1,
        }
        generic = over("own-ablation", "payload_bytes", [16], steps, test="ad")
        rows = (built(a, t, 8) for a, t in steps.items())
        made = joined(generic, one_case("own-ablation", *rows, scene="a"))
        times, gains = PANELS["own-ablation"](results(made))
        self.assertEqual(times["columns"], ["", "AD, 16 B", "build of a"])
        self.assertEqual(len(times["rows"]), 4)
        self.assertEqual(
            [line[1:] for line in texts(gains)], [["2", "2"], ["2", "2"], ["2", "2"]]
        )


class Pages(unittest.TestCase):
    def test_page_sizes_of_scatter(self):
        scene = {"scene": "a", "source": "s"}
        made = joined(
            one_case("regeff-t3", built("atomic", 2, 8), **scene),
            *(
                one_case("regeff-t3-pages", built("scatter", t, 8, page_bytes=p), **scene)
                for p, t in ((4096, 3), (16384, 5))
            ),
        )
        (table,) = PANELS["regeff-t3-pages"](results(made))
        self.assertEqual(texts(table), [["pages of 4 KiB", "1.5"], ["pages of 16 KiB", "2.5"]])


class Recordings(unittest.TestCase):
    def test_internal_fragmentation_where_most_blocks_are_in_use(self):
        points = [[1, 1, 1, 1, 0, 0, 0.9], [2, 1, 5, 1, 0, 0, 0.25], [3, 0, 0, 1, 0, 0, None]]
        made = one_case("regeff-recorded", row("scatter", points=points), scene="a")
        plot, table = PANELS["regeff-recorded"](results(made))
        self.assertEqual(texts(table), [["ScatterAlloc", "0.25"]])
        self.assertEqual(plot["curves"][0]["y"], [0.9, 0.25])


class Slowdowns(unittest.TestCase):
    def test_bars_are_medians_in_order(self):
        times = {"atomic": 2, "halloc": 8, "scatter": 3}
        made = one_case("own-slowdown", *(built(a, t, 8) for a, t in times.items()), scene="a")
        _, bars = PANELS["own-slowdown"](results(made))
        self.assertEqual(bars["curves"][0]["x"], ["ScatterAlloc", "Halloc"])
        self.assertEqual(bars["curves"][0]["y"], [1.5, 4])
