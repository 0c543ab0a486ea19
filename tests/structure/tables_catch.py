# SPDX-License-Identifier: MIT
"""scripts/docs_tables.py writes the right table, and notices when a document, a results file and a
definition no longer agree."""
import contextlib
import gzip
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
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

    def test_results_of_uncommitted_code_are_rejected(self):
        with self.assertRaises(docs_tables.Failure):
            self.add(report(dirty=True))

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
