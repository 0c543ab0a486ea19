# SPDX-License-Identifier: MIT
"""Each rule with made-up results for each of its verdicts."""

import unittest

from report import page  # noqa: F401  registers every claim
from report.claims import (
    CFMALLOC,
    CFMMALLOC,
    CHUNKS,
    CLAIMS,
    CMALLOC,
    CMMALLOC,
    FAILS,
    FDG,
    HALLOC,
    HOLDS,
    LISTS,
    OPEN,
    PAGES,
    REGEFF_FULL,
    SUBSTITUTED,
    judge,
)

from .made import allocating, cases, joined, results, row, sweep

BY_ID = {claim.id: claim for claim in CLAIMS}
VARIANTS = (*PAGES, *CHUNKS)
OTHERS = ("atomic", "awmalloc", "scatter", "halloc")


class Rules(unittest.TestCase):
    def expect(self, name, *verdicts, **how):
        """verdicts: (expected, items) pairs."""
        for expected, items in verdicts:
            one = judge(BY_ID[name], results(items, **how))
            self.assertEqual(one.verdict, expected, f"{name}: {one.evidence}")
            self.assertTrue(one.evidence, name)

    def both(self, name, holds, fails, **how):
        self.expect(name, (HOLDS, holds), (FAILS, fails), **how)


class Substituted(Rules):
    def test_redesigned_forms_do_not_stand_for_published_ones(self):
        redesigned = {a: 1 for a in ("cmalloc", "cfmalloc", "cmmalloc", "cfmmalloc")}
        made = sweep("regeff-3b", "pool_bytes", {1: redesigned, 2: redesigned})
        made |= Builds.table("regeff-t3", {"atomic": 1, **redesigned})
        made |= Builds.table("regeff-t4", {"halloc": 2, **redesigned})
        for name in (
            "registers-lists",
            "pool-others",
            "multi-generic",
            "cfmm-scatter",
            "build-lists",
            "build-20-lists",
            "build-multi",
            "internal-small",
            "internal-variants",
            "external-generic",
            "external-build",
        ):
            self.expect(name, (SUBSTITUTED, made))

    def test_claims_whose_subject_nothing_measures(self):
        for name in (
            "ad-scatter-large",
            "pages-large-requests",
            "pool-cuda",
            "pool-halloc",
            "fewer-multiprocessors",
            "reuse-cuda",
            "initialization-marks",
            "host-minimum",
        ):
            for kind in ("cpu", "cuda"):
                self.expect(name, (SUBSTITUTED, {}), kind=kind)

    def test_published_forms_are_judged_where_they_were_measured(self):
        def made(**times):
            return sweep(
                "regeff-3c",
                "iterations",
                {10: {a: 1 for a in times}, 100: {a: t for a, t in times.items()}},
                blocks=120,
            )

        lists = {a: 9 for a in LISTS}
        self.expect("cycle-halloc", (SUBSTITUTED, made(halloc=3, cmalloc=9)))
        self.both("cycle-halloc", made(halloc=3, **lists), made(halloc=12, **lists))
        self.expect("cycle-fdg-constant", (SUBSTITUTED, made(fdg=1.1)))
        self.both("cycle-fdg-constant", made(**{FDG: 1.1}), made(**{FDG: 9}))

    def test_stand_in_scenes_are_named(self):
        def made(procedural):
            about = {"scene": "Dragon", "source": "statue:871k", "procedural": procedural}
            return cases("regeff-t3", (about, [row("atomic", [1], median_ms=1)]))

        self.assertIn(
            "stand-ins: statue:871k for Dragon",
            judge(BY_ID["build-200"], results(made(True))).evidence,
        )
        self.assertNotIn("stand-in", judge(BY_ID["build-200"], results(made(False))).evidence)


