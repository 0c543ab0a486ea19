# SPDX-License-Identifier: MIT
"""RegEff's claims about registers, the generic tests, and variants and settings of the allocators. The
Probability test has the probability of its authors' code, 1/4; 3/4 is a misprint."""

import statistics

from .claims import CFMALLOC, CFMMALLOC, CMALLOC, CMMALLOC, FDG, LISTS, REGEFF_FULL
from .claims import all_ratios, claim, each_text, figure, if_measured, label
from .claims import median_between, medians, need, needs_presplit, range_text, ratios, series
from .claims import spread, usually_faster
from .figures import bytes_text, median, ratio_interval

OTHERS = ("atomic", "awmalloc", *REGEFF_FULL)
ALL = ("atomic", "awmalloc", FDG, *REGEFF_FULL)
GENERIC = ("3a", "3b", "3c", "3d-quarter")
X_AXES = dict(zip(GENERIC, ("payload_bytes", "pool_bytes", "iterations", "blocks")))


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
        f"{min(lists)} to {max(lists)} registers against {min(others)} to {max(others)}",
    )


@claim()
def registers_atomic(results):
    use = registers(results)
    need("atomic" in use, "AtomicMalloc")
    others = need({a: use[a] for a in ALL[1:] if a in use}, "another allocator")
    fewest = min(others, key=others.get)
    return (
        use["atomic"] <= others[fewest],
        f"{use['atomic']} registers; next {label(results, fewest)} with {others[fewest]}",
    )


@claim()
def registers_coalescing(results):
    plain, coalesced = registers(results), registers(results, "calls_coalesced")
    more = {a: coalesced[a] - plain[a] for a in ALL if a in plain and a in coalesced}
    worst = max(more, key=more.get)
    text = f"{min(more.values())} to {more[worst]} registers ({label(results, worst)})"
    return more[worst] <= 11, text


@claim(published="fdg")
def ad_slowest(results):
    times = {a: medians(results, "regeff-3a", a, "payload_bytes") for a in ALL}
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
    return usually_faster(results, [("regeff-3a", "cuda", FDG, "payload_bytes", {})])


@claim()
def ad_constant(results):
    names = ("atomic", "awmalloc", FDG, "scatter", "halloc", *LISTS)
    found = if_measured(lambda a: spread(results, "regeff-3a", a, "payload_bytes"), names)
    need(found, "times over the payload")
    needs_presplit(results, "payload", "regeff-3a")
    rows = [row for a in names for row in results.rows("regeff-3a", a)]
    failed = {row["allocator"] for row in rows if row["status"] not in ("ok", "skipped")}
    constant = [label(results, a) for a, s in found.items() if s <= 2 and a not in failed]
    count = len(found.keys() | failed)
    return len(constant) > count / 2, f"{len(constant)} of {count}: {', '.join(constant) or 'none'}"


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


def slower_pool(results, item, allocator, slow, fast):
    """Whether the pool of size slow(sizes) is slower than that of size fast(sizes)."""
    samples = need(series(results, item, allocator, "pool_bytes"), label(results, allocator))
    _, _, text = ends({size: median(runs) for size, runs in samples.items()}, "in")
    low, high = need(ratio_interval(samples[slow(samples)], samples[fast(samples)]), "three runs")
    answer = True if low > 1 else False if high < 1.1 else None
    return answer, f"{text}: {figure(low)} to {figure(high)} times (95%)"


@claim()
def pool_scatter(results):
    return slower_pool(results, "regeff-3b", "scatter", min, max)


@claim()
def pool_cuda(results):
    return slower_pool(results, "regeff-heap", "cuda", max, min)


@claim()
def pool_halloc(results):
    rows = results.rows("regeff-slabs", "halloc")
    starts = need([row["pool_bytes"] for row in rows if row["status"] == "ok"], "Halloc")
    return min(starts) > 256 << 20, f"starts with {bytes_text(min(starts))}"


@claim()
def fewer_multiprocessors(results):
    def speedup(allocator):
        some, every = {}, {}
        for row in results.rows("regeff-multiprocessors", allocator, status="ok"):
            of = some if " multiprocessors=" in row["key"] else every
            of[row["payload_bytes"]] = median(row["runs_ms"])
        shared = need(some.keys() & every.keys(), label(results, allocator))
        return median([every[x] / some[x] for x in shared])

    found = if_measured(speedup, ALL)
    scatter = need(found.pop("scatter", 0), "ScatterAlloc")
    fast = sum(value >= 1.5 for value in need(found, "other allocators").values())
    return fast > len(found) / 2 and scatter < median(list(found.values())), (
        f"{each_text(results, {**found, 'scatter': scatter})} times as fast"
    )


