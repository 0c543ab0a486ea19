# SPDX-License-Identifier: MIT
"""Ouroboros' claim about PageRank on dynamic graphs (section 6.2.3). faimGraph's layout is the linked
pages; the blocks have OuroGraph's, whichever allocator they come from."""

import statistics

from .claims import PAGES, claim, need, within_factor
from .panels_graphs import by_graph, milliseconds


@claim()
def graph_pagerank(results):
    def times(allocator):
        found = by_graph(results, "ouroboros-graph-pagerank", allocator, milliseconds("pagerank"))
        return {graph: ms for graph, (ms, _) in found.items()}

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