class GenericTests(Rules):
    def test_slowest_of_alloc_dealloc(self):
        def made(fdg, cuda=10):
            times = {"cuda": cuda, FDG: fdg, **{a: 1 for a in (*OTHERS, *LISTS)}}
            return sweep(
                "regeff-3a", "payload_bytes", {x: times for x in (4, 64, 1024)}, blocks=120
            )

        self.both("ad-slowest", made(10), made(1.5))
        self.both("ad-fdg-cuda", made(12), made(8))

    def test_pool(self):
        def made(last):
            allocators = ("atomic", "awmalloc", *LISTS)
            return sweep(
                "regeff-3b",
                "pool_bytes",
                {1 << 20: {a: 1 for a in allocators}, 1 << 30: {a: last for a in allocators}},
            )

        self.both("pool-others", made(1.2), made(2))

    def test_offsets_per_multiprocessor(self):
        def made(multi):
            times = {CMALLOC: 1, CFMALLOC: 1, CMMALLOC: multi, CFMMALLOC: multi}
            return joined(
                *(
                    sweep(item, x, {n: times for n in (10, 20, 40)}, blocks=120)
                    for item, x in (
                        ("regeff-3a", "payload_bytes"),
                        ("regeff-3b", "pool_bytes"),
                        ("regeff-3c", "iterations"),
                    )
                ),
                *(
                    sweep(item, "blocks", {n: times for n in (1, 8, 120)})
                    for item in ("regeff-3d", "regeff-3d-quarter")
                ),
            )

        lists = {a: 1 for a in LISTS}
        with_lists = sweep("labels", "x", {1: lists})
        self.both("multi-generic", made(0.5), made(2))
        self.expect("multi-generic", (OPEN, {**made(1), **with_lists}))

    def test_coalescing(self):
        def made(more):
            plain = sweep("regeff-3a", "payload_bytes", {16: {"atomic": 1}}, blocks=120)
            return {
                **plain,
                **sweep("regeff-coalesced", "payload_bytes", {16: {"atomic": more}}, blocks=120),
            }

        self.both("coalescing-time", made(1.01), made(1.3))

    def test_doubly_linked_list(self):
        def made(doubly):
            times = {**{a: 1 for a in LISTS}, "cmalloc-doubly": doubly}
            return sweep("regeff-3a", "payload_bytes", {x: times for x in (4, 64)}, blocks=120)

        self.both("doubly-linked", made(1.2), made(0.8))
        self.expect("doubly-linked", (FAILS, made(3)), (OPEN, made(1)))
        plain = sweep("regeff-3a", "payload_bytes", {4: {a: 1 for a in LISTS}}, blocks=120)
        self.expect("doubly-linked", (SUBSTITUTED, plain))

    def test_uniform_presplit(self):
        def made(external, **settings):
            rows = [
                row(a, memory={"end": {"external_fragmentation": external}}, settings=settings)
                for a in LISTS
            ]
            return cases("regeff-uniform", ({}, rows))

        self.both("presplit-uniform", made(0.99, presplit="uniform"), made(0.6, presplit="uniform"))
        lists = sweep("regeff-3a", "payload_bytes", {4: {a: 1 for a in LISTS}}, blocks=120)
        redesigned = sweep("regeff-3a", "payload_bytes", {4: {"cmalloc": 1}}, blocks=120)
        self.expect("presplit-uniform", (OPEN, made(0.5)), (OPEN, lists), (SUBSTITUTED, redesigned))


class Probability(Rules):
    @staticmethod
    def counts(*runs):
        return cases(
            "regeff-t2",
            *(
                (
                    {},
                    [
                        row(
                            "atomic",
                            [1],
                            settings={"probability": p},
                            allocations={"count": count, "deallocations": frees},
                            expected={"count": count, "deallocations": frees},
                        )
                    ],
                )
                for p, count, frees in runs
            ),
        )

    def test_counts(self):
        three, quarter = (0.75, 3840, 3360), (0.25, 1440, 960)
        self.both(
            "p-counts",
            self.counts((0.75, 1450, 986)),
            self.counts(three, quarter),
            scale="quick",
            kind="cpu",
        )
        evidence = judge(BY_ID["p-counts"], results(self.counts(three, quarter))).evidence
        self.assertIn("1/4 makes 1440 and 960", evidence)
        self.assertIn("which are the published counts", evidence)
        self.expect("p-counts", (OPEN, self.counts(quarter)))

    def test_a_verdict_needs_both_probabilities(self):
        def made(three, quarter, allocators=OTHERS):
            return {
                item: entries
                for name, last in (("regeff-3d", three), ("regeff-3d-quarter", quarter))
                for item, entries in sweep(
                    name,
                    "blocks",
                    {1: {a: 1 for a in allocators}, 120: {a: last for a in allocators}},
                ).items()
            }

        self.both("p-flat", made(1.5, 1.2), made(3, 4))
        self.expect("p-flat", (OPEN, made(1.5, 3)))

    def test_linear(self):
        def made(times):
            points = {n: {"atomic": t} for n, t in zip((1, 30, 60, 120), times)}
            return {
                **sweep("regeff-3d", "blocks", points),
                **sweep("regeff-3d-quarter", "blocks", points),
            }

        self.both("p-linear", made((1, 30, 60, 120)), made((1, 9, 1, 9)))
        self.expect("p-linear", (HOLDS, made((1, 1.1, 1, 1.1))))


