# SPDX-License-Identifier: MIT
"""RegEff's claims about registers and the generic tests; about the Probability test, with the
probability that the paper states, 3/4, and with the one that gives its counts, 1/4; and about variants
and settings of the allocators."""

import statistics

from .claims import CFMALLOC, CFMMALLOC, CMALLOC, CMMALLOC, FDG, LISTS, REGEFF_FULL
from .claims import NotMeasured, NotTestable, all_ratios, claim, duels, each_text, extreme, figure
from .claims import if_measured, label, median_between, medians, need, range_text, ratios, series
from .claims import spread, usually_faster
from .samples import median, ratio_interval
from .text import bytes_text

P120 = {"blocks": 120}
OTHERS = ("atomic", "awmalloc", *REGEFF_FULL)
ALL = ("atomic", "awmalloc", FDG, *REGEFF_FULL)
GENERIC = ("3a", "3b", "3c", "3d", "3d-quarter")
X_AXES = dict(zip(GENERIC, ("payload_bytes", "pool_bytes", "iterations", "blocks", "blocks")))


def registers(results, key="calls"):
    rows = results.rows("regeff-t1")
    return need(
        {row["allocator"]: row[key]["both"]["registers"] for row in rows if key in row}, "registers"
    )


@claim(published="lists")
def registers_lists(results):
    use = registers(results)
    lists, others = ([use[a] for a in of if a in use] for of in (LISTS, ("scatter", "halloc")))
    need(lists and others, "both kinds of allocators")
    return (
        max(lists) < min(others),
        f"{min(lists)} to {max(lists)} against {min(others)} to {max(others)}",
    )


@claim()
def registers_atomic(results):
    use = registers(results)
    need("atomic" in use, "AtomicMalloc")
    others = need({a: use[a] for a in ALL[1:] if a in use}, "another allocator")
    fewest = min(others, key=others.get)
    return (
        use["atomic"] <= others[fewest],
        f"{use['atomic']}; next {label(results, fewest)} with {others[fewest]}",
    )


@claim()
def registers_coalescing(results):
    plain, coalesced = registers(results), registers(results, "calls_coalesced")
    more = {a: coalesced[a] - plain[a] for a in ALL if a in plain and a in coalesced}
    worst = max(more, key=more.get)
    return more[worst] <= 11, f"{min(more.values())} to {more[worst]} ({label(results, worst)})"


@claim(published="fdg")
def ad_slowest(results):
    times = {a: medians(results, "regeff-3a", a, "payload_bytes", **P120) for a in ALL}
    slow = [times.pop(a) for a in ("cuda", FDG)]
    points = [x for x in slow[0] if x <= 4096 and x in slow[1]]
    need(points, "CudaMalloc and FDGMalloc")
    cuda, fdg = (
        sum(s[x] >= 2 * max(r[x] for r in times.values() if x in r) for x in points) for s in slow
    )
    return (
        min(cuda, fdg) >= 0.75 * len(points),
        f"CudaMalloc at {cuda}, FDGMalloc at {fdg} of {len(points)} payloads",
    )


@claim(published="fdg")
def ad_fdg_cuda(results):
    return usually_faster(results, [("regeff-3a", "cuda", FDG, "payload_bytes", P120)])


@claim()
def ad_constant(results):
    found = if_measured(
        lambda a: spread(results, "regeff-3a", a, "payload_bytes", **P120),
        ("atomic", "awmalloc", FDG, "scatter", "halloc", *LISTS),
    )
    need(found, "times over the payload")
    constant = [label(results, a) for a, s in found.items() if s <= 2]
    return (
        len(constant) > len(found) / 2,
        f"{len(constant)} of {len(found)}: {', '.join(constant) or 'none'}",
    )


@claim()
def ad_halloc_large(results):
    times = need(
        medians(results, "regeff-large", "halloc", "payload_bytes", large="builtin"),
        "Halloc with the device's malloc",
    )
    small, large = times.get(64) or min(times.values()), times[max(times)]
    return (
        large >= 3 * small,
        f"{figure(small)} ms at 64 bytes, {figure(large)} ms at {bytes_text(max(times))}",
    )


