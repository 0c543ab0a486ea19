# SPDX-License-Identifier: MIT
"""Each rule with made-up results for each of its verdicts."""

from report.claims import CFMALLOC, CFMMALLOC, CHUNKS, CMALLOC, CMMALLOC, FAILS, FDG, HALLOC, HOLDS
from report.claims import LISTS, OPEN, PAGES, SUBSTITUTED
from report.claims import judge

from .made import BY_ID
from .made import Rules, allocating, cases, joined, one_case, over, results, row, sweep, times

VARIANTS = (*PAGES, *CHUNKS)
OTHERS = ("atomic", "awmalloc", "scatter", "halloc")


class Substituted(Rules):
    def test_redesigned_forms_do_not_stand_for_published_ones(self):
        redesigned = times(1, "cmalloc", "cfmalloc", "cmmalloc", "cfmmalloc")
        made = over("regeff-3b", "pool_bytes", (1, 2), redesigned)
        made |= Builds.table("regeff-t3", {"atomic": 1, **redesigned})
        made |= Builds.table("regeff-t4", {"halloc": 2, **redesigned})
        for name in (
            "registers-lists pool-others multi-generic cfmm-scatter build-lists build-20-lists"
            " build-multi internal-variants external-generic external-build"
        ).split():
            self.expect(name, (SUBSTITUTED, made))

    def test_claims_whose_subject_nothing_measures(self):
        for name in (
            "ad-scatter-large pages-large-requests initialization-marks host-metadata internal-build"
            " graph-triangles rcu-best"
        ).split():
            self.assertEqual(judge(BY_ID[name], results({}, kind="cpu")).verdict, SUBSTITUTED)

    def test_published_forms_are_judged_where_they_were_measured(self):
        def made(**last):
            points = {10: times(1, *last), 100: last}
            return sweep("regeff-3c", "iterations", points, blocks=120)

        lists = times(9, *LISTS)
        self.expect("cycle-halloc", (SUBSTITUTED, made(halloc=3, cmalloc=9)))
        self.both("cycle-halloc", made(halloc=3, **lists), made(halloc=12, **lists))
        self.expect("cycle-fdg-constant", (SUBSTITUTED, made(fdg=1.1)))
        self.both("cycle-fdg-constant", made(**{FDG: 1.1}), made(**{FDG: 9}))

    def test_stand_in_scenes_are_counted(self):
        about = {"scene": "Dragon", "source": "statue:871k", "procedural": True}
        made = one_case("regeff-t3", row("atomic", [1], median_ms=1), **about)
        extent = judge(BY_ID["build-200"], results(made)).extent
        self.assertEqual(extent, "1 scene (1 stand-in), 1 of 1 result complete, 1 run")


