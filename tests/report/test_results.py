# SPDX-License-Identifier: MIT
import json
import math
import tempfile
import unittest

from report.results import Results, ResultsError, read
from report.figures import ratio_interval, script_json

from .made import content, report, results, row


class Files(unittest.TestCase):
    def test_files_without_the_schema_are_rejected(self):
        for text in ("", "[]", '{"schema": "heapwood.bench/1"}'):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(text)
                file.flush()
                with self.assertRaisesRegex(ResultsError, file.name):
                    read(file.name)
        with self.assertRaisesRegex(ResultsError, "none.json"):
            read("/none.json")

    def test_damaged_files_are_rejected(self):
        for damage, said in (
            (lambda made: made.pop("cases"), "no list 'cases'"),
            (lambda made: made.update(runs={}), "no list 'runs'"),
            (lambda made: made["items"][0].pop("id"), "'items', entry 1: expected id, cases"),
            (lambda made: made.update(cases=[7]), "'cases', entry 1: expected key"),
            (lambda made: made["runs"][0].pop("git"), "'runs', entry 1: expected argv"),
            (lambda made: made["device"].pop("name"), "no 'device' with 'kind' and 'name'"),
            (lambda made: made.pop("scale"), "no 'scale'"),
        ):
            made = content({"a": []})
            damage(made)
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                json.dump(made, file)
                file.flush()
                done = report("--verdicts", file.name)
                self.assertEqual(done.returncode, 1, said)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertIn(f"report: error: {file.name}: {said}", done.stderr)

    def test_warnings_of_device_records(self):
        made = content({})
        self.assertEqual(Results(made).warnings(), [])
        run = made["runs"][0]
        made["runs"] += [
            {**run, "device_record": {"uuid_hash": "1"}},
            {**run, "device_record": {"warning": "slow"}},
            {**run, "device_record": {"warning": "slow"}},
        ]
        self.assertEqual(Results(made).warnings(), ["slow"])

    def test_results_of_the_earlier_builder_are_left_out(self):
        rows = [row("atomic", [1], builder="single-kernel"), row("tlsf", [1], builder="per-level")]
        made = results({"own-slowdown": [("one", {}, rows)]})
        self.assertEqual([one["allocator"] for one in made.rows("own-slowdown")], ["atomic"])
        self.assertEqual(made.left_out, 1)

    def test_keeping_needs_no_packages(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/results.json"
            made = content({"a": [("one", {}, [row("atomic", [1])])]})
            made["runs"][0]["git"] = {"sha": "abcdef0", "dirty": False}
            with open(path, "w", encoding="utf-8") as file:
                json.dump(made, file)
            bare = {"python": ["-S"]}  # without site-packages
            self.assertEqual(report(path, "--keep", folder, **bare).returncode, 0)
            failed = report(path, "-o", "/dev/null", **bare)
            self.assertEqual(failed.returncode, 1)
            self.assertRegex(failed.stderr, "^report: error: needs .*: make report\n$")

    def test_missing_items_have_a_reason(self):
        made = content({"a": [], "b": []})
        made["items"][0]["absent"] = "not in this build yet"
        made["items"][1]["cases"] = ["never measured"]
        self.assertEqual(Results(made).missing("a"), "not in this build yet")
        self.assertEqual(Results(made).missing("b"), "not measured yet")
        self.assertEqual(Results(made).missing("c"), "not in this results file")
        self.assertIsNone(results({"a": [("one", {}, [])]}).missing("a"))


class Scripts(unittest.TestCase):
    def test_names_do_not_end_the_script(self):
        names = ["</script>", "<!--<script>", "<"]
        self.assertNotIn("<", script_json(names))
        self.assertEqual(json.loads(script_json(names)), names)


class Samples(unittest.TestCase):
    def test_interval_of_known_samples(self):
        # Logarithms 0, 1, 2 and 1, 2, 3: means 1 apart, standard error sqrt(2/3), 4 degrees of
        # freedom.
        low, high = ratio_interval([math.e, math.e**2, math.e**3], [1, math.e, math.e**2])
        self.assertAlmostEqual(math.log(low), 1 - 2.776 * math.sqrt(2 / 3), places=6)
        self.assertAlmostEqual(math.log(high), 1 + 2.776 * math.sqrt(2 / 3), places=6)
