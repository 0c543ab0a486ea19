# SPDX-License-Identifier: MIT
"""Ouroboros' claims about dynamic graphs (section 6.2). faimGraph's layout is the linked pages,
CudaAllocGraph is CudaMalloc behind the blocks, OuroGraph is Ouroboros behind them."""

import statistics

from .claims import CHUNKS, PAGES, add_claim, claim, figure, label, need, range_text, within_factor
from .graphs import by_graph, footprint, is_small_and_sparse, milliseconds
from .samples import geometric_mean


def source(where, name):
    return ("Ouroboros", f"section {where}", f"ouroboros-graph-{name}")


INIT = source("6.2.1, figure 4", "init")
MEMORY = source("6.2.1, figure 4", "memory")
UPDATES = source("6.2.2, figure 4", "updates")


def init(results, allocator):
    """Times of one malloc per vertex, or of Ouroboros with counted classes."""
    how = "counted" if allocator in (*PAGES, *CHUNKS) else "each"
    return by_graph(results, INIT[2], allocator, milliseconds("init"), init=how)


def memory(results, allocator):
    return by_graph(results, MEMORY[2], allocator, footprint)


def updates(results, allocator):
    """Insertion and deletion, with random sources and within 1,000 vertices."""
    time = milliseconds("insert", "delete")
    return {
        (graph, pattern): pair
        for pattern in ("random", "pressure")
        for graph, pair in by_graph(results, UPDATES[2], allocator, time, updates=pattern).items()
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


@claim(INIT)
def graph_init_cuda(results):
    """faimGraph and OuroGraph initialize 1785 times faster than CudaAllocGraph on average.
    Rule: the mean over the graphs of CudaMalloc's time over that of the linked pages and of the
    best queue of pages with counted classes is within a factor of 2 of that."""
    cuda, pages = init(results, "cuda"), init(results, "pages")
    best = lowest(init(results, a) for a in PAGES)
    found = values(ratios(cuda, pages)) + values(ratios(cuda, best))
    value = statistics.fmean(need(found, "CudaMalloc beside linked pages and Ouroboros"))
    return within_factor(value, 1785), f"{figure(value)} times ({range_text(found)})"


@claim(INIT)
def graph_init_sparse(results):
    """On smaller and sparser graphs faimGraph initializes faster than OuroGraph.
    Rule: on graphs of up to 2 million vertices and a mean degree below 10, linked pages are faster
    than the best queue of pages or chunks with counted classes, by the geometric mean."""
    small, _ = parts(over_pages(results, init, (*PAGES, *CHUNKS)))
    return small > 1, f"{figure(small)} times the time of linked pages"


@claim(INIT)
def graph_init_dense(results):
    """On denser or larger graphs that difference shrinks or reverses.
    Rule: the same geometric mean over the other graphs is lower."""
    small, others = parts(over_pages(results, init, (*PAGES, *CHUNKS)))
    return others < small, f"{figure(small)} times, then {figure(others)} times"


@claim(MEMORY, needs="full")
def graph_memory_virtual(results):
    """Both virtualized variants need less memory than the standard one and faimGraph in all cases.
    Rule: on every graph the vertex table, memory in use and tables of Ouroboros-P-VA and -P-VL are
    smaller than those of Ouroboros-P-S and of linked pages."""
    found = [
        value
        for virtual in PAGES[1:]
        for other in (PAGES[0], "pages")
        for value in values(ratios(memory(results, virtual), memory(results, other)))
    ]
    need(found, "virtualized queues, the static one and linked pages")
    return max(found) < 1, f"{range_text(found)} times"


@claim(MEMORY, needs="full")
def graph_memory_factor(results):
    """The virtualized variants need 23 to 32 times less memory than faimGraph on average.
    Rule: the mean over the graphs of the linked pages' memory over theirs is in that range within a
    factor of 2."""
    pages = memory(results, "pages")
    found = [values(ratios(pages, memory(results, allocator))) for allocator in PAGES[1:]]
    means = [statistics.fmean(of) for of in found if of]
    need(means, "linked pages and virtualized queues")
    return all(23 / 2 <= value <= 64 for value in means), f"{range_text(means)} times"


@claim(MEMORY, needs="full")
def graph_memory_large(results):
    """On larger, especially sparser graphs standard OuroGraph needs less memory than faimGraph.
    Rule: on every graph of more than 2 million vertices Ouroboros-P-S needs less than linked
    pages."""
    pairs = ratios(memory(results, PAGES[0]), memory(results, "pages"))
    large = {g: value for g, (value, row) in pairs.items() if row["vertices"] > 2_000_000}
    need(large, "graphs of more than 2 million vertices")
    best = min(large, key=large.get)
    return (
        max(large.values()) < 1,
        f"{range_text(large.values())} times the memory of linked pages, least on {best}",
    )


@claim(UPDATES)
def graph_updates_sparse(results):
    """On smaller and sparse graphs queues of pages update faster than faimGraph.
    Rule: insertion and deletion with the best queue of pages over linked pages, on graphs of up to
    2 million vertices and a mean degree below 10: the geometric mean is below 1."""
    small, _ = parts(over_pages(results, updates, PAGES))
    return small < 1, f"{figure(small)} times the time of linked pages"


@claim(UPDATES)
def graph_updates_dense(results):
    """On denser and larger graphs faimGraph updates faster.
    Rule: the same geometric mean over the other graphs is above 1."""
    _, others = parts(over_pages(results, updates, PAGES))
    return others > 1, f"{figure(others)} times the time of linked pages"


@claim(UPDATES)
def graph_updates_chunks(results):
    """Queues of chunks update slower than faimGraph.
    Rule: insertion and deletion with the best queue of chunks takes longer than with linked pages
    on 80% of the graphs and patterns."""
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


@claim(UPDATES)
def graph_updates_cuda(results):
    """CudaAllocGraph updates slowest in all cases.
    Rule: on every graph, random and pressure, CudaMalloc takes longer than linked pages and every
    variant of Ouroboros."""
    found = values(cuda_over_slowest(results))
    return min(found) > 1, f"{range_text(found)} times the next slowest"


@claim(UPDATES)
def graph_updates_cuda_large(results):
    """On larger graphs CudaAllocGraph is orders of magnitude slower.
    Rule: on graphs of a million vertices or more CudaMalloc takes at least 100 times as long as the
    next slowest."""
    found = [v for v, row in cuda_over_slowest(results).values() if row["vertices"] >= 1_000_000]
    need(found, "graphs of a million vertices or more")
    return min(found) >= 100, f"{range_text(found)} times"


def add_algorithm(name, section, what, published, low, high):
    def check(results):
        pairs = over_pages(results, lambda r, allocator: phase(r, allocator, name), PAGES)
        found = [100 * (1 / value - 1) for value in values(pairs)]
        mean = statistics.fmean(found)
        return (
            min(found) > 0 and within_factor(mean, published),
            f"{mean:.0f}% ({min(found):.0f} to {max(found):.0f}%; published {low} to {high})",
        )

    add_claim(
        f"graph-{name}",
        source(f"6.2.3, {section}", name),
        f"{what} is {low} to {high}% faster with contiguous adjacencies than with faimGraph's,"
        f" {published}% on average",
        "faster on every graph with the best queue of pages than with linked pages, and the mean gain"
        " is within a factor of 2 of that",
        check,
    )


add_algorithm("pagerank", "PageRank", "PageRank", 50, 6, 100)
add_algorithm("triangles", "STC", "Counting triangles", 80, 3, 200)
