# SPDX-License-Identifier: MIT
"""RegEff's claims about registers and the generic tests."""

from .claims import CFMALLOC, CFMMALLOC, CMALLOC, CMMALLOC, FDG, LISTS, REGEFF_FULL
from .claims import all_ratios, claim, each_text, extreme, figure, if_measured, label, medians
from .claims import median_between, need, needs_fdg, needs_lists, not_judged, spread, usually_faster
from .text import bytes_text

P120 = {"blocks": 120}
OTHERS = ("atomic", "awmalloc", *REGEFF_FULL)
ALL = ("atomic", "awmalloc", FDG, *REGEFF_FULL)
GENERIC = ("3a", "3b", "3c", "3d", "3d-quarter")
X_AXES = dict(zip(GENERIC, ("payload_bytes", "pool_bytes", "iterations", "blocks", "blocks")))

TABLE_1 = ("RegEff", "table 1", "regeff-t1")
FIGURE_3A = ("RegEff", "section 7, figure 3(a)", "regeff-3a")
FIGURE_3B = ("RegEff", "section 7, figure 3(b)", "regeff-3b")
FIGURE_3C = ("RegEff", "section 7, figure 3(c)", "regeff-3c")
FIGURE_4 = ("RegEff", "section 7, figure 4", "regeff-4")
FIGURE_3 = ("RegEff", "section 7, figure 3", " ".join(f"regeff-{name}" for name in GENERIC))
CYCLE_AND_P = " ".join(f"regeff-{name}" for name in GENERIC[2:])


def registers(results, key="calls"):
    rows = results.rows("regeff-t1")
    return need(
        {row["allocator"]: row[key]["both"]["registers"] for row in rows if key in row}, "registers"
    )


@claim(TABLE_1, substituted=needs_lists)
def registers_lists(results):
    """CMalloc and its variants need fewer registers than ScatterAlloc and Halloc.
    Rule: the max number of registers of a malloc and a free of the four is below the min of the
    two."""
    use = registers(results)
    lists, others = ([use[a] for a in of if a in use] for of in (LISTS, ("scatter", "halloc")))
    need(lists and others, "both kinds of allocators")
    return (
        max(lists) < min(others),
        f"{min(lists)} to {max(lists)} against {min(others)} to {max(others)}",
    )


@claim(TABLE_1)
def registers_atomic(results):
    """AtomicMalloc needs the fewest registers of all.
    Rule: no allocator of the paper needs fewer registers in a kernel with a malloc and a free."""
    use = registers(results)
    need("atomic" in use, "AtomicMalloc")
    others = need({a: use[a] for a in ALL[1:] if a in use}, "another allocator")
    fewest = min(others, key=others.get)
    return (
        use["atomic"] <= others[fewest],
        f"{use['atomic']}; next {label(results, fewest)} with {others[fewest]}",
    )


@claim(TABLE_1)
def registers_coalescing(results):
    """Coalescing costs at most 11 registers.
    Rule: none of the paper's allocators needs more than 11 additional registers with the coalescing
    adaptor."""
    plain, coalesced = registers(results), registers(results, "calls_coalesced")
    more = {a: coalesced[a] - plain[a] for a in ALL if a in plain and a in coalesced}
    worst = max(more, key=more.get)
    return more[worst] <= 11, f"{min(more.values())} to {more[worst]} ({label(results, worst)})"


@claim(FIGURE_3A, substituted=needs_fdg)
def ad_slowest(results):
    """CudaMalloc and FDGMalloc are by far the slowest in Alloc Dealloc.
    Rule: at three quarters of the payloads up to 4 KiB, both take at least twice as long as every
    other of the paper's allocators."""
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


@claim(FIGURE_3A, substituted=needs_fdg)
def ad_fdg_cuda(results):
    """FDGMalloc is slower than CudaMalloc in Alloc Dealloc.
    Rule: CudaMalloc is faster at 80% of the points that the 95% intervals decide, which are at
    least a quarter of all."""
    return usually_faster(results, [("regeff-3a", "cuda", FDG, "payload_bytes", P120)])


