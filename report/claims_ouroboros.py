# SPDX-License-Identifier: MIT
"""Ouroboros' claims about the time of allocation (sections 6.1.1 and 6.1.2).

The paper times allocations, as means of 100 runs. All of these but the first reuse freed pages, so
the claims are judged by the kernel that allocates, in its second round in one pool."""

import statistics

from .claims import CHUNKS, PAGES
from .claims import all_ratios, claim, each_text, figure, if_measured, label, medians
from .claims import need, range_text, ratios, usually_faster, within_factor
from .samples import median

VARIANTS = (*PAGES, *CHUNKS)
USED = {"y": "allocate_ms", "rounds": 2}  # allocations from a pool with freed pages
EACH = {"test": "alloc", **USED}
SIZES = ("ouroboros-10k", "ouroboros-100k")
THREADS = ("ouroboros-32", "ouroboros-128", "ouroboros-1k", "ouroboros-8k")


def judge_ratio(item, allocator, kind, variants, ratio):
    """Judges the claim that this allocator takes `ratio` times as long as queues of this kind."""

    @claim(f"{kind}-{allocator}-{item.removeprefix('ouroboros-')}")
    def check(results):
        found = if_measured(
            lambda variant: statistics.fmean(
                ratios(results, item, allocator, variant, "payload_bytes", **EACH).values()
            ),
            variants,
        )
        names = " or ".join(label(results, a) for a in variants)
        need(found, f"{label(results, allocator)} and {names}")
        value = statistics.fmean(found.values())
        return within_factor(value, ratio), f"{figure(value)} times; published {ratio}"


for one, of_pages, of_chunks in (
    ("cuda", (163, 274), (15, 18)),
    ("halloc", (1.68, 1.74), (0.15, 0.16)),
    ("scatter", (4.33, 12.5), (0.30, 1.12)),
):
    for number, size in enumerate(SIZES):
        judge_ratio(size, one, "pages", PAGES, of_pages[number])
        judge_ratio(size, one, "chunks", CHUNKS, of_chunks[number])


@claim()
def pages_always(results):
    values = [
        r for a in PAGES for r in all_ratios(results, SIZES, "cuda", a, "payload_bytes", **EACH)
    ]
    return min(values) >= 2, f"{range_text(values)} times"


def cuda_times(results, sizes, what):
    """The medians of CUDA's allocator with 100,000 threads at these sizes."""
    times = medians(results, "ouroboros-100k", "cuda", "payload_bytes", **EACH)
    need(all(x in times for x in sizes), what)
    return [times[x] for x in sizes]


def milliseconds_text(values):
    return ", ".join(f"{figure(v)} ms" for v in values)


@claim()
def cuda_small(results):
    values = cuda_times(results, (16, 32, 64), "16, 32 and 64 bytes")
    return max(values) <= 1.5 * min(values), milliseconds_text(values)


@claim()
def cuda_growing(results):
    sizes = (64, 128, 256, 512, 1024)
    values = cuda_times(results, sizes, "all sizes from 64 bytes to 1 KiB")
    return values == sorted(values), milliseconds_text(values)


@claim()
def cuda_2k(results):
    one, two = cuda_times(results, (1024, 2048), "1 and 2 KiB")
    return 55 <= one / two <= 320, f"{figure(one / two)} times"


@claim()
def virtual(results):
    found = {
        a: median(all_ratios(results, SIZES, a, kind[0], "payload_bytes", **EACH))
        for kind in (PAGES, CHUNKS)
        for a in kind[1:]
    }
    return all(0.67 <= v <= 1.5 for v in found.values()), each_text(results, found)


@claim()
def scaling_pages(results):
    others = ("scatter", "halloc", "cuda")
    return usually_faster(
        results, [("ouroboros-8k", a, other, "threads", USED) for a in PAGES for other in others]
    )


@claim()
def scaling_scatter(results):
    values = ratios(results, "ouroboros-8k", "scatter", "cuda", "threads", **USED)
    threads = max(values)
    return (
        values[threads] > 1,
        f"{figure(values[threads])} times CUDA's time with {threads} threads",
    )


@claim()
def scaling_small(results):
    found = {
        (variant, other): median(
            all_ratios(results, THREADS[:2], variant, other, "threads", **USED)
        )
        for variant in PAGES
        for other in ("scatter", "halloc")
    }
    return all(0.5 <= v <= 2 for v in found.values()), ", ".join(
        f"{label(results, a)} over {label(results, b)} {figure(v)}" for (a, b), v in found.items()
    )


@claim()
def scaling_cuda(results):
    found = {}
    for other in ("scatter", "halloc", *VARIANTS):
        for item in THREADS[:3]:
            for threads, r in ratios(results, item, "cuda", other, "threads", **USED).items():
                if threads >= 10000:
                    found[other] = min(r, found.get(other, r))
    need(found, "10,000 threads or more")
    worst = min(found, key=found.get)
    return (
        found[worst] > 1,
        f"at least {figure(found[worst])} times as slow ({label(results, worst)})",
    )


def first_over_later(results, allocator):
    """The median of the times in a fresh pool over those in a used one."""
    values = []
    for item in SIZES:
        fresh, used = (
            medians(results, item, allocator, "payload_bytes", **{**EACH, "rounds": rounds})
            for rounds in (1, 2)
        )
        values += [fresh[x] / used[x] for x in fresh.keys() & used.keys()]
    return median(need(values, "allocation in fresh and in used pools"))


@claim()
def reuse_faster(results):
    found = if_measured(lambda a: first_over_later(results, a), VARIANTS)
    need(found, "allocation in fresh and in used pools")
    return min(found.values()) >= 1.1, each_text(results, found)


@claim()
def cuda_growing_again(results):
    values = cuda_times(results, (2048, 4096, 8192), "2, 4 and 8 KiB")
    return values == sorted(values), milliseconds_text(values)


@claim()
def scaling_cuda_slows(results):
    falls = []
    for item in THREADS:
        times = medians(results, item, "cuda", "threads", **USED)
        steps = [(x, times[x] / times[x // 10]) for x in times if x >= 1000 and x // 10 in times]
        need(steps, f"CUDA's allocator in {item}")
        falls += [f"{item[10:]} with {x}" for x, ratio in steps if ratio <= 1]
    return not falls, f"not slower: {', '.join(falls)}" if falls else "slower at every step"


@claim()
def chunks_cuda_small(results):
    return usually_faster(
        results, [(item, a, "cuda", "threads", USED) for item in THREADS[:3] for a in CHUNKS]
    )
