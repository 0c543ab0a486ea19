# SPDX-License-Identifier: MIT
"""The panels of each item: tables and plots of its results. A new item is a line in PANELS."""

from functools import partial

from .panels_builds import builds, internal_of_builds, pool_over_build, rays
from .panels_builds import scatter_pages, share
from .panels_graphs import GRAPH_PANELS
from .panels_others import address_range, churn, each, exhausting, first_launches, latency, memory
from .panels_others import min_blocks, rcu, scaling, semaphores, utilization
from .panels_own import ablation, particles, pools, profile, strings
from .panels_regeff import calls_of_p, fragmentation, pages, properties, registers
from .plots import PAYLOAD, Parameter, axis, sampled_and_grid
from .figures import bytes_text


POOL = Parameter("pool_bytes", axis("size of the pool", sizes=True), bytes_text)
BLOCKS = Parameter("blocks", axis("blocks of 8 allocating threads"))
CYCLES = Parameter("iterations", axis("successive allocations per thread", log=False))


def generic(item, title, results, over=PAYLOAD, wanted=lambda row: True):
    """Panels of a generic test: a plot and its table per grid size."""
    blocks, rows = [], list(filter(wanted, results.rows(item)))
    grids = {None} if over.key == "blocks" else {row.get("blocks") for row in rows}
    for count in sorted(grids, key=lambda b: (b != 120, b or 0)):
        shown = [row for row in rows if count in (None, row.get("blocks"))]
        name = f"{title}, {count} blocks" if count else title
        blocks += sampled_and_grid(results, name, over, shown)
    return blocks


PANELS = {
    "regeff-t1": registers,
    "regeff-t2": calls_of_p,
    "regeff-3a": partial(generic, "regeff-3a", "Alloc Dealloc"),
    "regeff-3b": partial(generic, "regeff-3b", "Alloc Cycle Dealloc", over=POOL),
    "regeff-3c": partial(generic, "regeff-3c", "Alloc Cycle Dealloc", over=CYCLES),
    "regeff-3d": partial(generic, "regeff-3d", "Probability 3/4, 10 launches", over=BLOCKS),
    "regeff-3d-quarter": partial(
        generic, "regeff-3d-quarter", "Probability 1/4, 10 launches", over=BLOCKS
    ),
    "regeff-coalesced": partial(generic, "regeff-coalesced", "Alloc Dealloc, coalesced"),
    "regeff-heap": partial(
        generic, "regeff-heap", "Alloc Cycle Dealloc, heaps of the pool's size", over=POOL
    ),
    "regeff-slabs": partial(
        generic, "regeff-slabs", "Alloc Cycle Dealloc, slabs of 4 MiB", over=POOL
    ),
    "regeff-multiprocessors": partial(
        generic,
        "regeff-multiprocessors",
        "Alloc Dealloc on 72 multiprocessors",
        wanted=lambda row: " multiprocessors=" in row["key"],
    ),
    "regeff-large": partial(
        generic, "regeff-large", "Alloc Dealloc, large requests from the device's malloc"
    ),
    "regeff-t3-pages": partial(scatter_pages, "regeff-t3-pages", "regeff-t3"),
    "regeff-t4-pages": partial(scatter_pages, "regeff-t4-pages", "regeff-t4"),
    "regeff-recorded": internal_of_builds,
    "regeff-4": pages,
    "regeff-t3": partial(builds, "regeff-t3", "atomic"),
    "regeff-t4": partial(builds, "regeff-t4", "halloc"),
    "regeff-t5": properties,
    "regeff-5a": partial(
        fragmentation, "regeff-5a", "peak", "internal", "Internal fragmentation, all blocks in use"
    ),
    "regeff-5b": partial(
        fragmentation, "regeff-5b", "end", "external", "External fragmentation, all blocks freed"
    ),
    "regeff-uniform": partial(
        fragmentation,
        "regeff-uniform",
        "end",
        "external",
        "External fragmentation, all blocks freed, chunks of one size at first",
    ),
    "ouroboros-10k": partial(each, "ouroboros-10k"),
    "ouroboros-100k": partial(each, "ouroboros-100k"),
    **{
        item: partial(scaling, item)
        for item in ("ouroboros-32", "ouroboros-128", "ouroboros-1k", "ouroboros-8k")
    },
    "ouroboros-range": address_range,
    "ouroboros-churn": churn,
    "ouroboros-utilization": partial(utilization, "ouroboros-utilization"),
    "ouroboros-first": first_launches,
    "ouroboros-heap": partial(utilization, "ouroboros-heap"),
    **GRAPH_PANELS,
    "bulk-5": semaphores,
    "bulk-6": rcu,
    "bulk-7": partial(exhausting, "bulk-7"),
    "bulk-heap": partial(exhausting, "bulk-heap"),
    "host-3": latency,
    "host-4": memory,
    "host-minimum": min_blocks,
    "own-triangles": partial(builds, "own-triangles", "atomic"),
    "own-slowdown": partial(builds, "own-slowdown", "atomic"),
    "own-share": share,
    "own-ablation": ablation,
    "own-pools": pools,
    "own-profile": profile,
    "own-pool": pool_over_build,
    "own-trace": rays,
    "own-strings": strings,
    "own-particles": particles,
}