class GenericTests(Rules):
    def test_slowest_of_alloc_dealloc(self):
        def made(fdg, cuda=10):
            of = {"cuda": cuda, FDG: fdg, **times(1, *OTHERS, *LISTS)}
            return over("regeff-3a", "payload_bytes", (4, 64, 1024), of, blocks=120)

        self.both("ad-slowest", made(10), made(1.5))
        self.both("ad-fdg-cuda", made(12), made(8))

    def test_pool(self):
        def made(last):
            points = {1 << 20: 1, 1 << 30: last}
            of = {size: times(t, "atomic", "awmalloc", *LISTS) for size, t in points.items()}
            return sweep("regeff-3b", "pool_bytes", of, threads=960, iterations=10)

        self.both("pool-others", made(1.2), made(2))
        self.expect("pool-others", (OPEN, made(1.5)))
        small = {1 << 18: times(9, "atomic", "awmalloc", *LISTS)}  # below twice the requests
        small = sweep("regeff-3b", "pool_bytes", small, threads=960, iterations=10)
        self.expect("pool-others", (HOLDS, joined(made(1.2), small)))

    def test_small_pool_of_scatter(self):
        def made(small, deviation=0):
            points = {1 << 20: {"scatter": small}, 1 << 30: {"scatter": 1}}
            one = sweep("regeff-3b", "pool_bytes", points)
            one["regeff-3b"][0][2][0]["runs_ms"][0] += deviation
            return one

        self.both("pool-scatter", made(1.2), made(0.9))
        self.expect("pool-scatter", (OPEN, made(1.2, 0.5)))

    def test_pools_of_cuda(self):
        def made(large):
            points = {1 << 22: {"cuda": 1}, 1 << 30: {"cuda": large}}
            return sweep("regeff-heap", "pool_bytes", points, blocks=120)

        self.both("pool-cuda", made(1.2), made(0.9))

    def test_smallest_pool_of_halloc(self):
        def made(smallest):
            cases_of = (
                row("halloc", status="ok" if mib >= smallest else "failed", settings={"pool_bytes": mib << 20})
                for mib in (128, 256, 512)
            )
            return one_case("regeff-slabs", *cases_of)

        self.both("pool-halloc", made(512), made(256))

    def test_fewer_multiprocessors(self):
        def made(lists, scatter=1):
            of = {"scatter": scatter, **times(lists, *LISTS), "atomic": lists}
            every = over("regeff-multiprocessors", "payload_bytes", (16, 256), times(2, *of))
            some = over("regeff-multiprocessors", "payload_bytes", (16, 256), {a: 2 / v for a, v in of.items()})
            of_some = [(f"{key} multiprocessors=72", *rest) for key, *rest in some["regeff-multiprocessors"]]
            return {"regeff-multiprocessors": every["regeff-multiprocessors"] + of_some}

        self.both("fewer-multiprocessors", made(1.9), made(1.1))
        self.expect("fewer-multiprocessors", (FAILS, made(1.9, scatter=3)))

    def test_a_failed_payload_is_not_constant(self):
        def made(status):
            of = {**times(1, FDG, "awmalloc", "scatter", *LISTS), "atomic": 1, "halloc": 9}
            ad = over("regeff-3a", "payload_bytes", (4, 64), of, blocks=120, presplit="payload")
            for one in ad["regeff-3a"][0][2]:
                if one["allocator"] in (*LISTS, "scatter"):
                    one["status"] = status
            return ad

        self.both("ad-constant", made("ok"), made("failed"))

    def test_offsets_per_multiprocessor(self):
        def made(multi):
            of = {**times(1, CMALLOC, CFMALLOC), **times(multi, CMMALLOC, CFMMALLOC)}
            return {
                **over("regeff-3a", "payload_bytes", (10, 20, 40), of, blocks=120),
                **over("regeff-3b", "pool_bytes", (10, 20, 40), of, blocks=120),
                **over("regeff-3c", "iterations", (10, 20, 40), of, blocks=120),
                **over("regeff-3d-quarter", "blocks", (1, 8, 120), of),
            }

        with_lists = over("labels", "x", [1], times(1, *LISTS))
        self.both("multi-generic", made(0.5), made(2))
        self.expect("multi-generic", (OPEN, {**made(1), **with_lists}))

    def test_uniform_presplit(self):
        def made(external, **settings):
            memory = {"end": {"external_fragmentation": external}}
            rows = (row(a, memory=memory, settings=settings) for a in LISTS)
            return one_case("regeff-uniform", *rows)

        self.both("presplit-uniform", made(0.99, presplit="uniform"), made(0.6, presplit="uniform"))
        lists = over("regeff-3a", "payload_bytes", [4], times(1, *LISTS), blocks=120)
        redesigned = over("regeff-3a", "payload_bytes", [4], {"cmalloc": 1}, blocks=120)
        self.expect("presplit-uniform", (OPEN, made(0.5)), (OPEN, lists), (SUBSTITUTED, redesigned))


