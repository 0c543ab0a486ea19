# SPDX-License-Identifier: MIT
"""scripts/docs_tables.py writes the right tables and plots, and notices when a document, a plot, a
results file and a definition no longer agree."""
import contextlib
import gzip
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import docs_plots  # noqa: E402
import docs_tables  # noqa: E402

DEFINITION = """
# A comment.
[times]
files:   h200-0123456-*.json.gz
caption: {device.name} at {git.sha:sha},
caption: `{argv:command}`.
corner:  scene
columns: scene
column:  registers | scene=a | {registers}
head:    triangles | allocator=atomic | {triangles:count}
head:    pool, MiB | | {memory.pool_bytes:MiB}
rows:    allocator | {label}{lower_bound:star} | allocator!=heapwood | {median_ms:3}
row:     {label} | allocator=heapwood | **{slowdown:.2f}**
"""
TABLE = """\
NVIDIA H200 at 0123456, `heapwood bench 'a b.ply' --runs 3`.

| scene | a | b | registers |
| :--- | ---: | ---: | ---: |
| triangles | 9999 | 1.06M |  |
| pool, MiB | 5.2 | 4096 |  |
| AtomicMalloc * | .833 | 2.90 | 16 |
| Heapwood | **.99** | skipped | 50 |
"""
POOLS = """
[pools]
files:   h200-fedcba9-pools.json.gz
where:   scene=a
corner:  pool
columns: pool_over_live
status:  incomplete | –
rows:    allocator | {label} | | {pool_slowdown:.2f}
plot:    pools.svg | Slowdown & pool | On {device.name} | scene {scene} | allocator!=cuda
"""
POOLS_TABLE = """\
| pool | 2 | 4 | 100 |
| :--- | ---: | ---: | ---: |
| AtomicMalloc | – | – | 1.00 |
| Heapwood | 3.00 | 2.00 | .90 |
| CFMMalloc | – | 5.00 | failed |
"""


def pools_report(cfmm=10.0):
    """Builds of two scenes in three pools; 64 bytes of scene a are in use at once."""
    pools = {"live:2": 130, "live:4": 256, "fast": 6400}
    builds = [
        ("atomic", "AtomicMalloc", [("incomplete", .1), ("incomplete", .2), ("ok", 2.0)]),
        ("heapwood", "Heapwood", [("ok", 6.0), ("ok", 4.0), ("ok", 1.8)]),
        ("cfmmalloc", "CFMMalloc", [("incomplete", .1), ("ok", cfmm), ("failed", None)])]
    return {**report(), "git": {"sha": "fedcba987654", "dirty": False}, "results": [
        {"scene": scene, "source": scene, "allocator": allocator, "label": label,
         "builder": "single-kernel", "status": status, "median_ms": ms,
         "settings": {"pool": pool}, "memory": {"pool_bytes": size}}
        for scene in "ab" for allocator, label, times in builds
        for (pool, size), (status, ms) in zip(pools.items(), times)]}


