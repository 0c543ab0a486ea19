# SPDX-License-Identifier: MIT
"""The panels of each item: tables and plots of its results. A new item is a line in PANELS."""

from .cells import grid, row_median
from .plots import PAYLOAD, TIME, axis, sampled
from .properties import properties
from .panels_ablation import ablation
from .panels_builds import (
    builders,
    builds,
    internal_of_builds,
    pool_over_build,
    rays,
    scatter_pages,
    share,
)
from .panels_graphs import graph_init, graph_memory, graph_page_rank, graph_triangles, graph_updates
from .panels_host import latency, memory
from .panels_pools import pools
from .panels_profile import profile
from .panels_others import (
    address_range,
    churn,
    each,
    exhausting,
    rcu,
    scaling,
    semaphores,
    utilization,
)
from .panels_regeff import registers, calls_of_p, pages, fragmentation
from .text import bytes_text


def generic(item, x, x_axis, x_text, title, **settings):
    """Panels of a generic test over one parameter: a plot and its table per grid size."""

    def panels(results):
        blocks = []
        grids = sorted(
            {row.get("blocks") for row in results.rows(item, **settings)},
            key=lambda b: (b != 120, b or 0),
        )
        for count in [None] if x == "blocks" else grids:
            rows = [
                row
                for row in results.rows(item, **settings)
                if count is None or row.get("blocks") == count
            ]
            name = f"{title}, {count} blocks" if count else title
            blocks += [
                sampled(results, name, x_axis, TIME, rows, x),
                grid(results, name, "ms", rows, x, row_median, x_text),
            ]
        return blocks

    return panels


def probability(item, chance):
    return generic(
        item,
        "blocks",
        axis("blocks of 8 allocating threads"),
        str,
        f"Probability {chance}, 10 launches",
    )


PANELS = {
    "regeff-t1": registers,
    "regeff-t2": calls_of_p,
    "regeff-3a": generic("regeff-3a", "payload_bytes", PAYLOAD, bytes_text, "Alloc Dealloc"),
    "regeff-3b": generic(
        "regeff-3b",
        "pool_bytes",
        axis("size of the pool", sizes=True),
        bytes_text,
        "Alloc Cycle Dealloc",
    ),
    "regeff-3c": generic(
        "regeff-3c",
        "iterations",
        axis("successive allocations per thread", log=False),
        str,
        "Alloc Cycle Dealloc",
    ),
    "regeff-3d": probability("regeff-3d", "3/4"),
    "regeff-3d-quarter": probability("regeff-3d-quarter", "1/4"),
    "regeff-coalesced": generic(
        "regeff-coalesced", "payload_bytes", PAYLOAD, bytes_text, "Alloc Dealloc, coalesced"
    ),
    "regeff-large": generic(
        "regeff-large",
        "payload_bytes",
        PAYLOAD,
        bytes_text,
        "Alloc Dealloc, large requests from the device's malloc",
    ),
    "regeff-t3-pages": scatter_pages("regeff-t3-pages", "regeff-t3"),
    "regeff-t4-pages": scatter_pages("regeff-t4-pages", "regeff-t4"),
    "regeff-recorded": internal_of_builds,
    "regeff-4": pages,
    "regeff-t3": builds("regeff-t3", "atomic"),
    "regeff-t4": builds("regeff-t4", "halloc"),
    "regeff-t5": properties,
    "regeff-5a": fragmentation(
        "regeff-5a", "peak", "internal_fragmentation", "Internal fragmentation, all blocks in use"
    ),
    "regeff-5b": fragmentation(
        "regeff-5b", "end", "external_fragmentation", "External fragmentation, all blocks freed"
    ),
    "regeff-uniform": fragmentation(
        "regeff-uniform",
        "end",
        "external_fragmentation",
        "External fragmentation, all blocks freed, chunks of one size at first",
    ),
    "ouroboros-10k": each("ouroboros-10k"),
    "ouroboros-100k": each("ouroboros-100k"),
    **{
        item: scaling(item)
        for item in ("ouroboros-32", "ouroboros-128", "ouroboros-1k", "ouroboros-8k")
    },
    "ouroboros-range": address_range,
    "ouroboros-churn": churn,
    "ouroboros-utilization": utilization,
    "ouroboros-graph-init": graph_init,
    "ouroboros-graph-memory": graph_memory,
    "ouroboros-graph-updates": graph_updates,
    "ouroboros-graph-pagerank": graph_page_rank,
    "ouroboros-graph-triangles": graph_triangles,
    "bulk-5": semaphores,
    "bulk-6": rcu,
    "bulk-7": exhausting,
    "host-3": latency,
    "host-4": memory,
    "own-triangles": builds("own-triangles", "atomic"),
    "own-builder": builders,
    "own-slowdown": builds("own-slowdown", "atomic"),
    "own-share": share,
    "own-ablation": ablation,
    "own-pools": pools,
    "own-profile": profile,
    "own-pool": pool_over_build,
    "own-trace": rays,
}
