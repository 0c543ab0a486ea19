# SPDX-License-Identifier: MIT
"""Tests the page in a browser without network access; results are HEAPWOOD_BINARY's, on the CPU."""

import csv
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from playwright.sync_api import sync_playwright

from .made import ROOT, report

ITEMS = (
    "host,own-trace,own-profile,regeff-t1,regeff-t2,regeff-3b,regeff-t3,regeff-t3-pages,"
    "regeff-recorded,ouroboros-10k,ouroboros-utilization,ouroboros-graph-memory,bulk-5,own-pool,own-pools"
)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        options = "--device cpu --allocators atomic,cfmmalloc,scatter --out".split()
        command = [os.environ["HEAPWOOD_BINARY"], "reproduce", ITEMS, *options, cls.folder / "now"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        made = report(cls.folder / "now/results.json", "-o", cls.folder / "page.html")
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
        context.set_default_timeout(600_000)  # milliseconds: other work may keep the processor busy
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

    def text(self, selector):
        return self.page.locator(selector).inner_text()

    def column(self, table, number):
        cells = f"#{table} tbody tr:not([hidden]) > :nth-child({number})"
        return self.page.locator(cells).all_inner_texts()

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
        backwards = [float(text) for text in self.column(table, 2)]
        self.assertEqual(backwards, sorted(values, reverse=True))
        head = self.page.locator(f"#{table} th").nth(1)
        self.assertEqual(head.get_attribute("aria-sort"), "descending")

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
        self.assertIn(str(len(evidence)), self.text("#claims .claims-shown"))
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

    def test_tables_of_builds_say_which_pool_each_allocator_had(self):
        for table in ("regeff-t3-1", "own-pools-2", "own-pool-4"):
            self.assertIn("pool", self.text(f"#{table}"), table)
        self.assertIn("the same pool", self.text("#regeff-t3-1"))

    def test_slowdown_over_the_pool(self):
        heads = self.page.locator("#own-pools-2 thead th").all_inner_texts()
        self.assertEqual(set(heads[1:]), {"live:2", "live:4", "live:8", "20x", "200x", "fast"})
        first = self.page.locator("#own-pools-2 tbody tr").first
        over_live = [float(text) for text in first.locator("td").all_inner_texts()]
        self.assertEqual(over_live, sorted(over_live))
        self.assertAlmostEqual(over_live[heads[1:].index("live:4")], 4, delta=0.5)

    def test_missing_figures_have_reasons(self):
        self.assertIn("not run", self.text("#regeff-t1-1"))
        self.assertIn("registers are those of GPU kernels", self.text("#regeff-t1-1"))
        self.assertIn("not measured yet", self.text("#own-share"))

    def test_dark_and_light(self):
        colours = []
        for _ in range(2):
            colours.append(self.page.evaluate("getComputedStyle(document.body).backgroundColor"))
            self.page.locator("#theme").click()
        self.assertNotEqual(colours[0], colours[1])

    def test_rays_per_second(self):
        self.assertIn("atrium:5k, procedural", self.text("#own-trace-2"))
        speeds = [float(text) for text in self.column("own-trace-2", 4)]
        self.assertEqual(len(speeds), 2)
        self.assertGreater(min(speeds), 0)

    def test_profile_shares_sum_to_100_percent(self):
        # How many allocators can be profiled depends on the build.
        tables = self.page.locator("#own-profile figure.table")
        phases, costs = (tables.nth(i).get_attribute("id") for i in range(2))
        shares = [float(text) for text in self.column(phases, 2)]
        self.assertEqual(len(shares), 12)
        self.assertLess(abs(sum(shares) - 100), 1)
        self.assertIn("AtomicMalloc *", self.column(costs, 1))

    def test_verdicts_are_written_between_the_marks_of_a_document(self):
        document, results = self.folder / "document.md", self.folder / "now/results.json"
        document.write_text("before\n<!-- verdicts:begin -->\nold\n<!-- verdicts:end -->\nafter\n")
        for _ in range(2):  # writing twice gives the same text
            self.assertEqual(report(results, "--verdicts-into", document).returncode, 0)
        printed = report(results, "--verdicts").stdout
        self.assertEqual(
            document.read_text(),
            f"before\n<!-- verdicts:begin -->\n{printed}<!-- verdicts:end -->\nafter\n",
        )
        document.write_text("no marks")
        self.assertIn("marks", report(results, "--verdicts-into", document).stderr)

    def test_errors_are_one_line(self):
        failed = report(self.folder / "none.json")
        self.assertEqual(failed.returncode, 1)
        self.assertEqual(failed.stderr.count("\n"), 1)
        self.assertTrue(failed.stderr.startswith("report: error: "), failed.stderr)