class Builds(Rules):
    @staticmethod
    def table(item, times, **more):
        return cases(
            item,
            *(
                ({"scene": s}, [row(a, [t], median_ms=t, **more) for a, t in times.items()])
                for s in ("a", "b")
            ),
        )

    def test_slowdowns_of_lists(self):
        def made(slowdown):
            return self.table("regeff-t3", {"atomic": 1, **{a: slowdown for a in LISTS}})

        self.both("build-lists", made(1.2), made(4))

    def test_best_page_size_of_scatter(self):
        def made(*pages):
            return {
                **self.table("regeff-t4", {a: 1 for a in LISTS}),
                **joined(
                    *(
                        self.table("regeff-t4-pages", {"scatter": t}, settings={"page_bytes": p})
                        for p, t in zip((4096, 8192, 16384), pages)
                    )
                ),
            }

        self.both("build-scatter-lists", made(9, 2, 5), made(9, 1, 5))
        self.expect("build-scatter-lists", (OPEN, made(2, 3)))

    def test_halloc_with_the_devices_malloc(self):
        def made(halloc, name):
            return self.table("regeff-t4", {**{a: 1 for a in LISTS}, name: halloc})

        self.both("build-halloc-lists", made(2, HALLOC), made(1, HALLOC))
        self.both("build-20-lists", made(2, HALLOC), made(0.5, HALLOC))
        for name in ("build-halloc-lists", "build-20-lists"):
            self.expect(name, (SUBSTITUTED, made(2, "halloc")))

    def test_halloc_where_the_pool_is_large(self):
        def made(halloc, name=HALLOC):
            return self.table("regeff-t3", {"scatter": 2, name: halloc})

        self.both("build-halloc-small", made(1), made(3))
        self.expect("build-halloc-small", (SUBSTITUTED, made(1, "halloc")))

    def test_internal_fragmentation_of_recordings(self):
        def made(internal):
            points = [
                [1, 10, 1, 10, 0, 0, 0.5],
                [2, 90, 9, 90, 0, 0, internal],
                [3, 0, 0, 90, 0, 0, None],
            ]
            rows = [row(a, points=points) for a in LISTS]
            return cases("regeff-recorded", ({"scene": "a"}, rows))

        self.both("internal-build", made(0.005), made(0.2))

    @staticmethod
    def two_builders(single, per_level=3, used=10, peak=10, allocator=CFMALLOC):
        return cases(
            "own-builder",
            (
                {"scene": "a"},
                [
                    row(
                        allocator,
                        [single],
                        median_ms=single,
                        builder="single-kernel",
                        memory={"high_water_bytes": used / 2, "workspace_bytes": used / 2},
                    ),
                    row(
                        "tlsf",
                        [per_level],
                        median_ms=per_level,
                        builder="per-level",
                        memory={"peak_bytes": peak},
                    ),
                ],
            ),
        )

    def test_single_kernel(self):
        self.both("single-kernel", self.two_builders(2), self.two_builders(2.9))
        for redesigned in ("heapwood", "cfmmalloc"):
            self.expect("single-kernel", (OPEN, self.two_builders(1, allocator=redesigned)))
        self.both(
            "single-kernel-memory", self.two_builders(1, used=12), self.two_builders(1, used=30)
        )

    def test_pool_of_halloc(self):
        def made(large):
            rows = [
                row("halloc", [t, t * 1.001, t * 0.999], memory={"pool_bytes": size})
                for size, t in ((1, 2), (2, large))
            ]
            return cases("own-pools", ({"scene": "a"}, rows))

        self.both("halloc-pool", made(1), made(2))


