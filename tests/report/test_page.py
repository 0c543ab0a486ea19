# SPDX-License-Identifier: MIT
"""Tests the page in a browser without network access; results are HEAPWOOD_BINARY's, on the CPU."""

import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from playwright.sync_api import sync_playwright

ITEMS = (
    "host,own-builder,own-trace,own-profile,regeff-t1,regeff-t2,regeff-3b,regeff-t3,regeff-t3-pages,"
    "regeff-recorded,ouroboros-10k,ouroboros-utilization,ouroboros-graph-memory,bulk-5,own-pool,own-pools"
)
ROOT = pathlib.Path(__file__).parents[2]


def make_page(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "report", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        for out in ("now", "before"):
            subprocess.run(
                [
                    os.environ["HEAPWOOD_BINARY"],
                    "reproduce",
                    ITEMS if out == "now" else "regeff-3b",
                    "--device",
                    "cpu",
                    "--out",
                    cls.folder / out,
                    "--allocators",
                    "atomic,cfmmalloc,scatter",
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        made = make_page(
            cls.folder / "now/results.json",
            "-o",
            cls.folder / "page.html",
            "--against",
            cls.folder / "before/results.json",
        )
        assert made.returncode == 0, made.stderr
        playwright = cls.enterClassContext(sync_playwright())
        # Chromium's sandbox does not work in containers; the page is trusted.
        cls.browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        context = self.browser.new_context(
            offline=True,
            viewport={"width": 1400, "height": 1000},
            permissions=["clipboard-read", "clipboard-write"],
        )
        self.addCleanup(context.close)
        self.page = context.new_page()
        self.errors, self.requests = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console",
            lambda message: self.errors.append(message.text) if message.type == "error" else None,
        )
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto((self.folder / "page.html").as_uri())
        self.page.wait_for_selector("html[data-ready]")

    def tearDown(self):
        self.assertEqual(self.errors, [])
        self.assertEqual(
            [url for url in self.requests if not url.startswith(("file:", "data:", "blob:"))], []
        )

    def column(self, table, number):
        return self.page.locator(
            f"#{table} tbody tr:not([hidden]) > :nth-child({number})"
        ).all_inner_texts()

    def test_plots_are_drawn_when_they_become_visible(self):
        canvases = self.page.locator(".canvas")
        self.assertGreater(canvases.count(), 4)
        for i in range(canvases.count()):
            canvases.nth(i).scroll_into_view_if_needed()
            canvases.nth(i).locator(".main-svg").first.wait_for()
            self.assertGreaterEqual(
                canvases.nth(i).locator(".scatterlayer .trace, .barlayer .trace").count(), 1
            )
            self.assertGreater(len(canvases.nth(i).get_attribute("aria-label")), 60)

    def test_tables_sort_by_value_with_the_keyboard(self):
        table = "regeff-3b-2"
        self.page.locator(f"#{table} thead button").nth(1).focus()
        self.page.keyboard.press("Enter")
        values = [float(text) for text in self.column(table, 2)]
        self.assertEqual(values, sorted(values))
        self.page.keyboard.press("Enter")
        self.assertEqual(
            [float(text) for text in self.column(table, 2)], sorted(values, reverse=True)
        )
        self.assertEqual(
            self.page.locator(f"#{table} th").nth(1).get_attribute("aria-sort"), "descending"
        )

    def test_filter_hides_rows_and_curves(self):
        canvas = self.page.locator("#regeff-3b .canvas").first
        canvas.scroll_into_view_if_needed()
        canvas.locator(".main-svg").first.wait_for()
        self.assertEqual(canvas.locator(".scatterlayer .trace").count(), 3)
        self.page.locator("input[value=scatter]").uncheck()
        self.assertEqual(
            [text.strip(" *") for text in self.column("regeff-3b-2", 1)],
            ["AtomicMalloc", "CFMMalloc"],
        )
        self.page.wait_for_function(
            "document.querySelectorAll('#regeff-3b .scatterlayer .trace').length === 2"
        )

    def test_tables_are_copied_as_csv(self):
        self.page.locator("#regeff-t3-published .copy").click()
        self.page.wait_for_selector("#said:not(:empty)")
        rows = list(csv.reader(self.page.evaluate("navigator.clipboard.readText()").splitlines()))
        published = json.loads((ROOT / "report/published/regeff.json").read_text(encoding="utf-8"))[
            "items"
        ]["regeff-t3"]
        self.assertEqual(len(rows), 1 + len(published["rows"]))
        self.assertEqual(float(rows[6][1]), published["rows"][5][1])

    def test_claims_are_filtered_and_undecided_ones_fold_into_one_line(self):
        self.page.locator("#claims .claims-verdict").select_option("not testable here")
        evidence = self.column("claims-table", 4)
        self.assertGreater(len(evidence), 5)
        self.assertTrue(all(evidence))
        self.assertIn(str(len(evidence)), self.page.locator("#claims .claims-shown").inner_text())
        undecided = self.page.locator("#claims details.undecided")
        self.assertEqual(undecided.count(), 1)
        self.assertFalse(undecided.locator("li").first.is_visible())
        summary = undecided.locator("summary").inner_text()
        self.assertIn("the claim is about a GPU", summary)
        undecided.locator("summary").click()
        self.assertGreater(undecided.locator("li:visible").count(), 25)

    def test_a_link_to_an_undecided_claim_opens_the_list(self):
        self.page.goto((self.folder / "page.html").as_uri() + "#claim-aw-atomic")
        self.page.wait_for_selector("html[data-ready]")
        self.assertTrue(self.page.locator("#claim-aw-atomic").is_visible())

    def test_the_page_opens_with_five_pictures(self):
        first = self.page.locator("main > section").first
        self.assertEqual(first.get_attribute("id"), "pictures")
        self.assertEqual(first.locator(".canvas").count(), 5)
        for link in first.locator("a").all():
            self.assertEqual(self.page.locator(link.get_attribute("href")).count(), 1)

    def test_tables_of_builds_say_which_pool_each_allocator_had(self):
        for table in ("regeff-t3-1", "own-builder-3", "own-pools-2", "own-pool-4"):
            self.assertIn("pool", self.page.locator(f"#{table}").inner_text(), table)
        self.assertIn("the same pool", self.page.locator("#regeff-t3-1").inner_text())

    def test_slowdown_over_the_pool(self):
        heads = self.page.locator("#own-pools-2 thead th").all_inner_texts()
        self.assertEqual(
            sorted(heads[1:]), sorted(["live:2", "live:4", "live:8", "20x", "200x", "fast"])
        )
        over_live = [
            float(t)
            for t in self.page.locator("#own-pools-2 tbody tr")
            .first.locator("td")
            .all_inner_texts()
        ]
        self.assertEqual(over_live, sorted(over_live))
        self.assertAlmostEqual(over_live[heads[1:].index("live:4")], 4, delta=0.5)

    def test_missing_figures_have_reasons(self):
        self.assertIn("not run", self.page.locator("#regeff-t1-1").inner_text())
        self.assertIn(
            "registers are those of GPU kernels", self.page.locator("#regeff-t1-1").inner_text()
        )
        self.assertIn("not measured yet", self.page.locator("#own-share").inner_text())

    def test_dark_and_light(self):
        colours = []
        for _ in range(2):
            colours.append(self.page.evaluate("getComputedStyle(document.body).backgroundColor"))
            self.page.locator("#theme").click()
        self.assertNotEqual(colours[0], colours[1])

    def test_comparison_of_two_files(self):
        verdicts = self.column("comparison-table", 7)
        self.assertEqual(len(verdicts), 9)
        self.assertLessEqual(set(verdicts), {"SAME", "FASTER", "SLOWER", "UNCLEAR"})

    def test_rays_per_second(self):
        self.assertIn("atrium:5k, procedural", self.page.locator("#own-trace-2").inner_text())
        speeds = [float(text) for text in self.column("own-trace-2", 4)]
        self.assertEqual(len(speeds), 2)
        self.assertGreater(min(speeds), 0)

    def test_profile_shares_sum_to_100_percent(self):
        shares = [float(text) for text in self.column("own-profile-3", 2)]
        self.assertEqual(len(shares), 12)
        self.assertLess(abs(sum(shares) - 100), 1)
        self.assertEqual(self.column("own-profile-5", 1), ["AtomicMalloc *"])

    def test_verdicts_are_written_between_the_marks_of_a_document(self):
        document, results = self.folder / "document.md", self.folder / "now/results.json"
        document.write_text("before\n<!-- verdicts:begin -->\nold\n<!-- verdicts:end -->\nafter\n")
        for _ in range(2):  # writing twice gives the same text
            self.assertEqual(make_page(results, "--verdicts-into", document).returncode, 0)
        printed = make_page(results, "--verdicts").stdout
        self.assertEqual(
            document.read_text(),
            f"before\n<!-- verdicts:begin -->\n{printed}<!-- verdicts:end -->\nafter\n",
        )
        document.write_text("no marks")
        self.assertIn("marks", make_page(results, "--verdicts-into", document).stderr)

    def test_parts_are_merged_into_one_file(self):
        merged = self.folder / "merged.json"
        parts = [self.folder / out / "results.json" for out in ("now", "before")]
        self.assertEqual(make_page(*parts, "--merged", merged).returncode, 0)
        both = json.loads(merged.read_text())
        keys = {case["key"] for part in parts for case in json.loads(part.read_text())["cases"]}
        self.assertEqual({case["key"] for case in both["cases"]}, keys)
        self.assertEqual(make_page(merged, "--verdicts").returncode, 0)

    def test_errors_are_one_line(self):
        failed = make_page(self.folder / "none.json")
        self.assertEqual(failed.returncode, 1)
        self.assertEqual(failed.stderr.count("\n"), 1)
        self.assertTrue(failed.stderr.startswith("report: error: "), failed.stderr)
