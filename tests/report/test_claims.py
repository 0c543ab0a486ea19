# SPDX-License-Identifier: MIT
import unittest

from report import page  # registers every claim
from report.claims import (
    CHUNKS,
    CLAIMS,
    FAILS,
    HOLDS,
    LISTS,
    OPEN,
    PAGES,
    SUBSTITUTED,
    judge,
    judge_all,
    usually_faster,
)
from report.panels import PANELS

from .made import LABELS, results, row, sweep

BY_ID = {claim.id: claim for claim in CLAIMS}


def verdict(name, made):
    return judge(BY_ID[name], made).verdict


class Claims(unittest.TestCase):
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
        made = sweep(
            "regeff-large",
            "payload_bytes",
            {64: {"halloc": 1}, 131072: {"halloc": 9}},
            blocks=120,
            large="builtin",
        )
        self.assertEqual(verdict("ad-halloc-large", results(made)), HOLDS)
        self.assertEqual(verdict("ad-halloc-large", results(made, kind="cpu")), OPEN)
        self.assertEqual(verdict("ad-halloc-large", results(made, scale="quick")), OPEN)

    def test_a_flat_curve_contradicts_a_claimed_rise(self):
        flat = sweep(
            "regeff-large",
            "payload_bytes",
            {64: {"halloc": 1}, 131072: {"halloc": 2.9}},
            blocks=120,
            large="builtin",
        )
        self.assertEqual(verdict("ad-halloc-large", results(flat)), FAILS)

    def test_results_cut_by_the_time_limit_are_undecided(self):
        def made(**cut):
            def rows(key, figures):
                return [
                    row(a, status=cut.get(a, "ok"), space={key: value})
                    for a, value in figures.items()
                ]

            pages = {a: 0.98 for a in (*PAGES, *CHUNKS)}
            shares = {"scatter": 0.5, "halloc": 0.4, **pages}
            iterations = {"scatter": 200, "halloc": 100, **{a: 300 for a in pages}}
            return results(
                {
                    "ouroboros-utilization": [("u", {}, rows("utilization", shares))],
                    "ouroboros-churn": [("c", {}, rows("iterations", iterations))],
                }
            )

        for name in ("utilization-order", "churn-lasts"):
            self.assertEqual(verdict(name, made()), HOLDS)
            self.assertEqual(verdict(name, made(halloc="incomplete")), OPEN)
        none_filled = made(**{a: "incomplete" for a in (*PAGES, *CHUNKS)})
        self.assertEqual(verdict("utilization", none_filled), OPEN)

    def test_registers(self):
        def made(lists, others):
            use = {
                **{a: lists for a in LISTS},
                "scatter": others,
                "halloc": others,
            }
            return results(
                {
                    "regeff-t1": [
                        (
                            "registers",
                            {},
                            [row(a, calls={"both": {"registers": n}}) for a, n in use.items()],
                        )
                    ]
                }
            )

        self.assertEqual(verdict("registers-lists", made(30, 80)), HOLDS)
        self.assertEqual(verdict("registers-lists", made(80, 80)), FAILS)

    def test_fastest_allocator_of_each_scene(self):
        def made(cmalloc):
            return results(
                {
                    "regeff-t4": [
                        (
                            f"build {s}",
                            {"scene": s},
                            [
                                row("halloc-builtin", [5], median_ms=5),
                                *(row(a, [cmalloc], median_ms=cmalloc) for a in LISTS),
                            ],
                        )
                        for s in ("a", "b")
                    ]
                }
            )

        self.assertEqual(verdict("build-20-lists", made(4)), HOLDS)
        self.assertEqual(verdict("build-20-lists", made(6)), FAILS)

    def test_usually_faster(self):
        points = {x: {"atomic": 2, "awmalloc": 1 if x < 9 else 3} for x in range(1, 11)}
        pairs = [("regeff-3b", "awmalloc", "atomic", "pool_bytes", {})]
        answer, evidence = usually_faster(results(sweep("regeff-3b", "pool_bytes", points)), pairs)
        self.assertTrue(answer)
        self.assertEqual(evidence, "faster at 8, slower at 2 points, 0 undecided")
        answer, _ = usually_faster(
            results(sweep("regeff-3b", "pool_bytes", points)), pairs, share=0.9
        )
        self.assertFalse(answer)
        alike = {x: {"atomic": 1, "awmalloc": 1.001} for x in (1, 2)}
        self.assertIsNone(
            usually_faster(results(sweep("regeff-3b", "pool_bytes", alike)), pairs)[0]
        )
        # One decided point of five is too few.
        alike = {x: {"atomic": 1, "awmalloc": 0.5 if x == 1 else 1.001} for x in (1, 2, 3, 4, 5)}
        self.assertIsNone(
            usually_faster(results(sweep("regeff-3b", "pool_bytes", alike)), pairs)[0]
        )

    def test_refused_requests(self):
        def made(refused):
            counts = {"count": 100 - refused, "refused": refused}
            return results(
                {
                    "bulk-7": [
                        (
                            "alloc",
                            {},
                            [
                                row(
                                    "bulk",
                                    [1],
                                    allocate_ms=[1],
                                    allocations=counts,
                                    status="incomplete",
                                    settings={"payload_bytes": 2048},
                                )
                            ],
                        )
                    ]
                },
                scale="quick",
                kind="cpu",
            )

        self.assertEqual(verdict("bulk-2k", made(50)), HOLDS)
        self.assertEqual(verdict("bulk-2k", made(5)), FAILS)

    def test_labels_are_those_of_the_registry(self):
        self.assertEqual(results(sweep("x", "y", {1: {a: 1 for a in LABELS}})).labels(), LABELS)

    def test_host_managed_memory(self):
        def made(segfit, tlsf):
            rows = [
                row(a, passes=[{"mapped_over_requested_mean": ratio, "windows": []}])
                for a, ratio in (("segfit", segfit), ("tlsf", tlsf))
            ]
            return results({"host-4": [("host-bench", {}, rows)]})

        self.assertEqual(verdict("host-half", made(2, 1.1)), HOLDS)
        self.assertEqual(verdict("host-half", made(4, 1.1)), FAILS)
        self.assertEqual(verdict("host-tlsf", made(2, 1.1)), HOLDS)
        self.assertEqual(verdict("host-tlsf", made(2, 2.1)), FAILS)
        self.assertEqual(len(PANELS["host-4"](made(2, 1.1))[1]["rows"]), 2)

    def test_incomplete_items_are_undecided(self):
        made = results(
            sweep(
                "regeff-large",
                "payload_bytes",
                {64: {"halloc": 1}, 131072: {"halloc": 9}},
                large="builtin",
                blocks=120,
            )
        )
        made.items["regeff-large"]["cases"].append("another payload")
        one = judge(BY_ID["ad-halloc-large"], made)
        self.assertEqual((one.verdict, one.evidence), (OPEN, "2 of 3 cases are measured"))

    def test_figures_over_two_grids_are_judged_by_120_blocks(self):
        def made(*unmeasured):
            rows = [row("cmalloc-published", memory={}, settings={"blocks": 120})]
            one = results({"regeff-3a": [("ad payload=4 blocks=120 runs=5", {}, rows)]})
            one.items["regeff-3a"]["cases"] += unmeasured
            return one

        self.assertIsNone(made("ad payload=4 blocks=2112 runs=5").incomplete("regeff-3a"))
        self.assertEqual(
            made("ad payload=8 blocks=120 runs=5").incomplete("regeff-3a"),
            "1 of 2 cases are measured",
        )
