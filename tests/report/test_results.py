# SPDX-License-Identifier: MIT
import json
import math
import tempfile
import unittest

from report.results import Results, ResultsError, merge, read
from report.samples import compare, ratio_interval

from .made import content, results, row


class Files(unittest.TestCase):
    def test_other_files_are_refused(self):
        for text in ("", "[]", '{"schema": "heapwood.bench/1"}'):
            with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
                file.write(text)
                file.flush()
                with self.assertRaisesRegex(ResultsError, file.name):
                    read(file.name)
        with self.assertRaisesRegex(ResultsError, "none.json"):
            read("/none.json")

    def test_parts_are_put_together(self):
        first = content({"a": [("one", {}, [row("atomic", [1])])], "b": []})
        second = content({"a": [], "b": [("two", {}, [row("atomic", [2])])]})
        second["items"][0]["cases"] = ["one", "three"]
        merged = Results(merge([json.loads(json.dumps(part)) for part in (first, second)]))
        self.assertEqual(merged.rows("a")[0]["runs_ms"], [1])
        self.assertEqual(merged.rows("b")[0]["runs_ms"], [2])
        self.assertEqual(merged.items["a"]["cases"], ["one", "three"])
        self.assertEqual(merged.cases["two"]["run"], 1)
        with self.assertRaises(ResultsError):
            merge([first, content({}, name="Another GPU")])
        with self.assertRaises(ResultsError):
            merge([first, content({}, scale="quick")])

    def test_what_is_missing_has_a_reason(self):
        made = content({"a": [], "b": []})
        made["items"][0]["absent"] = "not in this build yet"
        made["items"][1]["cases"] = ["never measured"]
        self.assertEqual(Results(made).missing("a"), "not in this build yet")
        self.assertEqual(Results(made).missing("b"), "not measured yet")
        self.assertEqual(Results(made).missing("c"), "not in this results file")
        self.assertIsNone(results({"a": [("one", {}, [])]}).missing("a"))


class Samples(unittest.TestCase):
    def test_interval_of_known_samples(self):
        # Logarithms 0, 1, 2 and 1, 2, 3: means 1 apart, standard error sqrt(2/3), 4 degrees of freedom.
        low, high = ratio_interval([math.e, math.e**2, math.e**3], [1, math.e, math.e**2])
        self.assertAlmostEqual(math.log(low), 1 - 2.776 * math.sqrt(2 / 3), places=6)
        self.assertAlmostEqual(math.log(high), 1 + 2.776 * math.sqrt(2 / 3), places=6)

    def test_verdicts(self):
        steady = [1.0, 1.001, 0.999]
        self.assertEqual(compare([2.0, 2.002, 1.998], steady)[0], "SLOWER")
        self.assertEqual(compare([0.5, 0.501, 0.499], steady)[0], "FASTER")
        self.assertEqual(compare([1.002, 1.001, 1.003], steady)[0], "SAME")
        self.assertEqual(compare([0.5, 1.5, 1.0], steady)[0], "UNCLEAR")
        self.assertEqual(compare([2.0, 2.0], steady), ("UNCLEAR", None))
