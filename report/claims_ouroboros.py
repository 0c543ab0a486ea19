# SPDX-License-Identifier: MIT
"""Ouroboros' claims about the time of allocation (sections 6.1.1 and 6.1.2).

The paper times allocations, as means of 100 runs. All of these but the first reuse freed pages, so
the claims are judged by the kernel that allocates, in its second round in one pool."""

import statistics

from .claims import CHUNKS, PAGES
from .claims import add_claim, all_ratios, claim, each_text, figure, if_measured, label, medians
from .claims import need, not_judged, range_text, ratios, usually_faster, within_factor
from .samples import median

VARIANTS = (*PAGES, *CHUNKS)
USED = {"y": "allocate_ms", "rounds": 2}  # allocations from a pool with freed pages
EACH = {"test": "alloc", **USED}
SIZES = ("ouroboros-10k", "ouroboros-100k")
THREADS = ("ouroboros-32", "ouroboros-128", "ouroboros-1k", "ouroboros-8k")


def over_sizes(*items):
    return ("Ouroboros", "section 6.1.1", " ".join(items))


def over_threads(*items):
    return ("Ouroboros", "section 6.1.2", " ".join(items))


def add_ratio(item, allocator, name, kind, variants, published):
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
        return within_factor(value, published), f"{figure(value)} times; published {published}"

    count = "10,000" if item == SIZES[0] else "100,000"
    add_claim(
        f"{kind}-{allocator}-{item.removeprefix('ouroboros-')}",
        over_sizes(item),
        f"With {count} allocations {name} takes {published} times as long as queues of {kind}",
        "the mean over the sizes of the ratio of the median times of allocation in a used pool,"
        " averaged over the variants, is within a factor of 2 of that",
        check,
    )


PUBLISHED = (
    ("cuda", "CUDA's allocator", (163, 274), (15, 18)),
    ("halloc", "Halloc", (1.68, 1.74), (0.15, 0.16)),
    ("scatter", "ScatterAlloc", (4.33, 12.5), (0.30, 1.12)),
)
for number, size in enumerate(SIZES):
    for one, its_name, of_pages, of_chunks in PUBLISHED:
        add_ratio(size, one, its_name, "pages", PAGES, of_pages[number])
        add_ratio(size, one, its_name, "chunks", CHUNKS, of_chunks[number])


@claim(over_sizes(*SIZES))
def pages_always(results):
    """Queues of pages always outperform CUDA's allocator by far.
    Rule: at every size, CUDA's allocator takes at least twice as long as each variant."""
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


@claim(over_sizes("ouroboros-100k"))
def cuda_small(results):
    """CUDA's allocator takes the same time for all sizes up to 64 bytes.
    Rule: slowest over fastest median of 16, 32 and 64 bytes is at most 1.5, without frees."""
    values = cuda_times(results, (16, 32, 64), "16, 32 and 64 bytes")
    return max(values) <= 1.5 * min(values), milliseconds_text(values)


@claim(over_sizes("ouroboros-100k"))
def cuda_growing(results):
    """CUDA's allocator gets slower with the size from 64 bytes to 1 KiB.
    Rule: the medians, without frees, grow from each size to the next."""
    sizes = (64, 128, 256, 512, 1024)
    values = cuda_times(results, sizes, "all sizes from 64 bytes to 1 KiB")
    return values == sorted(values), milliseconds_text(values)


@claim(over_sizes("ouroboros-100k"))
def cuda_2k(results):
    """CUDA's allocator is 110 to 160 times faster with 2048 bytes than with 1024.
    Rule: the ratio of the medians, without frees, is in that range within a factor of 2."""
    one, two = cuda_times(results, (1024, 2048), "1 and 2 KiB")
    return 55 <= one / two <= 320, f"{figure(one / two)} times"


