# SPDX-License-Identifier: MIT
"""Ouroboros' claims about the time of allocation (sections 6.1.1 and 6.1.2).

The paper times allocations, as means of 100 runs. All of these but the first reuse freed pages, so
the claims are judged by the kernel that allocates, in its second round in one pool."""

import statistics

from .claims import (
    CHUNKS,
    PAGES,
    NotMeasured,
    always,
    claim,
    figure,
    label,
    medians,
    need,
    ratios,
    usually_faster,
    within_factor,
)
from .samples import median

VARIANTS = (*PAGES, *CHUNKS)
USED = {"y": "allocate_ms", "rounds": 2}  # allocations from a pool with freed pages
EACH = {"test": "alloc", **USED}


def mean_ratio(results, item, slower, faster):
    """Mean ratio of `slower`'s times to those of `faster`, over the sizes and the allocators."""
    values = []
    for allocator in faster:
        try:
            values.append(
                statistics.fmean(
                    ratios(results, item, slower, allocator, "payload_bytes", **EACH).values()
                )
            )
        except NotMeasured:
            continue
    need(values, f"{label(results, slower)} and {' or '.join(label(results, a) for a in faster)}")
    return statistics.fmean(values)


def published_ratio(results, item, slower, faster, published):
    value = mean_ratio(results, item, slower, faster)
    return within_factor(value, published), f"{figure(value)} times; published {published}"


RULE = (
    "the mean over the sizes of the ratio of the median times of allocation in a used pool, averaged over the variants,"
    " is within a factor of 2 of that"
)
ITEMS = (("10k", "ouroboros-10k", "10,000", 0), ("100k", "ouroboros-100k", "100,000", 1))
PUBLISHED = (
    ("cuda", "CUDA's allocator", (163, 274), (15, 18)),
    ("halloc", "Halloc", (1.68, 1.74), (0.15, 0.16)),
    ("scatter", "ScatterAlloc", (4.33, 12.5), (0.30, 1.12)),
)


def add_ratios():
    for short, item, count, column in ITEMS:
        for allocator, name, pages, chunks in PUBLISHED:
            for kind, variants, values in (("pages", PAGES, pages), ("chunks", CHUNKS, chunks)):
                published = values[column]

                def check(
                    results, item=item, allocator=allocator, variants=variants, published=published
                ):
                    return published_ratio(results, item, allocator, variants, published)

                claim(
                    f"{kind}-{allocator}-{short}",
                    "Ouroboros",
                    "section 6.1.1",
                    item,
                    f"With {count} allocations {name} takes {published} times as long as queues of {kind}",
                    RULE,
                )(check)


add_ratios()


@claim(
    "pages-always",
    "Ouroboros",
    "section 6.1.1",
    "ouroboros-10k ouroboros-100k",
    "Queues of pages always outperform CUDA's allocator by far",
    "at every size, CUDA's allocator takes at least twice as long as each variant",
)
def _(results):
    values = [
        r
        for item in ("ouroboros-10k", "ouroboros-100k")
        for a in PAGES
        for r in ratios(results, item, "cuda", a, "payload_bytes", **EACH).values()
    ]
    return min(values) >= 2, f"{figure(min(values))} to {figure(max(values))} times"


@claim(
    "cuda-small",
    "Ouroboros",
    "section 6.1.1",
    "ouroboros-100k",
    "CUDA's allocator takes the same time for all sizes up to 64 bytes",
    "slowest over fastest median of 16, 32 and 64 bytes is at most 1.5, without frees",
)
def _(results):
    times = medians(results, "ouroboros-100k", "cuda", "payload_bytes", **EACH)
    values = [times[x] for x in (16, 32, 64) if x in times]
    need(len(values) == 3, "16, 32 and 64 bytes")
    return max(values) <= 1.5 * min(values), ", ".join(f"{figure(v)} ms" for v in values)