@claim(FIGURE_3A)
def ad_constant(results):
    """Most allocators take the same time for every payload.
    Rule: slowest over fastest median is at most 2 for more than half of the paper's allocators
    except CudaMalloc."""
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


SCATTER_LARGE = "requests larger than a page go to a buddy system here, not to pages that are locked one after the other"
not_judged(
    "ad-scatter-large",
    FIGURE_3A,
    "ScatterAlloc is slow for requests larger than its pages",
    "not judged: what makes them slow is replaced",
    SCATTER_LARGE,
)


@claim(("RegEff", "section 7, figure 3(a)", "regeff-large"))
def ad_halloc_large(results):
    """Halloc is slow for large requests, which it passes to CudaMalloc.
    Rule: with the device's malloc behind Halloc, the median at the largest payload is at least 3
    times that at 64 bytes."""
    times = need(
        medians(results, "regeff-large", "halloc", "payload_bytes", large="builtin"),
        "Halloc with the device's malloc",
    )
    small, large = times.get(64) or min(times.values()), times[max(times)]
    return (
        large >= 3 * small,
        f"{figure(small)} ms at 64 bytes, {figure(large)} ms at {bytes_text(max(times))}",
    )


not_judged(
    "pages-large-requests",
    FIGURE_4,
    "ScatterAlloc takes prohibitively long for requests larger than a page",
    "not judged: what takes long is replaced",
    SCATTER_LARGE,
)


def ends(times, preposition):
    """The medians at the first and the last of {bytes: median}, and their text."""
    first, last = times[min(times)], times[max(times)]
    text = ", ".join(
        f"{figure(ms)} ms {preposition} {bytes_text(size)}"
        for ms, size in ((first, min(times)), (last, max(times)))
    )
    return first, last, text


@claim(FIGURE_4)
def pages_cost(results):
    """Larger pages cost ScatterAlloc time at every size.
    Rule: at the smallest payload, the median grows by 10% or more from the smallest page to the
    largest that completes."""
    rows = need(results.complete("regeff-4", "scatter"), "ScatterAlloc with several pages")
    payload = min(row["payload_bytes"] for row in rows)
    times = {row["page_bytes"]: row["median_ms"] for row in rows if row["payload_bytes"] == payload}
    need(len(times) > 1, "two sizes of pages")
    first, last, text = ends(times, "with")
    return last >= 1.1 * first, text


not_judged(
    "pool-cuda",
    FIGURE_3B,
    "CudaMalloc is slower with a larger pool",
    "not judged: all sizes are measured in one heap",
    "the device's heap keeps the size of its first use: all sizes of the pool are the same heap",
)


@claim(FIGURE_3B)
def pool_scatter(results):
    """ScatterAlloc is slower in a small pool than in a large one.
    Rule: the median with the smallest complete pool is at least 1.1 times that with the largest."""
    times = need(medians(results, "regeff-3b", "scatter", "pool_bytes"), "ScatterAlloc")
    first, last, text = ends(times, "in")
    return first >= 1.1 * last, text


not_judged(
    "pool-halloc",
    FIGURE_3B,
    "Halloc does not start with a pool of 256 MB or less",
    "not judged: the limit is that of slabs of a fixed size",
    "Halloc's slabs are sized to the pool here, so it starts in any pool",
)


@claim(FIGURE_3B, substituted=needs_lists)
def pool_others(results):
    """The other allocators hardly depend on the size of the pool.
    Rule: slowest over fastest median is at most 1.5 for AtomicMalloc, AWMalloc, CMalloc and its
    variants."""
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