class Probability(Rules):
    @staticmethod
    def counts(*runs):
        return cases(
            "regeff-t2",
            *(
                ({}, [row("atomic", [1], settings={"probability": p}, allocations=n, expected=n)])
                for p, count, frees in runs
                for n in [{"count": count, "deallocations": frees}]
            ),
        )

    def test_counts(self):
        three, quarter = (0.75, 3840, 3360), (0.25, 1440, 960)
        self.both(
            "p-counts",
            self.counts(three, quarter),
            self.counts((0.25, 3840, 3360)),
            scale="quick",
            kind="cpu",
        )
        self.expect("p-counts", (OPEN, self.counts(three)))

    def test_flat_beyond_the_launches(self):
        def made(last, floor=0.01):
            points = {1: times(1, *OTHERS), 120: times(1, *OTHERS), 1056: times(last, *OTHERS)}
            return sweep("regeff-3d-quarter", "blocks", points, iterations=10, floor_ms=[floor])

        self.both("p-flat", made(1.5), made(3))
        self.expect("p-flat", (OPEN, made(1.5, floor=0.09)))

    def test_linear(self):
        def made(*ms):
            points = {n: {"atomic": t} for n, t in zip((1, 30, 60, 120), ms)}
            return sweep("regeff-3d-quarter", "blocks", points)

        self.both("p-linear", made(1, 30, 60, 120), made(1, 9, 1, 9))
        self.expect("p-linear", (HOLDS, made(1, 1.1, 1, 1.1)))


class Builds(Rules):
    @staticmethod
    def table(item, of, **more):
        about = {"presplit": "root"}
        return cases(
            item,
            *(
                ({**about, "scene": s}, [row(a, [t], median_ms=t, **more) for a, t in of.items()])
                for s in ("a", "b")
            ),
        )

    def test_slowdowns_of_lists(self):
        def made(slowdown):
            return self.table("regeff-t3", {"atomic": 1, **times(slowdown, *LISTS)})

        self.both("build-lists", made(1.2), made(4))
        unlike = made(1.2)
        unlike["regeff-t3"][0][1]["presplit"] = "heap"
        self.expect("build-lists", (OPEN, unlike))

    def test_best_page_size_of_scatter(self):
        def made(*pages):
            return joined(
                self.table("regeff-t4", times(1, *LISTS)),
                *(
                    self.table("regeff-t4-pages", {"scatter": t}, settings={"page_bytes": p})
                    for p, t in zip((4096, 8192, 16384), pages)
                ),
            )

        self.both("build-scatter-lists", made(9, 2, 5), made(9, 1, 5))
        self.expect("build-scatter-lists", (OPEN, made(2, 3)))

    def test_halloc_with_the_devices_malloc(self):
        def made(halloc, name):
            return self.table("regeff-t4", {**times(1, *LISTS), name: halloc})

        self.both("build-halloc-lists", made(2, HALLOC), made(1, HALLOC))

        def stopped(halloc):
            one = made(halloc, HALLOC)
            for _, _, rows in one["regeff-t4"]:
                rows[0] |= {"status": "failed", "median_ms": None, "reason": "limit of 20 s; raise"}
            return one

        # At most 0.1 times is below the range; at most 2 times may be below it.
        self.expect("build-halloc-lists", (FAILS, stopped(2000)), (OPEN, stopped(40000)))
        self.both("build-20-lists", made(2, HALLOC), made(0.5, HALLOC))
        for name in ("build-halloc-lists", "build-20-lists"):
            self.expect(name, (SUBSTITUTED, made(2, "halloc")))

    def test_halloc_where_the_pool_is_large(self):
        def made(halloc, name=HALLOC):
            return self.table("regeff-t3", {**times(2, *LISTS), name: halloc})

        self.both("build-halloc-small", made(1), made(3))
        self.expect("build-halloc-small", (SUBSTITUTED, made(1, "halloc")))

    def test_pool_of_halloc(self):
        def made(large):
            rows = (
                row("halloc", [t, t * 1.001, t * 0.999], memory={"pool_bytes": size})
                for size, t in ((1, 2), (2, large))
            )
            return one_case("own-pools", *rows, scene="a")

        self.both("halloc-pool", made(1), made(2))


