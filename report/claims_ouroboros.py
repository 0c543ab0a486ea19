# SPDX-License-Identifier: MIT
"""Ouroboros' claims about the time of allocation (sections 6.1.1 and 6.1.2), about memory (6.1.3),
about what its queues and its initialization cost, and about PageRank on dynamic graphs (6.2.3).

The paper times allocations, as means of 100 runs. All of these but the first reuse freed pages, so
the claims are judged by the kernel that allocates, in its second round in one pool."""

import statistics

from .claims import CHUNKS, HALLOC, PAGES
from .claims import all_ratios, claim, each_text, figure, if_measured, label, median_between
from .claims import medians, need, range_text, ratios, usually_faster, within_factor
from .figures import bytes_text, median
from .panels_graphs import samples

VARIANTS = (*PAGES, *CHUNKS)
WHOLE_POOL = ("scatter-builtin", HALLOC)  # their small blocks may have the whole pool, as published
USED = {"y": "allocate_ms", "rounds": 2}  # allocations from a pool with freed pages
EACH = {"test": "alloc", **USED}
SIZES = ("ouroboros-10k", "ouroboros-100k")
THREADS = ("ouroboros-32", "ouroboros-128", "ouroboros-1k", "ouroboros-8k")


def judge_ratio(item, allocator, kind, variants, ratio):
    """Judges the claim that this allocator takes `ratio` times as long as queues of this kind."""

    @claim(f"{kind}-{allocator.split('-')[0]}-{item.removeprefix('ouroboros-')}")
    def check(results):
        def mean(variant, largest):
            points = ratios(results, item, allocator, variant, "payload_bytes", **EACH)
            return statistics.fmean(r for size, r in points.items() if size <= largest)

        names = " or ".join(label(results, a) for a in variants)
        found = if_measured(lambda a: (mean(a, 8192), mean(a, 2048)), variants)
        need(found, f"{label(results, allocator)} and {names}")
        value, small = (statistics.fmean(of) for of in zip(*found.values()))
        return within_factor(value, ratio), f"{figure(value)} times, {figure(small)} up to 2 KiB"