@claim(published="lists")
def pool_others(results):
    found, answers = {}, set()
    for allocator in ("atomic", "awmalloc", *LISTS):
        runs = series(results, "regeff-3b", allocator, "pool_bytes")
        # In pools below twice the padded requests, searches meet few free chunks.
        rows = results.rows("regeff-3b", allocator)
        demand = max((row["threads"] * row["iterations"] * 32 for row in rows), default=0)
        runs = need([of for size, of in runs.items() if size >= 2 * demand], "pools of the demand")
        slow, fast = max(runs, key=median), min(runs, key=median)
        found[allocator] = median(slow) / median(fast)
        low, high = need(ratio_interval(slow, fast), "three runs")
        answers.add(True if high <= 1.5 else False if low > 1.5 else None)
    answer = False if False in answers else None if None in answers else True
    worst = max(found, key=found.get)
    text = f"at most {figure(found[worst])} ({label(results, worst)})"
    return answer, f"{text} times from the smallest sufficient pool on"


def times_of(results, name, allocator):
    """The medians of a generic test over its parameter."""
    times = medians(results, f"regeff-{name}", allocator, X_AXES[name])
    return need(times, label(results, allocator))


def growth(results, allocator):
    times = times_of(results, "3c", allocator)
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
    return len(linear) > len(found) / 2, f"{each_text(results, found)} times"


@claim(published="fdg")
def cycle_fdg_late(results):
    fdg = need(medians(results, "regeff-3c", FDG, "iterations"), "FDGMalloc")
    others = [medians(results, "regeff-3c", a, "iterations") for a in OTHERS if a != "cuda"]
    passed = [x for x, t in fdg.items() if any(o.get(x, 0) > t for o in others)]
    return bool(passed) and min(passed) > 70, (
        f"faster than another from {min(passed)} iterations on" if passed else "never"
    )


@claim(published="lists")
def cycle_halloc(results):
    halloc, *lists = (times_of(results, "3c", a) for a in ("halloc", *LISTS))
    steps = max(halloc)
    best, name = min(
        ((times[steps], label(results, a)) for a, times in zip(LISTS, lists)),
        key=lambda pair: pair[0],
    )
    return halloc[steps] < best, f"Halloc {figure(halloc[steps])} ms, {name} {figure(best)} ms"


def usually_in_generic_tests(results, *pairs):
    return usually_faster(
        results, [(f"regeff-{name}", *pair, X_AXES[name], {}) for pair in pairs for name in GENERIC]
    )


def ratios_of_cycles_and_p(results, first, second):
    """Ratios in figures 3(c) and 3(d)."""
    return [
        r
        for name in GENERIC[2:]
        for r in all_ratios(results, [f"regeff-{name}"], first, second, X_AXES[name])
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
    (count, frees), expected = counts(results, 0.25)
    return abs(count - 1450) <= 73 and abs(frees - 986) <= 49, (
        f"{count} and {frees} with 1/4 (expected {expected[0]:.0f} and {expected[1]:.0f}); 3/4, which"
        " the paper states, makes 3840 and 3360"
    )


@claim()
def p_flat(results):
    found, noise = {}, 0
    for allocator in ("atomic", "awmalloc", "scatter", "halloc"):
        times = times_of(results, "3d-quarter", allocator)
        need(1 in times and 120 in times, "1 and 120 blocks")
        row = results.rows("regeff-3d-quarter", allocator, blocks=1)[0]
        launches = row["iterations"] * median(need(row.get("floor_ms"), "the time of a launch"))
        noise += times[1] < 1.5 * launches
        found[allocator] = times[max(times)] / times[1]
    text = f"with launches {each_text(results, found)} times"
    if noise:
        return None, f"with one block the launches are most of the time; {text}"
    return max(found.values()) <= 2, text


def is_linear(times):
    """Whether times over the blocks are close to a line, or to a constant."""
    points, values = list(times), list(times.values())
    return max(values) <= 1.5 * min(values) or statistics.correlation(points, values) >= 0.95


@claim()
def p_linear(results):
    found = if_measured(lambda a: times_of(results, "3d-quarter", a), OTHERS)
    need(found, "times over the blocks")
    need(all(len(times) >= 4 for times in found.values()), "four numbers of blocks")
    bent = [label(results, a) for a, times in found.items() if not is_linear(times)]
    most = max(max(times) for times in found.values())
    return not bent, (
        f"1 to {most} blocks: not linear: {', '.join(bent) or 'none'} of {len(found)} allocators"
    )


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