@claim(
    "cuda-growing",
    "Ouroboros",
    "section 6.1.1",
    "ouroboros-100k",
    "CUDA's allocator gets slower with the size from 64 bytes to 1 KiB",
    "the medians, without frees, grow from each size to the next",
)
def _(results):
    times = medians(results, "ouroboros-100k", "cuda", "payload_bytes", **EACH)
    values = [times[x] for x in (64, 128, 256, 512, 1024) if x in times]
    need(len(values) == 5, "all sizes from 64 bytes to 1 KiB")
    return values == sorted(values), ", ".join(f"{figure(v)} ms" for v in values)


@claim(
    "cuda-2k",
    "Ouroboros",
    "section 6.1.1",
    "ouroboros-100k",
    "CUDA's allocator is 110 to 160 times faster with 2048 bytes than with 1024",
    "the ratio of the medians, without frees, is in that range within a factor of 2",
)
def _(results):
    times = medians(results, "ouroboros-100k", "cuda", "payload_bytes", **EACH)
    need(1024 in times and 2048 in times, "1 and 2 KiB")
    value = times[1024] / times[2048]
    return 55 <= value <= 320, f"{figure(value)} times"


@claim(
    "virtual",
    "Ouroboros",
    "section 6.1.1",
    "ouroboros-10k ouroboros-100k",
    "Virtualized queues differ little from static ones",
    "the median over all sizes of the times of each virtualized variant, of pages and of chunks, over the static one is"
    " between 0.67 and 1.5",
)
def _(results):
    found = {
        a: median(
            [
                r
                for item in ("ouroboros-10k", "ouroboros-100k")
                for r in ratios(results, item, a, kind[0], "payload_bytes", **EACH).values()
            ]
        )
        for kind in (PAGES, CHUNKS)
        for a in kind[1:]
    }
    return all(0.67 <= v <= 1.5 for v in found.values()), ", ".join(
        f"{label(results, a)} {figure(v)}" for a, v in found.items()
    )


@claim(
    "scaling-pages",
    "Ouroboros",
    "section 6.1.2",
    "ouroboros-8k",
    "With 8 KiB, queues of pages are faster than ScatterAlloc, Halloc and CUDA's allocator",
    "each variant against all three, faster at 80% of the points that the 95% intervals decide, which are at least a quarter of all",
)
def _(results):
    pairs = [
        ("ouroboros-8k", variant, other, "threads", USED)
        for variant in PAGES
        for other in ("scatter", "halloc", "cuda")
    ]
    return usually_faster(results, pairs)


@claim(
    "scaling-scatter",
    "Ouroboros",
    "section 6.1.2",
    "ouroboros-8k",
    "With 8 KiB, ScatterAlloc is slower than CUDA's allocator",
    "slower at the most threads that both complete",
)
def _(results):
    values = ratios(results, "ouroboros-8k", "scatter", "cuda", "threads", **USED)
    threads = max(values)
    return values[threads] > 1, f"{figure(values[threads])} times CUDA's time with {threads} threads"


@claim(
    "scaling-small",
    "Ouroboros",
    "section 6.1.2",
    "ouroboros-32 ouroboros-128",
    "With 32 and 128 bytes, queues of pages are as fast as ScatterAlloc and Halloc",
    "the median ratio of the times of each variant to either is between 0.5 and 2",
)
def _(results):
    found = {
        (variant, other): median(
            [
                r
                for item in ("ouroboros-32", "ouroboros-128")
                for r in ratios(results, item, variant, other, "threads", **USED).values()
            ]
        )
        for variant in PAGES
        for other in ("scatter", "halloc")
    }
    return all(0.5 <= v <= 2 for v in found.values()), ", ".join(
        f"{label(results, a)} over {label(results, b)} {figure(v)}" for (a, b), v in found.items()
    )


@claim(
    "scaling-cuda",
    "Ouroboros",
    "section 6.1.2",
    "ouroboros-32 ouroboros-128 ouroboros-1k",
    "Up to 1 KiB CUDA's allocator is slower than all others",
    "with 10,000 threads or more, its median is above ScatterAlloc's, Halloc's and that of each variant",
)
def _(results):
    values = {}
    for item in ("ouroboros-32", "ouroboros-128", "ouroboros-1k"):
        for other in ("scatter", "halloc", *VARIANTS):
            for threads, r in ratios(results, item, "cuda", other, "threads", **USED).items():
                if threads >= 10000:
                    values[other] = min(r, values.get(other, r))
    need(values, "10,000 threads or more")
    worst = min(values, key=values.get)
    return (
        values[worst] > 1,
        f"at least {figure(values[worst])} times as slow ({label(results, worst)})",
    )