class Ouroboros(Rules):
    def test_ratios_use_allocation_in_used_pools(self):
        def made(cuda, **more):
            times = {"cuda": cuda, **{a: 1 for a in VARIANTS}}
            return allocating("ouroboros-10k", {x: times for x in (16, 64)}, **more)

        self.both("pages-cuda-10k", made(163), made(9))
        self.expect("pages-cuda-10k", (OPEN, made(163, rounds=1)))  # a fresh pool

    def test_all_variants(self):
        def made(chunk, page=1):
            times = {**{a: 1 for a in VARIANTS}, CHUNKS[1]: chunk, PAGES[2]: page}
            return {
                **allocating("ouroboros-10k", {16: times}),
                **allocating("ouroboros-100k", {16: times}),
            }

        self.both("virtual", made(1.2), made(3))
        self.expect("virtual", (FAILS, made(1, page=3)))

    def test_scaling(self):
        def made(variant, item="ouroboros-8k", cuda=2):
            times = {"scatter": 2, "halloc": 2, "cuda": cuda, **{a: variant for a in VARIANTS}}
            return allocating(item, {x: times for x in (1000, 10000)}, x="threads", test="scaling")

        def small(variant, cuda=2):
            return {
                item: entries
                for name in ("ouroboros-32", "ouroboros-128", "ouroboros-1k")
                for item, entries in made(variant, name, cuda).items()
            }

        self.both("scaling-pages", made(1), made(3))
        self.both("scaling-small", small(2), small(9))
        self.both("scaling-cuda", small(1, cuda=3), small(4, cuda=3))
        self.both("chunks-cuda-small", small(1), small(3))

    def test_cuda_over_sizes_and_threads(self):
        def sizes(*times):
            points = {x: {"cuda": t} for x, t in zip((2048, 4096, 8192), times)}
            return allocating("ouroboros-100k", points)

        self.both("cuda-growing-again", sizes(1, 2, 3), sizes(1, 3, 2))

        def threads(last):
            return {
                item: entries
                for name in ("ouroboros-32", "ouroboros-128", "ouroboros-1k", "ouroboros-8k")
                for item, entries in allocating(
                    name, {100: {"cuda": 1}, 1000: {"cuda": last}}, x="threads", test="scaling"
                ).items()
            }

        self.both("scaling-cuda-slows", threads(5), threads(0.5))

    def test_reuse(self):
        def made(fresh):
            def times(t):
                return {16: {a: t for a in VARIANTS}}

            return {
                item: joined(
                    allocating(item, times(fresh), rounds=1), allocating(item, times(1), rounds=2)
                )[item]
                for item in ("ouroboros-10k", "ouroboros-100k")
            }

        self.both("reuse-faster", made(2), made(1))

    def test_memory_of_queues(self):
        def made(virtual):
            rows = [
                row(
                    a,
                    memory={"peak": {"metadata_bytes": 100 if a == PAGES[0] else virtual}},
                    settings={"blocks": 120},
                )
                for a in PAGES
            ]
            return cases("regeff-3a", ({}, rows))

        self.both("virtual-memory", made(5), made(200))

    def test_every_variant_uses_the_memory(self):
        def made(worst):
            shares = {**{a: 0.99 for a in VARIANTS}, CHUNKS[2]: worst}
            rows = [row(a, space={"utilization": v}) for a, v in shares.items()]
            return cases("ouroboros-utilization", ({}, rows))

        self.both("utilization", made(0.97), made(0.5))

    def test_every_variant_lasts(self):
        def made(worst, last=1):
            iterations = {"scatter": 50, "halloc": 20, **{a: 90 for a in VARIANTS}, PAGES[1]: worst}
            rows = [
                row(a, space={"iterations": n, "iteration_ms": 1, "last_ms": last})
                for a, n in iterations.items()
            ]
            return cases("ouroboros-churn", ({}, rows))

        self.both("churn-lasts", made(60), made(40))
        self.both("churn-steady", made(60), made(60, last=9))