class Ouroboros(Rules):
    def test_ratios_use_allocation_in_used_pools(self):
        def made(cuda, **more):
            of = {"cuda": cuda, **times(1, *VARIANTS)}
            return allocating("ouroboros-10k", times(of, 16, 64), **more)

        self.both("pages-cuda-10k", made(163), made(9))
        self.expect("pages-cuda-10k", (OPEN, made(163, rounds=1)))  # a fresh pool

    def test_all_variants(self):
        def made(chunk, page=1):
            of = {16: {**times(1, *VARIANTS), CHUNKS[1]: chunk, PAGES[2]: page}}
            return {**allocating("ouroboros-10k", of), **allocating("ouroboros-100k", of)}

        self.both("virtual", made(1.2), made(3))
        self.expect("virtual", (FAILS, made(1, page=3)))

    @staticmethod
    def threads(points, *items):
        return joined(*(allocating(i, points, x="threads", test="scaling") for i in items))

    def test_scaling(self):
        small = ("ouroboros-32", "ouroboros-128", "ouroboros-1k")

        def made(variant, *items, cuda=2):
            of = {"scatter": 2, "halloc": 2, "cuda": cuda, **times(variant, *VARIANTS)}
            return self.threads(times(of, 1000, 10000), *items)

        self.both("scaling-pages", made(1, "ouroboros-8k"), made(3, "ouroboros-8k"))
        self.both("scaling-small", made(2, *small), made(9, *small))
        self.both("scaling-cuda", made(1, *small, cuda=3), made(4, *small, cuda=3))
        self.both("chunks-cuda-small", made(1, *small), made(3, *small))

    def test_cuda_over_sizes_and_threads(self):
        def sizes(*ms):
            points = {x: {"cuda": t} for x, t in zip((2048, 4096, 8192), ms)}
            return allocating("ouroboros-100k", points)

        def threads(last):
            items = (f"ouroboros-{size}" for size in ("32", "128", "1k", "8k"))
            return self.threads({100: {"cuda": 1}, 1000: {"cuda": last}}, *items)

        self.both("cuda-growing-again", sizes(1, 2, 3), sizes(1, 3, 2))
        self.both("scaling-cuda-slows", threads(5), threads(0.5))

    def test_reuse(self):
        def made(fresh):
            return joined(
                *(
                    allocating(item, {16: times(t, *VARIANTS)}, rounds=rounds)
                    for item in ("ouroboros-10k", "ouroboros-100k")
                    for rounds, t in ((1, fresh), (2, 1))
                )
            )

        self.both("reuse-faster", made(2), made(1))

    def test_every_variant_uses_the_memory(self):
        def made(worst):
            shares = {**times(0.99, *VARIANTS), CHUNKS[2]: worst}
            rows = (row(a, space={"utilization": v}) for a, v in shares.items())
            return one_case("ouroboros-utilization", *rows)

        self.both("utilization", made(0.97), made(0.5))

    def test_fresh_heaps_of_cuda(self):
        def share(value, status="ok"):
            return one_case("ouroboros-heap", row("cuda", status=status, space={"utilization": value}))

        self.both("utilization-cuda", share(0.17), share(0.5))
        self.expect("utilization-cuda", (OPEN, share(0.17, "incomplete")))
        first = lambda ms: one_case("ouroboros-first", row("cuda", allocate_ms=[ms, 1, 1.01]))
        self.both("reuse-cuda", first(1.05), first(2))

    def test_every_variant_lasts(self):
        def made(worst, last=1):
            iterations = {"scatter-builtin": 50, HALLOC: 20, **times(90, *VARIANTS)}
            iterations[PAGES[1]] = worst
            rows = (
                row(a, space={"iterations": n, "iteration_ms": 1, "last_ms": last})
                for a, n in iterations.items()
            )
            return one_case("ouroboros-churn", *rows)

        self.both("churn-lasts", made(60), made(40))
        self.both("churn-steady", made(60), made(60, last=9))

    def test_cuda_slows_down_over_the_iterations(self):
        def made(*ms):
            space = {"iterations": len(ms), "steps": [[{"ms": t} for t in ms]]}
            return one_case("ouroboros-churn", row("cuda", space=space, status="incomplete"))

        # Growth by the same time each: the last is never twice the median.
        self.both("churn-cuda", made(*range(10, 40)), made(*[10, 20] * 15))


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
    def rates(bulk, refused=None):
        def one(allocator, size, rate, share):
            return row(
                allocator,
                [1],
                allocate_ms=[1000 / rate],
                allocations={"count": 1000 * (1 - share), "refused": 1000 * share},
                settings={"payload_bytes": size, "pool_bytes": 1 << 29},
            )

        return joined(
            *(
                one_case(
                    "bulk-7",
                    one("bulk", size, rate, (refused or {}).get(size, 0)),
                    one("cuda", size, 1, 0),
                )
                for size, rate in bulk.items()
            )
        )

    def test_sizes(self):
        slow = times(0.5, 2048, 4096, 65536, 131072)
        self.both("bulk-where", self.rates({**slow, 64: 2}), self.rates({**slow, 64: 0.9}))
        self.both("bulk-slower", self.rates(slow), self.rates({**slow, 4096: 2}))
        self.expect("bulk-slower", (OPEN, self.rates({64: 2})))

    def test_refusals(self):
        self.both(
            "bulk-moderate",
            self.rates({512: 1, 1024: 1}, {512: 0.1, 1024: 0.26}),
            self.rates({512: 1, 1024: 1}, {512: 0.1, 1024: 0.6}),
            scale="quick",
        )
        half, few = ({2048: share} for share in (0.5, 0.05))
        self.both("bulk-2k", self.rates({2048: 1}, half), self.rates({2048: 1}, few), kind="cpu")

        def beside_cuda(share, status="ok"):
            of = {"count": 8, "refused": 2}
            cuda = row("cuda", [1], status, allocate_ms=[1], allocations=of, settings={"payload_bytes": 512})
            return {**self.rates({512: 1}, {512: share}), **one_case("bulk-heap", cuda)}

        self.both("bulk-failures", beside_cuda(0.01), beside_cuda(0.3))
        self.expect("bulk-failures", (OPEN, beside_cuda(0.01, "incomplete")))


class HostManaged(Rules):
    def test_latency_of_each_call(self):
        def made(p99):
            def one(allocator, p50, last):
                of = {"p50": p50, "p99": last}
                return row(allocator, passes=[{}], warm=times(of, "allocate_us", "free_us"))

            return one_case("host-3", one("segfit", 1, p99), one("cudamalloc", 100, 200))

        self.both("host-latency-each", made(2), made(20))

    def test_min_blocks(self):
        def made(latency, mapped):
            of = {256: (latency, mapped), 4096: (1, 2)}
            return cases(
                "host-minimum",
                *(
                    ({"min_block_bytes": size}, [row("segfit", passes=[{"mapped_over_requested_mean": ratio}],
                                                     warm={"both_us": {"p50": us}})])
                    for size, (us, ratio) in of.items()
                ),
            )

        self.both("host-minimum", made(0.97, 2), made(1, 1.5))

    def test_worst_case(self):
        def made(requested):
            windows = [{"requested_bytes": requested, "mapped_bytes": 100}] * 20
            return one_case("host-4", row("segfit", passes=[{"windows": windows}]))

        self.both("host-worst", made(30), made(10))