def report(dirty=False, median=2.9):
    atomic = {"allocator": "atomic", "label": "AtomicMalloc", "lower_bound": True, "status": "ok",
              "registers": 16}
    own = {"allocator": "heapwood", "label": "Heapwood", "lower_bound": False, "registers": 50}
    return {
        "schema": "heapwood.bench/1",
        "argv": ["/home/me/bin/heapwood", "bench", "/data/a b.ply", "--json", "x", "--runs", "3"],
        "git": {"sha": "0123456789ab", "dirty": dirty},
        "device": {"kind": "cuda", "name": "NVIDIA H200"},
        "results": [
            {"scene": "a", "source": "/data/a b.ply", "triangles": 9999, **atomic,
             "median_ms": 0.8334, "memory": {"pool_bytes": 5452595}},
            {"scene": "b", "triangles": 1056000, **atomic, "median_ms": median,
             "memory": {"pool_bytes": 4294967296}},
            {"scene": "a", **own, "status": "ok", "slowdown": 0.987},
            {"scene": "b", **own, "status": "skipped"},
        ]}


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.results = self.root / "docs/results"
        self.results.mkdir(parents=True)
        self.add(report())
        self.define()
        self.write("README.md", "times")

    def add(self, results, topic="times"):
        path = self.root / "report.json"
        path.write_text(json.dumps(results), encoding="utf-8")
        return docs_tables.add(self.root, path, topic)

    def define(self, text=""):
        (self.results / "tables.txt").write_text(DEFINITION + text, encoding="utf-8")

    def write(self, document, name):
        (self.root / document).write_text(
            f"# Times\n<!-- table: {name} -->\nold\n<!-- end of table -->\nAfter.\n",
            encoding="utf-8")

    def update(self, check):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            agree = docs_tables.update(self.root, check)
        return agree, output.getvalue()

    def assert_differs(self):
        agree, output = self.update(check=True)
        self.assertFalse(agree)
        self.assertTrue(output.startswith("README.md:2: table 'times' differs"), output)

    def assert_rejected(self, message):
        with self.assertRaises(docs_tables.Failure) as caught:
            self.update(check=True)
        self.assertIn(message, str(caught.exception))

    def test_results_files_are_named_and_without_folders(self):
        path = self.add(report(), "other")
        self.assertEqual(path.name, "h200-0123456-other.json.gz")
        text = gzip.decompress(path.read_bytes()).decode()
        self.assertNotIn("/home", text)
        self.assertNotIn("/data", text)
        self.assertEqual(path.read_bytes(), self.add(report(), "other").read_bytes())

    def test_a_table_is_written(self):
        self.assert_differs()
        self.update(check=False)
        self.assertEqual((self.root / "README.md").read_text(encoding="utf-8"),
                         f"# Times\n<!-- table: times -->\n{TABLE}<!-- end of table -->\nAfter.\n")
        self.assertEqual(self.update(check=True), (True, ""))

    def test_a_changed_figure_is_noticed(self):
        self.update(check=False)
        path = self.root / "README.md"
        path.write_text(path.read_text(encoding="utf-8").replace("2.90", "2.89"), encoding="utf-8")
        self.assert_differs()

    def test_a_changed_results_file_is_noticed(self):
        self.update(check=False)
        self.add(report(median=2.8))
        self.assert_differs()

    def test_results_of_incomplete_work_are_marked(self):
        results = report()
        results["git"] = {"sha": "fedcba987654", "dirty": False}
        results["results"] = [
            {"allocator": name, "label": name,
             "phases": [{"phase": "insert", "median_ms": 1.5},
                        {"phase": "delete", "median_ms": 0.1, "refused": refused}]}
            for name, refused in (("full", 0), ("lacking", 7))]
        self.define("""
[graphs]
files:   h200-fedcba9-graphs.json.gz
corner:  allocator
column:  delete | | {phases.delete.median_ms:3}{refused:dagger}
rows:    allocator | {label} | | {label}
""")
        self.add(results, "graphs")
        self.write("docs/graphs.md", "graphs")
        self.update(check=False)
        text = (self.root / "docs/graphs.md").read_text(encoding="utf-8")
        self.assertIn("| full | .100 |\n| lacking | .100 † |\n", text)

    def add_pools(self, results=None):
        self.define(POOLS)
        self.add(results or pools_report(), "pools")
        (self.root / "docs/pictures").mkdir(exist_ok=True)
        self.write("docs/pools.md", "pools")

    def test_slowdowns_over_the_pool(self):
        self.add_pools()
        self.update(check=False)
        self.assertIn(POOLS_TABLE, (self.root / "docs/pools.md").read_text(encoding="utf-8"))
        self.assertEqual(self.update(check=True), (True, ""))

    def test_a_plot_is_well_formed_and_shows_what_was_measured(self):
        self.add_pools()
        self.update(check=False)
        svg = ElementTree.parse(self.root / "docs/pictures/pools.svg").getroot()
        texts = [one.text for one in svg.iter("{http://www.w3.org/2000/svg}text")]
        for text in ("Slowdown & pool", "On NVIDIA H200", "scene a", "100\u00d7", "Heapwood .90",
                     "CFMMalloc 5.00"):
            self.assertIn(text, texts)
        points = list(svg.iter("{http://www.w3.org/2000/svg}circle"))
        self.assertEqual(len(points), 5)  # of AtomicMalloc 1, Heapwood 3, CFMMalloc 1
        self.assertLess(float(points[-3].get("cy")), float(points[-1].get("cy")))  # 3.00 above .90

    def test_a_stale_or_absent_plot_is_noticed(self):
        self.add_pools()
        self.update(check=False)
        path = self.root / "docs/pictures/pools.svg"
        for change in (lambda: self.add(pools_report(cfmm=11.0), "pools"),
                       lambda: path.write_bytes(path.read_bytes() + b"\n"), path.unlink):
            change()
            agree, output = self.update(check=True)
            self.assertFalse(agree)
            self.assertIn("docs/pictures/pools.svg: plot differs", output)
            self.update(check=False)
            self.assertEqual(self.update(check=True), (True, ""))

    def test_a_plot_of_several_scenes_or_of_nothing_is_rejected(self):
        self.add_pools()
        for old, new, message in (("where:   scene=a\n", "", "two builds with AtomicMalloc"),
                                  ("allocator!=cuda", "allocator=cuda", "no figures"),
                                  ("| scene {scene} ", "", "expected plot: FILE | TITLE")):
            with self.subTest(message):
                self.define(POOLS.replace(old, new).replace("{label} | |", "{label} | scene=a |"))
                self.assert_rejected(message)

    def test_labels_do_not_overlap(self):
        gap = docs_plots.LABEL_GAP
        self.assertEqual(docs_plots.spread([0, 100]), [0, 100])
        self.assertEqual(docs_plots.spread([50, 50]), [50 - gap / 2, 50 + gap / 2])
        placed = docs_plots.spread([0, 1, 2, 3, 2 * gap, 200])
        self.assertEqual(placed, sorted(placed))
        self.assertGreaterEqual(min(b - a for a, b in zip(placed, placed[1:])), gap - 1e-9)

    def test_results_of_uncommitted_code_are_rejected(self):
        with self.assertRaisesRegex(docs_tables.Failure, "uncommitted changes"):
            self.add(report(dirty=True))

    def test_files_that_cannot_be_added_say_what_they_lack(self):
        unknown = {"sha": "unknown", "dirty": None}
        without = {key: value for key, value in report().items() if key != "results"}
        for wrong, message in (({}, "no 'schema'"), ([1], "no 'schema'"),
                               ({**report(), "device": {}}, "no 'device.kind'"),
                               (without, "no 'results'"),
                               ({**report(), "git": {}}, "did not know its commit"),
                               ({**report(), "git": unknown}, "did not know its commit")):
            with self.subTest(message), self.assertRaisesRegex(docs_tables.Failure, message):
                self.add(wrong)

    def test_a_file_named_after_another_commit_is_rejected(self):
        (self.results / "h200-0123456-times.json.gz").rename(
            self.results / "h200-1111111-times.json.gz")
        definition = self.results / "tables.txt"
        definition.write_text(DEFINITION.replace("0123456", "1111111"), encoding="utf-8")
        self.assert_rejected("does not begin with device and commit")

    def test_wrong_definitions_are_rejected(self):
        for line, message in (("row: x | | {label}", "has several values"),
                              ("row: x | allocator=bulk | {median_ms}", "row 'x': no figures"),
                              ("column: x | allocator=bulk", "column 'x': no figures"),
                              ("row: x | allocator | {label}", "expected KEY=VALUE"),
                              ("row: {label} | allocator=atomic | {median_ms:x}", "not a format"),
                              ("row: x | {label}", "expected row: LABEL | FILTER | CELL"),
                              ("caption: {none}", "{none} is absent"),
                              ("files: none.json.gz", "none.json.gz"),
                              ("[unused]\nfiles: h200-*.gz\ncolumns: scene\n"
                               "row: x | | {triangles}", "table 'unused' is in no document")):
            with self.subTest(line):
                self.define(line + "\n")
                self.assert_rejected(message)

    def test_an_unknown_table_is_rejected(self):
        self.write("docs/other.md", "other")
        self.assert_rejected("docs/other.md:2: table 'other' is not in")

    def test_numbers(self):
        for value, form, text in ((0.0833, "3", ".0833"), (9.996, "3", "10.0"),
                                  (4061.2, "3", "4061"), (14639.4, "3", "14,639"),
                                  (0, "3", "0"), (-0.5, ".1f", "-.5"), (9999, "count", "9999"),
                                  (66454, "count", "66.5K"), (999_500, "count", "1.00M"),
                                  (65 * 2**20, "MiB", "65"), (0.0214, "percent", "2.1%"),
                                  (14639, "", "14,639"), (True, "", "true")):
            self.assertEqual(docs_tables.format_value(value, form), text)


if __name__ == "__main__":
    unittest.main()