def ends(times, preposition):
    """The medians at the first and the last of {bytes: median}, and their text."""
    first, last = times[min(times)], times[max(times)]
    text = ", ".join(
        f"{figure(ms)} ms {preposition} {bytes_text(size)}"
        for ms, size in ((first, min(times)), (last, max(times)))
    )
    return first, last, text


@claim()
def pages_cost(results):
    rows = need(results.complete("regeff-4", "scatter"), "ScatterAlloc with several pages")
    payload = min(row["payload_bytes"] for row in rows)
    times = {row["page_bytes"]: row["median_ms"] for row in rows if row["payload_bytes"] == payload}
    need(len(times) > 1, "two sizes of pages")
    first, last, text = ends(times, "with")
    return last >= 1.1 * first, text


@claim()
def pool_scatter(results):
    times = need(medians(results, "regeff-3b", "scatter", "pool_bytes"), "ScatterAlloc")
    first, last, text = ends(times, "in")
    return first >= 1.1 * last, text


@claim(published="lists")
def pool_others(results):
    allocators = ("atomic", "awmalloc", *LISTS)
    found = {a: spread(results, "regeff-3b", a, "pool_bytes") for a in allocators}
    worst, text = extreme(results, found)
    return worst <= 1.5, f"at most {text}"


def over_iterations(results, allocator):
    times = medians(results, "regeff-3c", allocator, "iterations", **P120)
    return need(times, label(results, allocator))


def growth(results, allocator):
    times = over_iterations(results, allocator)
    need(min(times) <= 10 and max(times) >= 100, "10 and 100 iterations")
    return times[max(times)] / times[min(times)]


@claim(published="fdg")
def cycle_fdg_constant(results):
    value = growth(results, FDG)
    return value <= 2, f"{figure(value)} times"


@claim()
def cycle_linear(results):
    found = if_measured(lambda a: growth(results, a), OTHERS)
    need(found, "times over the successive allocations")
    linear = [a for a, value in found.items() if 5 <= value <= 20]
    return len(linear) > len(found) / 2, each_text(results, found)


@claim(published="fdg")
def cycle_fdg_late(results):
    fdg = need(medians(results, "regeff-3c", FDG, "iterations", **P120), "FDGMalloc")
    others = [medians(results, "regeff-3c", a, "iterations", **P120) for a in OTHERS if a != "cuda"]
    passed = [x for x, t in fdg.items() if any(o.get(x, 0) > t for o in others)]
    return bool(passed) and min(passed) > 70, (
        f"faster than another from {min(passed)} iterations on" if passed else "never"
    )


@claim(published="lists")
def cycle_halloc(results):
    halloc, *lists = (over_iterations(results, a) for a in ("halloc", *LISTS))
    steps = max(halloc)
    best, name = min(
        ((times[steps], label(results, a)) for a, times in zip(LISTS, lists)),
        key=lambda pair: pair[0],
    )
    return halloc[steps] < best, f"Halloc {figure(halloc[steps])} ms, {name} {figure(best)} ms"


def settings_of(name):
    """Settings of the rows that judge a figure: 120 blocks, or any number if the x axis is the blocks."""
    return {} if X_AXES[name] == "blocks" else P120


def usually_in_generic_tests(results, *pairs):
    return usually_faster(
        results,
        [
            (f"regeff-{name}", *pair, X_AXES[name], settings_of(name))
            for pair in pairs
            for name in GENERIC
        ],
    )


def ratios_of_cycles_and_p(results, first, second):
    """Ratios in figures 3(c) and 3(d), with both probabilities."""
    return [
        r
        for name in GENERIC[2:]
        for r in all_ratios(
            results, [f"regeff-{name}"], first, second, X_AXES[name], **settings_of(name)
        )
    ]


@claim()
def aw_atomic(results):
    return usually_in_generic_tests(results, ("awmalloc", "atomic"))


@claim()
def scatter_atomic(results):
    return median_between(0, 1.5, ratios_of_cycles_and_p(results, "scatter", "atomic"))


@claim(published="lists")
def multi_generic(results):
    return usually_in_generic_tests(results, (CMMALLOC, CMALLOC), (CFMMALLOC, CFMALLOC))


@claim(published="lists")
def cfmm_scatter(results):
    return median_between(
        1.57 * 0.75, 2.09 * 1.25, ratios_of_cycles_and_p(results, CFMMALLOC, "scatter")
    )


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


@claim(published="lists")
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


@claim(published="lists")
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
