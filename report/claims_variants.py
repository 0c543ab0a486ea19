# SPDX-License-Identifier: MIT
"""RegEff's claims about the Probability test, with the probability that the paper states, 3/4, and with
the one that gives its counts, 1/4; and about variants and settings of the allocators."""

import statistics

from .claims import CMALLOC, LISTS, claim, duels, each_text, extreme, figure, if_measured, label
from .claims import medians, need, needs_lists, NotMeasured, NotTestable, range_text, ratios, series
from .claims_regeff import OTHERS, P120
from .samples import median, ratio_interval


def with_both(judge):
    """One verdict of judge(item) -> (answer, evidence) with both probabilities: undecided if the
    probability decides."""
    answers = [(name, *judge(item)) for name, item in (("3/4", "regeff-3d"), ("1/4", "regeff-3d-quarter"))]
    evidence = "; ".join(f"with {name}: {text}" for name, _, text in answers)
    decided = {answer for _, answer, _ in answers}
    return decided.pop() if len(decided) == 1 else None, evidence


def counts(results, probability):
    """(allocations, deallocations), counted and expected, of a complete run with 120 blocks."""
    rows = [
        row
        for row in results.rows("regeff-t2")
        if row.get("status") == "ok" and row.get("probability", 0.75) == probability
    ]
    row = need(rows, f"a complete run of P with probability {probability}")[0]
    return tuple((row[of]["count"], row[of]["deallocations"]) for of in ("allocations", "expected"))


@claim()
def p_counts(results):
    (count, frees), expected = counts(results, 0.75)
    text = f"3/4 makes {count} and {frees} (expected {expected[0]:.0f} and {expected[1]:.0f})"
    try:
        (few, few_frees), quarter = counts(results, 0.25)
        text += (
            f"; 1/4 makes {few} and {few_frees} (expected {quarter[0]:.1f} and {quarter[1]:.1f}), which"
            f" {'are' if near(few, few_frees) else 'are not'} the published counts within 5%"
        )
    except NotMeasured:
        pass
    return near(count, frees), text


def near(count, frees):
    return abs(count - 1450) <= 73 and abs(frees - 986) <= 49


def over_blocks(results, item, allocator):
    times = medians(results, item, allocator, "blocks")
    return need({blocks: ms for blocks, ms in times.items() if blocks <= 120}, allocator)


@claim()
def p_flat(results):
    def judge(item):
        found = {}
        for allocator in ("atomic", "awmalloc", "scatter", "halloc"):
            times = over_blocks(results, item, allocator)
            need(1 in times and 120 in times, "1 and 120 blocks")
            found[allocator] = times[120] / times[1]
        return max(found.values()) <= 2, each_text(results, found)

    return with_both(judge)


def is_linear(times):
    """Whether times over the blocks are close to a line, or to a constant."""
    points, values = list(times), list(times.values())
    return max(values) <= 1.5 * min(values) or statistics.correlation(points, values) >= 0.95


@claim()
def p_linear(results):
    def judge(item):
        found = if_measured(
            lambda a: over_blocks(results, item, a),
            ("cuda", "atomic", "awmalloc", "scatter", "halloc", *LISTS),
        )
        need(found, "times over the blocks")
        need(all(len(times) >= 4 for times in found.values()), "four numbers of blocks")
        bent = [label(results, a) for a, times in found.items() if not is_linear(times)]
        return not bent, (
            f"not linear: {', '.join(bent)}" if bent else f"all {len(found)} that were measured"
        )

    return with_both(judge)


@claim()
def coalescing_time(results):
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


@claim(substituted=needs_lists)
def presplit_uniform(results):
    values = need(
        [
            row["memory"]["end"]["external_fragmentation"]
            for row in results.rows("regeff-uniform", CMALLOC, presplit="uniform")
            if "external_fragmentation" in row.get("memory", {}).get("end", {})
        ],
        "fragmentation with a uniform pre-split",
    )
    return min(values) >= 0.95, f"{min(values):.3f} to {max(values):.3f}"


@claim(substituted=needs_lists)
def doubly_linked(results):
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


@claim()
def halloc_pool(results):
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
