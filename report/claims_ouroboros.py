# SPDX-License-Identifier: MIT
"""Ouroboros' claims about allocation (sections 6.1.1 to 6.1.3)."""

import statistics

from .claims import (
    CHUNKS,
    PAGES,
    NotMeasured,
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

EACH = {"test": "alloc"}


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
    "the mean over the sizes of the ratio of the median times, averaged over the variants, is within a factor of 2 of"
    " that"
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
    times = medians(results, "ouroboros-100k", "cuda", "payload_bytes", y="allocate_ms", **EACH)
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
    times = medians(results, "ouroboros-100k", "cuda", "payload_bytes", y="allocate_ms", **EACH)
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
    times = medians(results, "ouroboros-100k", "cuda", "payload_bytes", y="allocate_ms", **EACH)
    need(1024 in times and 2048 in times, "1 and 2 KiB")
    value = times[1024] / times[2048]
    return 55 <= value <= 320, f"{figure(value)} times"


@claim(
    "virtual",
    "Ouroboros",
    "section 6.1.1",
    "ouroboros-10k ouroboros-100k",
    "Virtualized queues differ little from static ones",
    "the median over all sizes of the times of either virtualized variant over the static one is between 0.67 and 1.5",
)
def _(results):
    found = {
        a: median(
            [
                r
                for item in ("ouroboros-10k", "ouroboros-100k")
                for r in ratios(results, item, a, PAGES[0], "payload_bytes", **EACH).values()
            ]
        )
        for a in PAGES[1:]
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
    "against all three, faster at 80% of the points that the 95% intervals decide, which are at least a quarter of all",
)
def _(results):
    pairs = [
        ("ouroboros-8k", PAGES[0], other, "threads", {}) for other in ("scatter", "halloc", "cuda")
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
    values = ratios(results, "ouroboros-8k", "scatter", "cuda", "threads")
    most = max(values)
    return values[most] > 1, f"{figure(values[most])} times CUDA's time with {most} threads"


@claim(
    "scaling-small",
    "Ouroboros",
    "section 6.1.2",
    "ouroboros-32 ouroboros-128",
    "With 32 and 128 bytes, queues of pages are as fast as ScatterAlloc and Halloc",
    "the median ratio of the times of Ouroboros-P-S to either is between 0.5 and 2",
)
def _(results):
    found = {
        other: median(
            [
                r
                for item in ("ouroboros-32", "ouroboros-128")
                for r in ratios(results, item, PAGES[0], other, "threads").values()
            ]
        )
        for other in ("scatter", "halloc")
    }
    return all(0.5 <= v <= 2 for v in found.values()), ", ".join(
        f"over {label(results, a)} {figure(v)}" for a, v in found.items()
    )


@claim(
    "scaling-cuda",
    "Ouroboros",
    "section 6.1.2",
    "ouroboros-32 ouroboros-128 ouroboros-1k",
    "Up to 1 KiB CUDA's allocator is slower than all others",
    "with 10,000 threads or more, its median is above ScatterAlloc's, Halloc's and that of each queue of pages",
)
def _(results):
    values = {}
    for item in ("ouroboros-32", "ouroboros-128", "ouroboros-1k"):
        for other in ("scatter", "halloc", *PAGES):
            for threads, r in ratios(results, item, "cuda", other, "threads").items():
                if threads >= 10000:
                    values[other] = min(r, values.get(other, r))
    need(values, "10,000 threads or more")
    worst = min(values, key=values.get)
    return (
        values[worst] > 1,
        f"at least {figure(values[worst])} times as slow ({label(results, worst)})",
    )


@claim(
    "range-tight",
    "Ouroboros",
    "section 6.1.3, figure 3",
    "ouroboros-range",
    "Ouroboros' address range stays very close to the requested bytes",
    "at every size the range of the first iteration is at most 1.5 times the bytes requested, for each variant",
    needs="full",
)
def _(results):
    values = {}
    for allocator in PAGES:
        for row in results.rows("ouroboros-range", allocator):
            got = row.get("space", {}).get("first_address_bytes")
            if got:
                values[(allocator, row["payload_bytes"])] = got / (
                    row["threads"] * row["request_bytes"]
                )
    worst = max(need(values, "address ranges"), key=values.get)
    return (
        values[worst] <= 1.5,
        f"at most {figure(values[worst])} times ({label(results, worst[0])}, {worst[1]} bytes)",
    )


@claim(
    "range-scatter",
    "Ouroboros",
    "section 6.1.3, figure 3",
    "ouroboros-range",
    "ScatterAlloc's addresses are far apart even for small requests",
    "with 16 bytes its range is at least 10 times the bytes requested",
    needs="full",
)
def _(results):
    rows = [
        row
        for row in results.rows("ouroboros-range", "scatter", payload_bytes=16)
        if row.get("space", {}).get("first_address_bytes")
    ]
    need(rows, "ScatterAlloc with 16 bytes")
    value = rows[0]["space"]["first_address_bytes"] / (rows[0]["threads"] * 16)
    return value >= 10, f"{figure(value)} times"


def utilization(results):
    found = {
        row["allocator"]: row["space"]["utilization"]
        for row in results.rows("ouroboros-utilization")
        if row["status"] == "ok" and row.get("space", {}).get("utilization") is not None
    }
    return need(found, "a pool that was filled before the time limit")


@claim(
    "utilization",
    "Ouroboros",
    "section 6.1.3",
    "ouroboros-utilization",
    "Ouroboros allocates 98.35% of the memory in blocks of 16 bytes",
    "the best variant allocates at least 95%",
    needs="full",
)
def _(results):
    use = utilization(results)
    values = need({a: use[a] for a in (*PAGES, *CHUNKS) if a in use}, "Ouroboros")
    best = max(values, key=values.get)
    return values[best] >= 0.95, f"{100 * values[best]:.1f}% ({label(results, best)})"


@claim(
    "utilization-order",
    "Ouroboros",
    "section 6.1.3",
    "ouroboros-utilization",
    "Ouroboros allocates a larger share than ScatterAlloc, ScatterAlloc a larger one than Halloc",
    "the shares are in that order",
    needs="full",
)
def _(results):
    use = utilization(results)
    need(all(a in use for a in (PAGES[0], "scatter", "halloc")), "all three")
    best = max(use[a] for a in (*PAGES, *CHUNKS) if a in use)
    return (
        best > use["scatter"] > use["halloc"],
        f"{100 * best:.1f}%, {100 * use['scatter']:.1f}%, {100 * use['halloc']:.1f}%",
    )


@claim(
    "utilization-cuda",
    "Ouroboros",
    "section 6.1.3",
    "ouroboros-utilization",
    "CUDA's allocator allocates only 17.2%",
    "at most 30%, and the test ended before its time limit",
)
def _(results):
    rows = need(
        [row for row in results.rows("ouroboros-utilization", "cuda") if "space" in row],
        "CUDA's allocator",
    )
    value = rows[0]["space"].get("utilization", 0)
    if rows[0]["status"] != "ok":
        return (
            (False, f"{100 * value:.1f}% at the time limit")
            if value > 0.3
            else (None, f"{100 * value:.1f}% at the time limit")
        )
    return value <= 0.3, f"{100 * value:.1f}%"


def churn_result(results, allocator, to_the_end=True):
    """The churn result of an allocator; to_the_end: only if a refused request ended it."""
    rows = [
        row
        for row in results.rows("ouroboros-churn", allocator)
        if row.get("space", {}).get("iterations") is not None
        and (row["status"] == "ok" or not to_the_end)
    ]
    need(rows, label(results, allocator) + (" until memory is exhausted" if to_the_end else ""))
    return rows[0]


@claim(
    "churn-lasts",
    "Ouroboros",
    "section 6.1.3, figure 3",
    "ouroboros-churn",
    "While half of the blocks are freed, Ouroboros outlasts ScatterAlloc, and ScatterAlloc outlasts Halloc",
    "iterations until the first refusal are in that order, for the best variant",
    needs="full",
)
def _(results):
    best = max(churn_result(results, a)["space"]["iterations"] for a in PAGES)
    scatter, halloc = (
        churn_result(results, a)["space"]["iterations"] for a in ("scatter", "halloc")
    )
    return best > scatter > halloc, f"{best:.0f}, {scatter:.0f} and {halloc:.0f} iterations"


@claim(
    "churn-cuda",
    "Ouroboros",
    "section 6.1.3, figure 3",
    "ouroboros-churn",
    "CUDA's allocator gets slower with every iteration",
    "the last complete iteration takes at least twice as long as the median one",
)
def _(results):
    space = churn_result(results, "cuda", to_the_end=False)["space"]
    need("last_ms" in space, "iterations of CUDA's allocator")
    return (
        space["last_ms"] >= 2 * space["iteration_ms"],
        f"median {figure(space['iteration_ms'])} ms, last {figure(space['last_ms'])} ms",
    )


@claim(
    "churn-steady",
    "Ouroboros",
    "section 6.1.3, figure 3",
    "ouroboros-churn",
    "Ouroboros and Halloc keep their speed to the end",
    "the last complete iteration takes at most twice as long as the median one, for Halloc and each queue of pages",
)
def _(results):
    found = {}
    for allocator in ("halloc", *PAGES):
        space = churn_result(results, allocator)["space"]
        need("last_ms" in space, "iterations")
        found[allocator] = space["last_ms"] / space["iteration_ms"]
    return max(found.values()) <= 2, ", ".join(
        f"{label(results, a)} {figure(v)}" for a, v in found.items()
    )