@claim(over_sizes(*SIZES))
def virtual(results):
    """Virtualized queues differ little from static ones.
    Rule: the median over all sizes of the times of each virtualized variant, of pages and of
    chunks, over the static one is between 0.67 and 1.5."""
    found = {
        a: median(all_ratios(results, SIZES, a, kind[0], "payload_bytes", **EACH))
        for kind in (PAGES, CHUNKS)
        for a in kind[1:]
    }
    return all(0.67 <= v <= 1.5 for v in found.values()), each_text(results, found)


@claim(over_threads("ouroboros-8k"))
def scaling_pages(results):
    """With 8 KiB, queues of pages are faster than ScatterAlloc, Halloc and CUDA's allocator.
    Rule: each variant against all three, faster at 80% of the points that the 95% intervals decide,
    which are at least a quarter of all."""
    others = ("scatter", "halloc", "cuda")
    return usually_faster(
        results, [("ouroboros-8k", a, other, "threads", USED) for a in PAGES for other in others]
    )


@claim(over_threads("ouroboros-8k"))
def scaling_scatter(results):
    """With 8 KiB, ScatterAlloc is slower than CUDA's allocator.
    Rule: slower at the most threads that both complete."""
    values = ratios(results, "ouroboros-8k", "scatter", "cuda", "threads", **USED)
    threads = max(values)
    return (
        values[threads] > 1,
        f"{figure(values[threads])} times CUDA's time with {threads} threads",
    )


@claim(over_threads(*THREADS[:2]))
def scaling_small(results):
    """With 32 and 128 bytes, queues of pages are as fast as ScatterAlloc and Halloc.
    Rule: the median ratio of the times of each variant to either is between 0.5 and 2."""
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


@claim(over_threads(*THREADS[:3]))
def scaling_cuda(results):
    """Up to 1 KiB CUDA's allocator is slower than all others.
    Rule: with 10,000 threads or more, its median is above ScatterAlloc's, Halloc's and that of each
    variant."""
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


@claim(over_sizes(*SIZES))
def reuse_faster(results):
    """Ouroboros allocates faster from memory that was freed than at first use.
    Rule: for each variant that was measured, the median over the sizes of the time in a fresh pool
    over that in a used one is at least 1.1."""
    found = if_measured(lambda a: first_over_later(results, a), VARIANTS)
    need(found, "allocation in fresh and in used pools")
    return min(found.values()) >= 1.1, each_text(results, found)


not_judged(
    "reuse-cuda",
    over_sizes(*SIZES),
    "CUDA's allocator takes the same time for the first allocations as for later ones",
    "the median over the sizes of the time in a fresh heap over that in a used one is between 0.9 and 1.1",
    "the device's heap cannot be made fresh again: only the first case of a process uses it first",
)


@claim(over_sizes("ouroboros-100k"))
def cuda_growing_again(results):
    """CUDA's allocator gets slower with the size again from 2 KiB on.
    Rule: the medians grow from 2 to 4 and to 8 KiB."""
    values = cuda_times(results, (2048, 4096, 8192), "2, 4 and 8 KiB")
    return values == sorted(values), milliseconds_text(values)


@claim(over_threads(*THREADS))
def scaling_cuda_slows(results):
    """CUDA's allocator slows down with the number of threads at every size.
    Rule: at every size each median time per kernel with 1,000 threads or more is above that with a
    tenth of the threads."""
    falls = []
    for item in THREADS:
        times = medians(results, item, "cuda", "threads", **USED)
        steps = [(x, times[x] / times[x // 10]) for x in times if x >= 1000 and x // 10 in times]
        need(steps, f"CUDA's allocator in {item}")
        falls += [f"{item[10:]} with {x}" for x, ratio in steps if ratio <= 1]
    return not falls, f"not slower: {', '.join(falls)}" if falls else "slower at every step"


@claim(over_threads(*THREADS[:3]))
def chunks_cuda_small(results):
    """Queues of chunks are faster than CUDA's allocator up to 1 KiB.
    Rule: for each variant, faster at 80% of the points that the 95% intervals decide, which are at
    least a quarter of all."""
    return usually_faster(
        results, [(item, a, "cuda", "threads", USED) for item in THREADS[:3] for a in CHUNKS]
    )
