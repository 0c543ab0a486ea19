# SPDX-License-Identifier: MIT
"""What all claims share, and rules with made-up results."""

from report import page
from report.claims import CHUNKS, CLAIMS, HOLDS, LISTS, OPEN, PAGES, SUBSTITUTED, judge, judge_all
from report.claims import usually_faster
from report.panels import PANELS

from .made import BY_ID, Rules, one_case, results, row, sweep, times


def halloc_large(last):
    points = {64: {"halloc": 1}, 131072: {"halloc": last}}
    return sweep("regeff-large", "payload_bytes", points, blocks=120, large="builtin")


class Claims(Rules):
    def test_every_paper_has_claims_and_every_claim_a_rule(self):
        self.assertGreaterEqual(len(CLAIMS), 25)
        self.assertEqual(len(BY_ID), len(CLAIMS))
        self.assertEqual({claim.paper for claim in CLAIMS}, set(page.PAPERS))
        for claim in CLAIMS:
            self.assertTrue(claim.rule and claim.where and claim.items, claim.id)

    def test_published_items_have_panels(self):
        for paper in page.published().values():
            for item, published in paper["items"].items():
                self.assertIn(item, PANELS)
                self.assertTrue(published.get("rows") or published.get("states"), item)
                for line in published.get("rows", []):
                    self.assertEqual(len(line), len(published["columns"]), item)

    def test_claims_without_results_are_undecided(self):
        for one in judge_all(results({})):
            self.assertIn(one.verdict, (OPEN, SUBSTITUTED), one.claim.id)
            self.assertTrue(one.evidence)

    def test_claims_about_gpus_are_undecided_on_cpus_and_with_quick_parameters(self):
        # A flat curve contradicts a claimed rise.
        self.both("ad-halloc-large", halloc_large(9), halloc_large(2.9))
        self.expect("ad-halloc-large", (OPEN, halloc_large(9)), kind="cpu")
        self.expect("ad-halloc-large", (OPEN, halloc_large(9)), scale="quick")

    def test_incomplete_items_are_undecided(self):
        made = results(halloc_large(9))
        made.items["regeff-large"]["cases"].append("another payload")
        one = judge(BY_ID["ad-halloc-large"], made)
        self.assertEqual((one.verdict, one.evidence), (OPEN, "2 of 3 cases are measured"))

    def test_a_redesigned_algorithm_does_not_decide(self):
        half = {"count": 1, "refused": 1}
        settings = {"payload_bytes": 2048}
        bulk = row("bulk", [1], allocations=half, allocate_ms=[1], settings=settings)
        made = results(one_case("bulk-7", bulk))
        one = judge(BY_ID["bulk-2k"], made)
        self.assertEqual(one.verdict, SUBSTITUTED)
        self.assertIn("Bulk is redesigned here", one.evidence)
        self.assertIn("the redesign: 50.0% (holds)", one.evidence)

    def test_evidence_has_its_extent_and_a_failing_verdict_a_cause(self):
        made = halloc_large(1)
        settings = {"payload_bytes": 9, "large": "builtin"}
        late = row("halloc", status="failed", reason="not finished after 2 s", settings=settings)
        made["regeff-large"].append(("another", {}, [late]))
        one = judge(BY_ID["ad-halloc-large"], results(made))
        self.assertEqual(one.cause, "not analysed")
        self.assertEqual(
            one.extent,
            "3 points, 2 of 3 results complete, 3 runs; 1 stopped or shortened by the time limit (2 s)",
        )

    def test_claims_are_judged_at_each_grid_of_all_their_items(self):
        def made(fill):
            one = {}
            for blocks, last in ((120, 12), (1056, fill)):
                for size, ms in ((64, 1), (131072, last)):
                    key = f"ad payload={size} blocks={blocks} large=builtin runs=5"
                    settings = {"payload_bytes": size, "large": "builtin"}
                    one[key] = (key, {}, [row("halloc", [ms], settings=settings)])
            return {"regeff-large": list(one.values())}

        self.expect("ad-halloc-large", (HOLDS, made(9)), (OPEN, made(1)))
        evidence = judge(BY_ID["ad-halloc-large"], results(made(9))).evidence
        self.assertIn("120 blocks: 1 ms at 64 bytes, 12 ms at 128 KiB; 1056 blocks: 1 ms", evidence)

    def test_figures_over_two_grids_need_120_blocks(self):
        def incomplete(unmeasured):
            rows = [row("cmalloc-published", memory={}, settings={"blocks": 120})]
            one = results({"regeff-3a": [("ad payload=4 blocks=120 runs=5", {}, rows)]})
            one.items["regeff-3a"]["cases"].append(unmeasured)
            return one.incomplete("regeff-3a")

        self.assertIsNone(incomplete("ad payload=4 blocks=2112 runs=5"))
        self.assertEqual(incomplete("ad payload=8 blocks=120 runs=5"), "1 of 2 cases are measured")

    def test_results_cut_by_the_time_limit_are_undecided(self):
        pages = (*PAGES, *CHUNKS)

        def made(**cut):
            def rows(key, figures):
                return [row(a, status=cut.get(a, "ok"), space={key: v}) for a, v in figures.items()]

            whole_pool = ("scatter-builtin", "halloc-builtin")
            shares = {**dict(zip(whole_pool, (0.5, 0.4))), **times(0.98, *pages)}
            iterations = {**dict(zip(whole_pool, (200, 100))), **times(300, *pages)}
            return {
                **one_case("ouroboros-utilization", *rows("utilization", shares)),
                **one_case("ouroboros-churn", *rows("iterations", iterations)),
            }

        for name in ("utilization-order", "churn-lasts"):
            self.expect(name, (HOLDS, made()), (OPEN, made(**{"halloc-builtin": "incomplete"})))
        self.expect("utilization", (OPEN, made(**times("incomplete", *pages))))

    def test_registers(self):
        def made(lists, others):
            use = {**times(lists, *LISTS), "scatter": others, "halloc": others}
            rows = [row(a, calls={"both": {"registers": n}}) for a, n in use.items()]
            return one_case("regeff-t1", *rows)

        self.both("registers-lists", made(30, 80), made(80, 80))

    def test_usually_faster(self):
        pairs = [("regeff-3b", "awmalloc", "atomic", "pool_bytes", {})]

        def judged(ratio_of, points, **share):
            made = {x: {"atomic": 1, "awmalloc": ratio_of(x)} for x in points}
            return usually_faster(results(sweep("regeff-3b", "pool_bytes", made)), pairs, **share)

        def eight_of_ten(x):
            return 0.5 if x < 9 else 1.5

        answer, evidence = judged(eight_of_ten, range(1, 11))
        self.assertTrue(answer)
        self.assertEqual(evidence, "faster at 8, slower at 2 points, 0 undecided")
        self.assertFalse(judged(eight_of_ten, range(1, 11), share=0.9)[0])
        self.assertIsNone(judged(lambda x: 1.001, (1, 2))[0])
        # One decided point of five is too few.
        self.assertIsNone(judged(lambda x: 0.5 if x == 1 else 1.001, range(1, 6))[0])

    def test_host_managed_memory(self):
        def made(segfit, tlsf):
            rows = [
                row(a, passes=[{"mapped_over_requested_mean": ratio, "windows": []}])
                for a, ratio in (("segfit", segfit), ("tlsf", tlsf))
            ]
            return one_case("host-4", *rows)

        self.both("host-half", made(2, 1.1), made(4, 1.1))
        self.both("host-tlsf", made(2, 1.1), made(2, 2.1))
        self.assertEqual(len(PANELS["host-4"](results(made(2, 1.1)))[1]["rows"]), 2)