def first_over_later(results, allocators):
    """{allocator: median of the times in a fresh pool over those in a used one}"""
    found = {}
    for allocator in allocators:
        values = []
        for item in ("ouroboros-10k", "ouroboros-100k"):
            fresh, used = (
                medians(
                    results,
                    item,
                    allocator,
                    "payload_bytes",
                    y="allocate_ms",
                    test="alloc",
                    rounds=rounds,
                )
                for rounds in (1, 2)
            )
            values += [fresh[x] / used[x] for x in fresh.keys() & used.keys()]
        if values:
            found[allocator] = median(values)
    return need(found, "allocation in fresh and in used pools")


@claim(
    "reuse-faster",
    "Ouroboros",
    "section 6.1.1",
    "ouroboros-10k ouroboros-100k",
    "Ouroboros allocates faster from memory that was freed than at first use",
    "for each variant that was measured, the median over the sizes of the time in a fresh pool over that in a used one"
    " is at least 1.1",
)
def _(results):
    found = first_over_later(results, VARIANTS)
    return min(found.values()) >= 1.1, ", ".join(
        f"{label(results, a)} {figure(v)}" for a, v in found.items()
    )


@claim(
    "reuse-cuda",
    "Ouroboros",
    "section 6.1.1",
    "ouroboros-10k ouroboros-100k",
    "CUDA's allocator takes the same time for the first allocations as for later ones",
    "the median over the sizes of the time in a fresh heap over that in a used one is between 0.9 and 1.1",
    substituted=always(
        "the device's heap cannot be made fresh again: only the first case of a process uses it first"
    ),
)
def _(results):
    return None, ""


@claim(
    "cuda-growing-again",
    "Ouroboros",
    "section 6.1.1",
    "ouroboros-100k",
    "CUDA's allocator gets slower with the size again from 2 KiB on",
    "the medians grow from 2 to 4 and to 8 KiB",
)
def _(results):
    times = medians(results, "ouroboros-100k", "cuda", "payload_bytes", **EACH)
    values = [times[x] for x in (2048, 4096, 8192) if x in times]
    need(len(values) == 3, "2, 4 and 8 KiB")
    return values == sorted(values), ", ".join(f"{figure(v)} ms" for v in values)


@claim(
    "scaling-cuda-slows",
    "Ouroboros",
    "section 6.1.2",
    "ouroboros-32 ouroboros-128 ouroboros-1k ouroboros-8k",
    "CUDA's allocator slows down with the number of threads at every size",
    "at every size each median time per kernel with 1,000 threads or more is above that with a tenth of the threads",
)
def _(results):
    falls = []
    for item in ("ouroboros-32", "ouroboros-128", "ouroboros-1k", "ouroboros-8k"):
        times = medians(results, item, "cuda", "threads", **USED)
        steps = [(x, times[x] / times[x // 10]) for x in times if x >= 1000 and x // 10 in times]
        need(steps, f"CUDA's allocator in {item}")
        falls += [f"{item[10:]} with {x}" for x, ratio in steps if ratio <= 1]
    return not falls, f"not slower: {', '.join(falls)}" if falls else "slower at every step"


@claim(
    "chunks-cuda-small",
    "Ouroboros",
    "section 6.1.2",
    "ouroboros-32 ouroboros-128 ouroboros-1k",
    "Queues of chunks are faster than CUDA's allocator up to 1 KiB",
    "for each variant, faster at 80% of the points that the 95% intervals decide, which are at least a quarter of all",
)
def _(results):
    items = ("ouroboros-32", "ouroboros-128", "ouroboros-1k")
    return usually_faster(
        results, [(item, a, "cuda", "threads", USED) for item in items for a in CHUNKS]
    )
