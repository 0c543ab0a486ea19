# SPDX-License-Identifier: MIT
"""RegEff's claims about registers and the generic tests."""

from .claims import CFMALLOC, CFMMALLOC, CMALLOC, CMMALLOC, FDG, LISTS, REGEFF_FULL
from .claims import all_ratios, claim, each_text, extreme, figure, if_measured, label, medians
from .claims import median_between, need, needs_fdg, needs_lists, spread, usually_faster
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


@claim(substituted=needs_lists)
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


@claim(substituted=needs_fdg)
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


@claim(substituted=needs_fdg)
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


@claim(substituted=needs_lists)
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


@claim(substituted=needs_fdg)
def cycle_fdg_constant(results):
    value = growth(results, FDG)
    return value <= 2, f"{figure(value)} times"


@claim()
def cycle_linear(results):
    found = if_measured(lambda a: growth(results, a), OTHERS)
    need(found, "times over the successive allocations")
    linear = [a for a, value in found.items() if 5 <= value <= 20]
    return len(linear) > len(found) / 2, each_text(results, found)


@claim(substituted=needs_fdg)
def cycle_fdg_late(results):
    fdg = need(medians(results, "regeff-3c", FDG, "iterations", **P120), "FDGMalloc")
    others = [medians(results, "regeff-3c", a, "iterations", **P120) for a in OTHERS if a != "cuda"]
    passed = [x for x, t in fdg.items() if any(o.get(x, 0) > t for o in others)]
    return bool(passed) and min(passed) > 70, (
        f"faster than another from {min(passed)} iterations on" if passed else "never"
    )


@claim(substituted=needs_lists)
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


@claim(substituted=needs_lists)
def multi_generic(results):
    return usually_in_generic_tests(results, (CMMALLOC, CMALLOC), (CFMMALLOC, CFMALLOC))


@claim(substituted=needs_lists)
def cfmm_scatter(results):
    return median_between(
        1.57 * 0.75, 2.09 * 1.25, ratios_of_cycles_and_p(results, CFMMALLOC, "scatter")
    )