class Bulk(Rules):
    @staticmethod
    def semaphores(*points, variant="published"):
        def samples(value):
            return [value * 0.99, value, value * 1.01] if value else []

        return cases(
            "bulk-5",
            *(
                (
                    {"threads": threads},
                    [
                        row(name, samples(value), status="ok" if value else "failed")
                        for name, value in (("counting", counting), (variant, bulk))
                    ],
                )
                for threads, counting, bulk in points
            ),
        )

    def test_unfinished_semaphores(self):
        finished = self.semaphores((1024, 2, 1), (4096, 5, 2))
        self.both("bulk-semaphore", finished, self.semaphores((1024, 1, 2)))
        self.expect("bulk-semaphore", (OPEN, self.semaphores((1024, 2, 1), (1 << 20, None, 1))))
        self.expect("bulk-semaphore", (FAILS, self.semaphores((1024, 1, 2), (1 << 20, None, 1))))
        self.both(
            "bulk-peak",
            self.semaphores((1024, 2, 1), (4096, 5, 8)),
            self.semaphores((1024, 2, 1), (4096, 5, 2)),
        )
        self.expect("bulk-peak", (OPEN, self.semaphores((1024, 2, 1), (4096, 5, None))))
        # The peak of the bulk semaphore does not need the counting one.
        self.expect("bulk-peak", (HOLDS, self.semaphores((1024, 2, 1), (4096, None, 8))))
        redesigned = self.semaphores((1024, 2, 1), variant="bulk")
        self.expect("bulk-semaphore", (SUBSTITUTED, redesigned))
        self.expect("bulk-peak", (SUBSTITUTED, redesigned))

    @staticmethod
    def rates(bulk, refused=None, capacity=None, cuda_refused=0):
        def one(allocator, size, rate, share):
            counts = {"count": 1000 * (1 - share), "refused": 1000 * share}
            return row(
                allocator,
                [1],
                allocate_ms=[1000 / rate],
                allocations=counts,
                capacity_bytes=capacity or 1 << 29,
                settings={"payload_bytes": size, "pool_bytes": 1 << 29},
            )

        refused = refused or {}
        return cases(
            "bulk-7",
            *(
                (
                    {},
                    [
                        one("bulk", size, rate, refused.get(size, 0)),
                        one("cuda", size, 1, cuda_refused),
                    ],
                )
                for size, rate in bulk.items()
            ),
        )

    def test_sizes(self):
        slow = {2048: 0.5, 4096: 0.5, 65536: 0.5, 131072: 0.5}
        self.both("bulk-where", self.rates({**slow, 64: 2}), self.rates({**slow, 64: 0.9}))
        evidence = judge(BY_ID["bulk-where"], results(self.rates({**slow, 64: 2, 128: 3}))).evidence
        self.assertEqual(evidence, "faster at all 2 other sizes that were measured")
        self.both("bulk-slower", self.rates(slow), self.rates({**slow, 4096: 2}))
        self.expect("bulk-slower", (OPEN, self.rates({64: 2})))

    def test_rate_of_the_buddy_system(self):
        self.both(
            "bulk-buddy-rate",
            self.rates({4096: 10, 8192: 11, 16384: 10, 32768: 14}),
            self.rates({4096: 10, 8192: 2, 16384: 10, 32768: 14}),
        )

    def test_refusals(self):
        self.both(
            "bulk-moderate",
            self.rates({512: 1, 1024: 1}, {512: 0.1, 1024: 0.26}),
            self.rates({512: 1, 1024: 1}, {512: 0.1, 1024: 0.6}),
            scale="quick",
        )
        few, many = {512: 0.01}, {512: 0.3}
        self.both(
            "bulk-failures",
            self.rates({512: 1}, few, cuda_refused=0.2),
            self.rates({512: 1}, many, cuda_refused=0.2),
        )
        self.expect("bulk-failures", (SUBSTITUTED, self.rates({512: 1}, few, capacity=1 << 31)))


class HostManaged(Rules):
    def test_latency_of_each_call(self):
        def made(p99):
            def warm(p50, last):
                return {key: {"p50": p50, "p99": last} for key in ("allocate_us", "free_us")}

            rows = [
                row("segfit", passes=[{}], warm=warm(1, p99)),
                row("cudamalloc", passes=[{}], warm=warm(100, 200)),
            ]
            return cases("host-3", ({}, rows))

        self.both("host-latency-each", made(2), made(20))

    def test_worst_case(self):
        def made(requested):
            windows = [{"requested_bytes": requested, "mapped_bytes": 100}] * 20
            return cases("host-4", ({}, [row("segfit", passes=[{"windows": windows}])]))

        self.both("host-worst", made(30), made(10))

    def test_arithmetic(self):
        self.expect("host-metadata", (FAILS, cases("host-4", ({}, []))))


class Coverage(unittest.TestCase):
    def test_allocators_of_the_paper_are_the_published_forms(self):
        self.assertTrue(set(LISTS) <= set(REGEFF_FULL))
        self.assertNotIn("cmalloc", REGEFF_FULL)