for one, of_pages, of_chunks in (
    ("cuda", (163, 274), (15, 18)),
    (HALLOC, (1.68, 1.74), (0.15, 0.16)),
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
    return max(values) <= 1.5 * min(values), f"{milliseconds_text(values)} with 16, 32, 64 bytes"


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
    return all(0.67 <= v <= 1.5 for v in found.values()), f"{each_text(results, found)} times"


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
def reuse_cuda(results):
    samples = [row.get("allocate_ms") or [] for row in results.rows("ouroboros-first", "cuda")]
    values = need([of[0] / median(of[1:]) for of in samples if len(of) > 1], "later launches")
    return median_between(0.9, 1.1, values)


@claim()
def reuse_faster(results):
    found = if_measured(lambda a: first_over_later(results, a), VARIANTS)
    need(found, "allocation in fresh and in used pools")
    return min(found.values()) >= 1.1, f"{each_text(results, found)} times"


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


def ranges(results, allocator):
    """{payload: address range of the first iteration over the bytes requested}"""
    return {
        row["payload_bytes"]: row["space"]["first_address_bytes"]
        / (row["threads"] * row["request_bytes"])
        for row in results.rows("ouroboros-range", allocator)
        if row.get("space", {}).get("first_address_bytes")
    }


@claim()
def range_tight(results):
    values = {(a, size): v for a in VARIANTS for size, v in ranges(results, a).items()}
    worst = max(need(values, "address ranges"), key=values.get)
    return (
        values[worst] <= 1.5,
        f"at most {figure(values[worst])} times ({label(results, worst[0])}, {worst[1]} bytes)",
    )


@claim()
def range_scatter(results):
    value = need(ranges(results, "scatter").get(16), "ScatterAlloc with 16 bytes")
    return value >= 10, f"{figure(value)} times"


def shares(results):
    found = {
        row["allocator"]: row["space"]["utilization"]
        for row in results.rows("ouroboros-utilization")
        if row["status"] == "ok" and row.get("space", {}).get("utilization") is not None
    }
    return need(found, "a pool that was filled before the time limit")


@claim()
def utilization(results):
    use = shares(results)
    values = need({a: use[a] for a in VARIANTS if a in use}, "Ouroboros")
    worst = min(values, key=values.get)
    return (
        values[worst] >= 0.95,
        f"{100 * values[worst]:.1f}% ({label(results, worst)}) to {100 * max(values.values()):.1f}%",
    )


@claim()
def utilization_order(results):
    use = shares(results)
    need(all(a in use for a in (PAGES[0], *WHOLE_POOL)), "all three, with the whole pool for small blocks")
    in_order = (max(use[a] for a in VARIANTS if a in use), *(use[a] for a in WHOLE_POOL))
    return (
        in_order[0] > in_order[1] > in_order[2],
        ", ".join(f"{100 * share:.1f}%" for share in in_order),
    )


@claim()
def utilization_cuda(results):
    rows = results.rows("ouroboros-heap", "cuda")
    row = need([row for row in rows if "space" in row], "CUDA's allocator")[0]
    value = row["space"].get("utilization", 0)
    if row["status"] != "ok":
        return False if value > 0.3 else None, f"{100 * value:.1f}% at the time limit"
    return value <= 0.3, f"{100 * value:.1f}%"


def churn(results, allocator, to_the_end=True):
    """The churn result of an allocator; to_the_end: only if a refused request ended it."""
    rows = [
        row
        for row in results.rows("ouroboros-churn", allocator)
        if row.get("space", {}).get("iterations") is not None
        and (row["status"] == "ok" or not to_the_end)
    ]
    need(rows, label(results, allocator) + (" until memory is exhausted" if to_the_end else ""))
    return rows[0]["space"]


@claim()
def churn_lasts(results):
    worst = min(churn(results, a)["iterations"] for a in VARIANTS)
    scatter, halloc = (churn(results, a)["iterations"] for a in WHOLE_POOL)
    return (
        worst > scatter > halloc,
        f"at least {worst:.0f}, {scatter:.0f} and {halloc:.0f} iterations",
    )


@claim()
def churn_cuda(results):
    steps = churn(results, "cuda", to_the_end=False).get("steps") or [[]]
    times = [step["ms"] for step in steps[0]]
    need(len(times) >= 10, "ten iterations of CUDA's allocator")
    trend = statistics.correlation(range(len(times)), times)
    return trend >= 0.9 and times[-1] >= 2 * times[0], (
        f"{figure(times[0])} ms, then {figure(times[-1])} ms at iteration {len(times)}; correlation"
        f" with its number {trend:.2f}"
    )


@claim()
def churn_steady(results):
    found = {}
    for allocator in (HALLOC, *VARIANTS):
        space = churn(results, allocator)
        need("last_ms" in space, "iterations")
        found[allocator] = space["last_ms"] / space["iteration_ms"]
    return max(found.values()) <= 2, f"{each_text(results, found)} times"


# Section 6.2.3: faimGraph's layout is the linked pages; the blocks have OuroGraph's, whichever
# allocator they come from.
@claim()
def graph_pagerank(results):
    def times(allocator):
        return {
            row["graph"]: median(samples(row, "pagerank"))
            for row in results.rows("ouroboros-graph-pagerank", allocator)
            if row.get("status") == "ok" and samples(row, "pagerank")
        }

    linked, blocks = times("pages"), [times(allocator) for allocator in PAGES]
    gains = [
        100 * (ms / min(of[graph] for of in blocks if graph in of) - 1)
        for graph, ms in linked.items()
        if any(graph in of for of in blocks)
    ]
    mean = statistics.fmean(need(gains, "linked pages and queues of pages"))
    return min(gains) > 0 and within_factor(mean, 50), (
        f"{mean:.0f}% ({min(gains):.0f} to {max(gains):.0f}%)"
    )
