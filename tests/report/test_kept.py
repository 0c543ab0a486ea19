# SPDX-License-Identifier: MIT
"""Kept results, and the document of their verdicts."""

import gzip
import json
import pathlib
import tempfile
import unittest

from report import page
from report.claims import FAILS, judge_all
from report.results import Results, ResultsError, keep, newest_kept, read

from .made import ROOT, content, row


class Kept(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def made(self, sha="0", dirty=False):
        rows = [row(a, [1], median_ms=1, triangles=1000) for a in ("atomic", "heapwood")]
        one = content({"own-slowdown": [("build", {"scene": "a"}, rows)]})
        one["runs"][0]["git"] = {"sha": sha, "dirty": dirty}
        return one

    def test_a_measurement_without_a_run_has_verdicts(self):
        ended = Results({**content({}), "runs": []})
        self.assertIn("version unknown, 0 cases", page.verdicts_markdown(ended))

    def test_kept_results_are_named_by_gpu_and_commit(self):
        made = self.made("abcdef0123")
        made["device"]["name"] = "NVIDIA H100 80GB HBM3"
        made["runs"][0]["argv"] = ["heapwood", "--scenes", "/home/user/meshes"]
        path = keep(self.root, made)
        self.assertEqual(path.name, "h100-80gb-hbm3-abcdef0-reproduce.json.gz")
        kept = read(path)
        self.assertEqual(kept["runs"][0]["argv"], ["heapwood", "--scenes", "meshes"])
        self.assertEqual(kept["cases"], made["cases"])
        for bad in (self.made("abc", dirty=True), self.made(None), self.made("unknown")):
            with self.assertRaises(ResultsError):
                keep(self.root, bad)
        mixed = self.made("abcdef0123")
        mixed["runs"].append({**mixed["runs"][0], "git": {"sha": "1234567", "dirty": False}})
        with self.assertRaisesRegex(ResultsError, "several commits"):
            keep(self.root, mixed)

    def test_the_newest_gpu_run_is_shown_first(self):
        self.assertIsNone(newest_kept(self.root))
        for sha, kind, started in (
            ("1111111", "cuda", "2026-01-01T00:00:00Z"),
            ("2222222", "cuda", "2026-03-01T00:00:00Z"),
            ("3333333", "cpu", "2026-05-01T00:00:00Z"),
        ):
            made = self.made(sha)
            made["device"]["kind"] = kind
            made["runs"][0]["started"] = started
            keep(self.root, made)
        # Ended before its first case: older than all others.
        (self.root / "none-reproduce.json.gz").write_bytes(
            gzip.compress(json.dumps({**self.made("4444444"), "runs": []}).encode())
        )
        kept = newest_kept(self.root)
        self.assertEqual(kept["runs"][0]["git"]["sha"], "2222222")
        own = Results(
            content(
                {
                    "regeff-3a": [],
                    "own-slowdown": [
                        ("b", {"scene": "a"}, [row("atomic", [1], median_ms=1, triangles=9)])
                    ],
                },
                kind="cpu",
                name="My CPU",
            )
        )
        text = page.render(own, Results(kept))
        self.assertLess(text.index('id="own-slowdown"'), text.index('id="here"'))
        self.assertLess(text.index('id="here"'), text.index('id="here-own-slowdown"'))
        self.assertNotIn('id="here-regeff-3a"', text)  # not measured on this machine
        self.assertIn("Measured on CPU threads", text[text.index('id="here"') :])
        self.assertNotIn("Measured on CPU threads", text[: text.index('id="here"')])

    def test_the_document_has_the_verdicts_of_the_kept_run(self):
        kept = newest_kept(ROOT / "docs/results")
        if kept is None:
            self.skipTest("no run of a GPU is kept")
        document = (ROOT / "docs/results/verdicts.md").read_text(encoding="utf-8")
        written = document.split("<!-- verdicts:begin -->")[1].split("<!-- verdicts:end -->")[0]

        def table(text):
            return [line for line in text.splitlines() if line.startswith("|")]

        self.assertEqual(
            table(written),
            table(page.verdicts_markdown(Results(kept))),
            "write them: RESULTS=docs/results/FILE scripts/report.sh verdicts",
        )

    def test_failing_verdicts_of_the_kept_run_have_a_cause(self):
        kept = newest_kept(ROOT / "docs/results")
        for one in judge_all(Results(kept)) if kept else ():
            causes = "hardware|stand-in|redesign|limit|exceeds|unknown"
            self.assertRegex(one.cause, f"^({causes}): " if one.verdict == FAILS else "^$")

    def test_damaged_files_are_reported(self):
        path = self.root / "x-reproduce.json.gz"
        path.write_bytes(b"not gzip")
        with self.assertRaisesRegex(ResultsError, "x-reproduce.json.gz"):
            newest_kept(self.root)
        path.write_bytes(gzip.compress(json.dumps({"schema": "other"}).encode()))
        with self.assertRaisesRegex(ResultsError, "not a heapwood.reproduce"):
            newest_kept(self.root)