@claim(FIGURE_3C, substituted=needs_fdg)
def cycle_fdg_constant(results):
    """FDGMalloc takes almost the same time for every number of successive allocations.
    Rule: 100 allocations per thread take at most twice as long as 10."""
    value = growth(results, FDG)
    return value <= 2, f"{figure(value)} times"


@claim(FIGURE_3C)
def cycle_linear(results):
    """Most allocators take time in proportion to the successive allocations.
    Rule: 100 allocations per thread take 5 to 20 times as long as 10 for more than half of the
    paper's others."""
    found = if_measured(lambda a: growth(results, a), OTHERS)
    need(found, "times over the successive allocations")
    linear = [a for a, value in found.items() if 5 <= value <= 20]
    return len(linear) > len(found) / 2, each_text(results, found)


@claim(FIGURE_3C, substituted=needs_fdg)
def cycle_fdg_late(results):
    """FDGMalloc overtakes allocators other than CudaMalloc only at more than 70 successive
    allocations.
    Rule: at 10 to 70 iterations none of the paper's others is slower than FDGMalloc; at 80 to 100
    one is."""
    fdg = need(medians(results, "regeff-3c", FDG, "iterations", **P120), "FDGMalloc")
    others = [medians(results, "regeff-3c", a, "iterations", **P120) for a in OTHERS if a != "cuda"]
    passed = [x for x, t in fdg.items() if any(o.get(x, 0) > t for o in others)]
    return bool(passed) and min(passed) > 70, (
        f"faster than another from {min(passed)} iterations on" if passed else "never"
    )


@claim(FIGURE_3C, substituted=needs_lists)
def cycle_halloc(results):
    """With many successive allocations Halloc is faster than CMalloc and its variants.
    Rule: at the max number of iterations its median is below that of each of the four."""
    halloc, *lists = (over_iterations(results, a) for a in ("halloc", *LISTS))
    steps = max(halloc)
    best, name = min(
        ((times[steps], label(results, a)) for a, times in zip(LISTS, lists)),
        key=lambda pair: pair[0],
    )
    return halloc[steps] < best, f"Halloc {figure(halloc[steps])} ms, {name} {figure(best)} ms"


def settings_of(name):
    """Of the grid in which a figure is judged; figure 3(d) is over the grids."""
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


@claim(FIGURE_3)
def aw_atomic(results):
    """AWMalloc is faster than AtomicMalloc in all generic tests.
    Rule: faster at 80% of the points that the 95% intervals decide, which are at least a quarter of
    all."""
    return usually_in_generic_tests(results, ("awmalloc", "atomic"))


@claim(("RegEff", "section 7, figure 3", CYCLE_AND_P))
def scatter_atomic(results):
    """ScatterAlloc is nearly as fast as AtomicMalloc in the generic tests.
    Rule: the median of the ratio to AtomicMalloc's times in figures 3(c) and 3(d), with both
    probabilities, is at most 1.5."""
    return median_between(0, 1.5, ratios_of_cycles_and_p(results, "scatter", "atomic"))


@claim(FIGURE_3, substituted=needs_lists)
def multi_generic(results):
    """An offset per multiprocessor makes CMMalloc and CFMMalloc faster than CMalloc and CFMalloc in
    the generic tests.
    Rule: faster at 80% of the points that the 95% intervals decide, which are at least a quarter of
    all, both together."""
    return usually_in_generic_tests(results, (CMMALLOC, CMALLOC), (CFMMALLOC, CFMALLOC))


@claim(("RegEff", "section 7, figures 3(c), 3(d)", CYCLE_AND_P), substituted=needs_lists)
def cfmm_scatter(results):
    """CFMMalloc takes 1.57 to 2.09 times as long as ScatterAlloc in figures 3(c) and 3(d).
    Rule: the median of the ratios over all points is in that range, within 25%."""
    return median_between(
        1.57 * 0.75, 2.09 * 1.25, ratios_of_cycles_and_p(results, CFMMALLOC, "scatter")
    )
