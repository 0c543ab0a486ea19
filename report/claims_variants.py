# SPDX-License-Identifier: MIT
"""RegEff's claims about variants and settings of the allocators."""

from .claims import (
    CMALLOC,
    REGEFF_FULL,
    NotMeasured,
    NotTestable,
    always,
    claim,
    duels,
    label,
    median,
    need,
    needs_lists,
    series,
)
from .samples import ratio_interval
from .text import figure

P120 = {"blocks": 120}


@claim(
    "coalescing-time",
    "RegEff",
    "section 6, test considerations",
    "regeff-3a regeff-coalesced",
    "Where one lane of a warp allocates, coalescing costs no time",
    "for no allocator of the paper is the median over the payloads of the time with the coalescing adaptor over that"
    " without it above 1.05",
)
def _(results):
    found = {}
    for allocator in ("atomic", "awmalloc", *REGEFF_FULL):
        plain = series(results, "regeff-3a", allocator, "payload_bytes", **P120)
        joined = series(results, "regeff-coalesced", allocator, "payload_bytes", **P120)
        ratios = [median(joined[x]) / median(plain[x]) for x in plain.keys() & joined.keys()]
        if ratios:
            found[allocator] = median(ratios)
    worst = max(need(found, "both forms of an allocator"), key=found.get)
    return (
        found[worst] <= 1.05,
        f"{figure(min(found.values()))} to {figure(found[worst])} ({label(results, worst)})",
    )


@claim(
    "presplit-uniform",
    "RegEff",
    "section 8",
    "regeff-uniform",
    "With a pre-split into chunks of one size, external fragmentation of CMalloc is very close to 1",
    "at least 0.95 at every payload after Alloc Dealloc with a uniform pre-split",
    needs="full",
    substituted=needs_lists,
)
def _(results):
    values = need(
        [
            row["memory"]["end"]["external_fragmentation"]
            for row in results.rows("regeff-uniform", CMALLOC, presplit="uniform")
            if "external_fragmentation" in row.get("memory", {}).get("end", {})
        ],
        "fragmentation with a uniform pre-split",
    )
    return min(values) >= 0.95, f"{min(values):.3f} to {max(values):.3f}"


@claim(
    "doubly-linked",
    "RegEff",
    "section 5.2",
    "regeff-3a",
    "A doubly linked list is slightly slower than a singly linked one",
    "the doubly linked CMalloc is slower at more points than it is faster, by the 95% intervals, and at most 1.5 times",
    substituted=needs_lists,
)
def _(results):
    doubly = "cmalloc-doubly"
    if doubly not in results.labels():
        raise NotTestable("CMalloc as a doubly linked list (cmalloc-doubly) was not measured")
    faster, slower, undecided = duels(
        results, "regeff-3a", doubly, CMALLOC, "payload_bytes", **P120
    )
    if faster + slower == 0:
        return None, f"no point of {undecided} is decided"
    one, other = (
        series(results, "regeff-3a", a, "payload_bytes", **P120) for a in (doubly, CMALLOC)
    )
    ratio = median([median(one[x]) / median(other[x]) for x in one.keys() & other.keys()])
    return (
        slower > faster and ratio <= 1.5,
        f"slower at {slower}, faster at {faster} points, {figure(ratio)} times",
    )


@claim(
    "fewer-multiprocessors",
    "RegEff",
    "section 7, on the GTX 680",
    "regeff-3a",
    "With 8 instead of 15 multiprocessors the generic tests are almost twice as fast, except with ScatterAlloc",
    "not judged: it compares two GPUs",
    substituted=always("nothing here limits a kernel to some of the multiprocessors"),
)
def _(results):
    return None, ""


@claim(
    "halloc-pool",
    "RegEff",
    "section 7, on table 3",
    "own-pools",
    "A larger pool makes it easier for Halloc to find free memory",
    "on more than half of the scenes builds with Halloc in the largest pool are faster than in the smallest that"
    " completes, by the 95% interval of the ratio",
)
def _(results):
    pools = {}
    for row in results.rows("own-pools", "halloc"):
        size = row.get("memory", {}).get("pool_bytes")
        if row.get("status") == "ok" and row.get("runs_ms") and size:
            pools.setdefault(row["scene"], {})[size] = row["runs_ms"]
    ends = {s: (of[min(of)], of[max(of)]) for s, of in pools.items() if len(of) > 1}
    if not ends:
        raise NotMeasured("not measured: Halloc in two pools")
    intervals = [ratio_interval(large, small) for small, large in ends.values()]
    faster = sum(1 for interval in intervals if interval and interval[1] < 1)
    ratios = [median(large) / median(small) for small, large in ends.values()]
    return (
        faster > len(ends) / 2,
        f"faster on {faster} of {len(ends)} scenes, {figure(min(ratios))} to {figure(max(ratios))} of the time",
    )
