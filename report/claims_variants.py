# SPDX-License-Identifier: MIT
"""RegEff's claims about variants and settings of the allocators."""

from .claims import CMALLOC
from .claims import NotTestable, claim, duels, extreme, figure, need, needs_lists, not_judged
from .claims import range_text, ratios, series
from .claims_regeff import OTHERS, P120
from .samples import median, ratio_interval


@claim(("RegEff", "section 6, test considerations", "regeff-3a regeff-coalesced"))
def coalescing_time(results):
    """Where one lane of a warp allocates, coalescing costs no time.
    Rule: for no allocator of the paper is the median over the payloads of the time with the
    coalescing adaptor over that without it above 1.05."""
    found = {}
    for allocator in OTHERS:
        plain, joined = (
            series(results, item, allocator, "payload_bytes", **P120)
            for item in ("regeff-3a", "regeff-coalesced")
        )
        values = [median(joined[x]) / median(plain[x]) for x in plain.keys() & joined.keys()]
        if values:
            found[allocator] = median(values)
    worst, text = extreme(results, need(found, "both forms of an allocator"))
    return worst <= 1.05, f"{figure(min(found.values()))} to {text}"


@claim(("RegEff", "section 8", "regeff-uniform"), needs="full", substituted=needs_lists)
def presplit_uniform(results):
    """With a pre-split into chunks of one size, external fragmentation of CMalloc is very close to
    1.
    Rule: at least 0.95 at every payload after Alloc Dealloc with a uniform pre-split."""
    values = need(
        [
            row["memory"]["end"]["external_fragmentation"]
            for row in results.rows("regeff-uniform", CMALLOC, presplit="uniform")
            if "external_fragmentation" in row.get("memory", {}).get("end", {})
        ],
        "fragmentation with a uniform pre-split",
    )
    return min(values) >= 0.95, f"{min(values):.3f} to {max(values):.3f}"


@claim(("RegEff", "section 5.2", "regeff-3a"), substituted=needs_lists)
def doubly_linked(results):
    """A doubly linked list is slightly slower than a singly linked one.
    Rule: the doubly linked CMalloc is slower at more points than it is faster, by the 95%
    intervals, and at most 1.5 times."""
    doubly = "cmalloc-doubly"
    if doubly not in results.labels():
        raise NotTestable("CMalloc as a doubly linked list (cmalloc-doubly) was not measured")
    compared = ("regeff-3a", doubly, CMALLOC, "payload_bytes")
    faster, slower, undecided = duels(results, *compared, **P120)
    if faster + slower == 0:
        return None, f"no point of {undecided} is decided"
    ratio = median(list(ratios(results, *compared, **P120).values()))
    return (
        slower > faster and ratio <= 1.5,
        f"slower at {slower}, faster at {faster} points, {figure(ratio)} times",
    )


not_judged(
    "fewer-multiprocessors",
    ("RegEff", "section 7, on the GTX 680", "regeff-3a"),
    "With 8 instead of 15 multiprocessors the generic tests are almost twice as fast, except with ScatterAlloc",
    "not judged: it compares two GPUs",
    "nothing here limits a kernel to some of the multiprocessors",
)


@claim(("RegEff", "section 7, on table 3", "own-pools"))
def halloc_pool(results):
    """A larger pool makes it easier for Halloc to find free memory.
    Rule: on more than half of the scenes builds with Halloc in the largest pool are faster than in
    the smallest that completes, by the 95% interval of the ratio."""
    pools = {}
    for row in results.rows("own-pools", "halloc"):
        size = row.get("memory", {}).get("pool_bytes")
        if row.get("status") == "ok" and row.get("runs_ms") and size:
            pools.setdefault(row["scene"], {})[size] = row["runs_ms"]
    ends = [(of[min(of)], of[max(of)]) for of in pools.values() if len(of) > 1]
    need(ends, "Halloc in two pools")
    intervals = [ratio_interval(large, small) for small, large in ends]
    faster = sum(1 for interval in intervals if interval and interval[1] < 1)
    values = [median(large) / median(small) for small, large in ends]
    return (
        faster > len(ends) / 2,
        f"faster on {faster} of {len(ends)} scenes, {range_text(values)} of the time",
    )
