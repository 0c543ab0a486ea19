# SPDX-License-Identifier: MIT
"""Ouroboros' claims about dynamic graphs (section 6.2). faimGraph's layout is the linked pages,
CudaAllocGraph is CudaMalloc behind the blocks, OuroGraph is Ouroboros behind them."""

import statistics

from .claims import CHUNKS, PAGES, claim, figure, label, need, range_text, within_factor
from .panels_graphs import by_graph, footprint, is_small_and_sparse, milliseconds
from .samples import geometric_mean


def init(results, allocator):
    """Times of one malloc per vertex, or of Ouroboros with counted classes."""
    how = "counted" if allocator in (*PAGES, *CHUNKS) else "each"
    return by_graph(results, "ouroboros-graph-init", allocator, milliseconds("init"), init=how)


def memory(results, allocator):
    return by_graph(results, "ouroboros-graph-memory", allocator, footprint)


def updates(results, allocator):
    """Insertion and deletion, with random sources and within 1,000 vertices."""
    time = milliseconds("insert", "delete")
    return {
        (graph, pattern): pair
        for pattern in ("random", "pressure")
        for graph, pair in by_graph(results, "ouroboros-graph-updates", allocator, time, updates=pattern).items()
    }


def phase(results, allocator, name):
    return by_graph(results, f"ouroboros-graph-{name}", allocator, milliseconds(name))


def ratios(first, second):
    """{graph: (ratio, result)} of two answers of by_graph()."""
    return {
        graph: (first[graph][0] / second[graph][0], first[graph][1])
        for graph in first
        if graph in second
    }


def values(pairs):
    return [value for value, _ in pairs.values()]


def lowest(found):
    """The lowest of several {graph: (figure, result)} at each graph."""
    best = {}
    for pairs in found:
        for graph, pair in pairs.items():
            best[graph] = min(best.get(graph, pair), pair, key=lambda one: one[0])
    return best


def over_pages(results, times, allocators):
    """{graph: (ratio, result)}: the best of the allocators over the linked pages."""
    pages = times(results, "pages")
    return need(
        lowest(ratios(times(results, a), pages) for a in allocators),
        "linked pages and " + " or ".join(label(results, a) for a in allocators),
    )


def parts(pairs):
    """The geometric means over small and sparse graphs, and over the others."""
    means = [
        geometric_mean(
            [value for value, row in pairs.values() if is_small_and_sparse(row) == small]
        )
        for small in (True, False)
    ]
    need(all(means), "smaller and sparser graphs, and larger or denser ones")
    return means


@claim()
def graph_init_cuda(results):
    cuda, pages = init(results, "cuda"), init(results, "pages")
    best = lowest(init(results, a) for a in PAGES)
    found = values(ratios(cuda, pages)) + values(ratios(cuda, best))
    value = statistics.fmean(need(found, "CudaMalloc beside linked pages and Ouroboros"))
    return within_factor(value, 1785), f"{figure(value)} times ({range_text(found)})"


@claim()
def graph_init_sparse(results):
    small, _ = parts(over_pages(results, init, (*PAGES, *CHUNKS)))
    return small > 1, f"{figure(small)} times the time of linked pages"


@claim()
def graph_init_dense(results):
    small, others = parts(over_pages(results, init, (*PAGES, *CHUNKS)))
    return others < small, f"{figure(small)} times, then {figure(others)} times"


@claim()
def graph_memory_virtual(results):
    found = [
        value
        for virtual in PAGES[1:]
        for other in (PAGES[0], "pages")
        for value in values(ratios(memory(results, virtual), memory(results, other)))
    ]
    need(found, "virtualized queues, the static one and linked pages")
    return max(found) < 1, f"{range_text(found)} times"


@claim()
def graph_memory_factor(results):
    pages = memory(results, "pages")
    found = [values(ratios(pages, memory(results, allocator))) for allocator in PAGES[1:]]
    means = [statistics.fmean(of) for of in found if of]
    need(means, "linked pages and virtualized queues")
    return all(23 / 2 <= value <= 64 for value in means), f"{range_text(means)} times"


@claim()
def graph_memory_large(results):
    pairs = ratios(memory(results, PAGES[0]), memory(results, "pages"))
    large = {g: value for g, (value, row) in pairs.items() if row["vertices"] > 2_000_000}
    need(large, "graphs of more than 2 million vertices")
    best = min(large, key=large.get)
    return (
        max(large.values()) < 1,
        f"{range_text(large.values())} times the memory of linked pages, least on {best}",
    )


@claim()
def graph_updates_sparse(results):
    small, _ = parts(over_pages(results, updates, PAGES))
    return small < 1, f"{figure(small)} times the time of linked pages"


@claim()
def graph_updates_dense(results):
    _, others = parts(over_pages(results, updates, PAGES))
    return others > 1, f"{figure(others)} times the time of linked pages"


@claim()
def graph_updates_chunks(results):
    found = values(over_pages(results, updates, CHUNKS))
    slower = sum(value > 1 for value in found)
    return slower >= 0.8 * len(found), f"slower on {slower} of {len(found)}, {range_text(found)}"


def cuda_over_slowest(results):
    """{(graph, pattern): (CudaMalloc's time over that of the next slowest, result)}"""
    cuda = updates(results, "cuda")
    others = ("pages", *PAGES, *CHUNKS)
    return need(
        lowest(ratios(cuda, updates(results, a)) for a in others),
        "CudaMalloc beside linked pages and Ouroboros",
    )


@claim()
def graph_updates_cuda(results):
    found = values(cuda_over_slowest(results))
    return min(found) > 1, f"{range_text(found)} times the next slowest"


@claim()
def graph_updates_cuda_large(results):
    found = [v for v, row in cuda_over_slowest(results).values() if row["vertices"] >= 1_000_000]
    need(found, "graphs of a million vertices or more")
    return min(found) >= 100, f"{range_text(found)} times"


def judge_algorithm(name, mean_gain, low, high):
    """Judges the claim about an algorithm whose published gains are these, in percent."""

    @claim(f"graph-{name}")
    def check(results):
        pairs = over_pages(results, lambda r, allocator: phase(r, allocator, name), PAGES)
        found = [100 * (1 / value - 1) for value in values(pairs)]
        mean = statistics.fmean(found)
        return (
            min(found) > 0 and within_factor(mean, mean_gain),
            f"{mean:.0f}% ({min(found):.0f} to {max(found):.0f}%; published {low} to {high})",
        )


judge_algorithm("pagerank", 50, 6, 100)
judge_algorithm("triangles", 80, 3, 200)
