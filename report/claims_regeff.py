# SPDX-License-Identifier: MIT
"""RegEff's claims about registers and the generic tests."""

from .claims import (
    CFMALLOC,
    CFMMALLOC,
    CMALLOC,
    CMMALLOC,
    FDG,
    LISTS,
    REGEFF_FULL,
    NotMeasured,
    always,
    claim,
    figure,
    label,
    medians,
    need,
    needs_fdg,
    needs_lists,
    ratios,
    spread,
    usually_faster,
)
from .samples import median
from .text import bytes_text

P120 = {"blocks": 120}
# The generic tests' figures and their x axes.
GENERIC = (
    ("regeff-3a", "payload_bytes"),
    ("regeff-3b", "pool_bytes"),
    ("regeff-3c", "iterations"),
    ("regeff-3d", "blocks"),
    ("regeff-3d-quarter", "blocks"),
)


def registers(results, coalesced=False):
    key = "calls_coalesced" if coalesced else "calls"
    return need(
        {
            row["allocator"]: row[key]["both"]["registers"]
            for row in results.rows("regeff-t1")
            if key in row
        },
        "registers",
    )


@claim(
    "registers-lists",
    "RegEff",
    "table 1",
    "regeff-t1",
    "CMalloc and its variants need fewer registers than ScatterAlloc and Halloc",
    "the max number of registers of a malloc and a free of the four is below the min of the two",
    substituted=needs_lists,
)
def _(results):
    use = registers(results)
    lists, others = [use[a] for a in LISTS if a in use], [
        use[a] for a in ("scatter", "halloc") if a in use
    ]
    need(lists and others, "both kinds of allocators")
    return (
        max(lists) < min(others),
        f"{min(lists)} to {max(lists)} against {min(others)} to {max(others)}",
    )


@claim(
    "registers-atomic",
    "RegEff",
    "table 1",
    "regeff-t1",
    "AtomicMalloc needs the fewest registers of all",
    "no allocator of the paper needs fewer registers in a kernel with a malloc and a free",
)
def _(results):
    use = registers(results)
    need("atomic" in use, "AtomicMalloc")
    others = need(
        {a: use[a] for a in ("awmalloc", FDG, *REGEFF_FULL) if a in use}, "another allocator"
    )
    fewest = min(others, key=others.get)
    return (
        use["atomic"] <= others[fewest],
        f"{use['atomic']}; next {label(results, fewest)} with {others[fewest]}",
    )


@claim(
    "registers-coalescing",
    "RegEff",
    "table 1",
    "regeff-t1",
    "Coalescing costs at most 11 registers",
    "none of the paper's allocators needs more than 11 additional registers with the coalescing adaptor",
)
def _(results):
    plain, coalesced = registers(results), registers(results, coalesced=True)
    more = {
        a: coalesced[a] - plain[a]
        for a in ("atomic", "awmalloc", FDG, *REGEFF_FULL)
        if a in plain and a in coalesced
    }
    worst = max(more, key=more.get)
    return more[worst] <= 11, f"{min(more.values())} to {more[worst]} ({label(results, worst)})"


@claim(
    "ad-slowest",
    "RegEff",
    "section 7, figure 3(a)",
    "regeff-3a",
    "CudaMalloc and FDGMalloc are by far the slowest in Alloc Dealloc",
    "at three quarters of the payloads up to 4 KiB, both take at least twice as long as every other of the paper's"
    " allocators",
    substituted=needs_fdg,
)
def _(results):
    times = {
        a: medians(results, "regeff-3a", a, "payload_bytes", **P120)
        for a in ("atomic", "awmalloc", FDG, *REGEFF_FULL)
    }
    slow, rest = [times.pop(a) for a in ("cuda", FDG)], list(times.values())
    points = [x for x in slow[0] if x <= 4096 and x in slow[1]]
    need(points, "CudaMalloc and FDGMalloc")
    far = {
        a: sum(s[x] >= 2 * max(r[x] for r in rest if x in r) for x in points)
        for a, s in zip(("cuda", FDG), slow)
    }
    return (
        all(n >= 0.75 * len(points) for n in far.values()),
        f"CudaMalloc at {far['cuda']}, FDGMalloc at {far[FDG]} of {len(points)} payloads",
    )


@claim(
    "ad-fdg-cuda",
    "RegEff",
    "section 7, figure 3(a)",
    "regeff-3a",
    "FDGMalloc is slower than CudaMalloc in Alloc Dealloc",
    "CudaMalloc is faster at 80% of the points that the 95% intervals decide, which are at least a quarter of all",
    substituted=needs_fdg,
)
def _(results):
    return usually_faster(results, [("regeff-3a", "cuda", FDG, "payload_bytes", P120)])


@claim(
    "ad-constant",
    "RegEff",
    "section 7, figure 3(a)",
    "regeff-3a",
    "Most allocators take the same time for every payload",
    "slowest over fastest median is at most 2 for more than half of the paper's allocators except CudaMalloc",
)
def _(results):
    found = {}
    for allocator in ("atomic", "awmalloc", FDG, "scatter", "halloc", *LISTS):
        try:
            found[allocator] = spread(results, "regeff-3a", allocator, "payload_bytes", **P120)
        except NotMeasured:
            continue
    need(found, "times over the payload")
    constant = [label(results, a) for a, s in found.items() if s <= 2]
    return (
        len(constant) > len(found) / 2,
        f"{len(constant)} of {len(found)}: {', '.join(constant) or 'none'}",
    )


SCATTER_LARGE = always(
    "requests larger than a page go to a buddy system here, not to pages that are locked one after the other"
)


@claim(
    "ad-scatter-large",
    "RegEff",
    "section 7, figure 3(a)",
    "regeff-3a",
    "ScatterAlloc is slow for requests larger than its pages",
    "not judged: what makes them slow is replaced",
    substituted=SCATTER_LARGE,
)
def _(results):
    return None, ""


@claim(
    "ad-halloc-large",
    "RegEff",
    "section 7, figure 3(a)",
    "regeff-large",
    "Halloc is slow for large requests, which it passes to CudaMalloc",
    "with the device's malloc behind Halloc, the median at the largest payload is at least 3 times that at 64 bytes",
)
def _(results):
    times = need(
        medians(results, "regeff-large", "halloc", "payload_bytes", large="builtin"),
        "Halloc with the device's malloc",
    )
    small, large = times.get(64) or min(times.values()), times[max(times)]
    return (
        large >= 3 * small,
        f"{figure(small)} ms at 64 bytes, {figure(large)} ms at {bytes_text(max(times))}",
    )


@claim(
    "pages-large-requests",
    "RegEff",
    "section 7, figure 4",
    "regeff-4",
    "ScatterAlloc takes prohibitively long for requests larger than a page",
    "not judged: what takes long is replaced",
    substituted=SCATTER_LARGE,
)
def _(results):
    return None, ""


@claim(
    "pages-cost",
    "RegEff",
    "section 7, figure 4",
    "regeff-4",
    "Larger pages cost ScatterAlloc time at every size",
    "at the smallest payload, the median grows by 10% or more from the smallest page to the largest that completes",
)
def _(results):
    rows = [
        row
        for row in results.rows("regeff-4", "scatter")
        if row.get("status") == "ok" and row.get("median_ms")
    ]
    need(rows, "ScatterAlloc with several pages")
    payload = min(row["payload_bytes"] for row in rows)
    times = {row["page_bytes"]: row["median_ms"] for row in rows if row["payload_bytes"] == payload}
    first, last = times[min(times)], times[max(times)]
    need(len(times) > 1, "two sizes of pages")
    return (
        last >= 1.1 * first,
        f"{figure(first)} ms with {bytes_text(min(times))}, {figure(last)} ms with {bytes_text(max(times))}",
    )


@claim(
    "pool-cuda",
    "RegEff",
    "section 7, figure 3(b)",
    "regeff-3b",
    "CudaMalloc is slower with a larger pool",
    "not judged: all sizes are measured in one heap",
    substituted=always(
        "the device's heap keeps the size of its first use: all sizes of the pool are the same heap"
    ),
)
def _(results):
    return None, ""


@claim(
    "pool-scatter",
    "RegEff",
    "section 7, figure 3(b)",
    "regeff-3b",
    "ScatterAlloc is slower in a small pool than in a large one",
    "the median with the smallest complete pool is at least 1.1 times that with the largest",
)
def _(results):
    times = need(medians(results, "regeff-3b", "scatter", "pool_bytes"), "ScatterAlloc")
    first, last = times[min(times)], times[max(times)]
    return (
        first >= 1.1 * last,
        f"{figure(first)} ms in {bytes_text(min(times))}, {figure(last)} ms in {bytes_text(max(times))}",
    )


@claim(
    "pool-halloc",
    "RegEff",
    "section 7, figure 3(b)",
    "regeff-3b",
    "Halloc does not start with a pool of 256 MB or less",
    "not judged: the limit is that of slabs of a fixed size",
    needs="",
    substituted=always("Halloc's slabs are sized to the pool here, so it starts in any pool"),
)
def _(results):
    return None, ""


@claim(
    "pool-others",
    "RegEff",
    "section 7, figure 3(b)",
    "regeff-3b",
    "The other allocators hardly depend on the size of the pool",
    "slowest over fastest median is at most 1.5 for AtomicMalloc, AWMalloc, CMalloc and its variants",
    substituted=needs_lists,
)
def _(results):
    found = {
        a: spread(results, "regeff-3b", a, "pool_bytes") for a in ("atomic", "awmalloc", *LISTS)
    }
    worst = max(found, key=found.get)
    return found[worst] <= 1.5, f"at most {figure(found[worst])} ({label(results, worst)})"


def growth(results, allocator):
    times = need(
        medians(results, "regeff-3c", allocator, "iterations", **P120), label(results, allocator)
    )
    need(min(times) <= 10 and max(times) >= 100, "10 and 100 iterations")
    return times[max(times)] / times[min(times)]


@claim(
    "cycle-fdg-constant",
    "RegEff",
    "section 7, figure 3(c)",
    "regeff-3c",
    "FDGMalloc takes almost the same time for every number of successive allocations",
    "100 allocations per thread take at most twice as long as 10",
    substituted=needs_fdg,
)
def _(results):
    value = growth(results, FDG)
    return value <= 2, f"{figure(value)} times"


@claim(
    "cycle-linear",
    "RegEff",
    "section 7, figure 3(c)",
    "regeff-3c",
    "Most allocators take time in proportion to the successive allocations",
    "100 allocations per thread take 5 to 20 times as long as 10 for more than half of the paper's others",
)
def _(results):
    found = {}
    for allocator in ("atomic", "awmalloc", *REGEFF_FULL):
        try:
            found[allocator] = growth(results, allocator)
        except NotMeasured:
            continue
    need(found, "times over the successive allocations")
    linear = [a for a, value in found.items() if 5 <= value <= 20]
    return len(linear) > len(found) / 2, ", ".join(
        f"{label(results, a)} {figure(v)}" for a, v in found.items()
    )


@claim(
    "cycle-fdg-late",
    "RegEff",
    "section 7, figure 3(c)",
    "regeff-3c",
    "FDGMalloc overtakes allocators other than CudaMalloc only at more than 70 successive allocations",
    "at 10 to 70 iterations none of the paper's others is slower than FDGMalloc; at 80 to 100 one is",
    substituted=needs_fdg,
)
def _(results):
    fdg = need(medians(results, "regeff-3c", FDG, "iterations", **P120), "FDGMalloc")
    others = [
        medians(results, "regeff-3c", a, "iterations", **P120)
        for a in ("atomic", "awmalloc", "scatter", "halloc", *LISTS)
    ]
    passed = [x for x, t in fdg.items() if any(o.get(x, 0) > t for o in others)]
    return bool(passed) and min(passed) > 70, (
        f"faster than another from {min(passed)} iterations on" if passed else "never"
    )


@claim(
    "cycle-halloc",
    "RegEff",
    "section 7, figure 3(c)",
    "regeff-3c",
    "With many successive allocations Halloc is faster than CMalloc and its variants",
    "at the max number of iterations its median is below that of each of the four",
    substituted=needs_lists,
)
def _(results):
    times = {
        a: need(medians(results, "regeff-3c", a, "iterations", **P120), label(results, a))
        for a in ("halloc", *LISTS)
    }
    steps = max(times["halloc"])
    best = min((a for a in LISTS), key=lambda a: times[a][steps])
    return (
        times["halloc"][steps] < times[best][steps],
        f"Halloc {figure(times['halloc'][steps])} ms, {label(results, best)} {figure(times[best][steps])} ms",
    )


def generic_pairs(first, second, figures=GENERIC):
    return [(item, first, second, x, {} if x == "blocks" else P120) for item, x in figures]


@claim(
    "aw-atomic",
    "RegEff",
    "section 7, figure 3",
    "regeff-3a regeff-3b regeff-3c regeff-3d regeff-3d-quarter",
    "AWMalloc is faster than AtomicMalloc in all generic tests",
    "faster at 80% of the points that the 95% intervals decide, which are at least a quarter of all",
)
def _(results):
    return usually_faster(results, generic_pairs("awmalloc", "atomic"))


@claim(
    "scatter-atomic",
    "RegEff",
    "section 7, figure 3",
    "regeff-3c regeff-3d regeff-3d-quarter",
    "ScatterAlloc is nearly as fast as AtomicMalloc in the generic tests",
    "the median of the ratio to AtomicMalloc's times in figures 3(c) and 3(d), with both probabilities, is at most 1.5",
)
def _(results):
    values = [
        r
        for item, x in GENERIC[2:]
        for r in ratios(
            results, item, "scatter", "atomic", x, **({} if x == "blocks" else P120)
        ).values()
    ]
    return (
        median(values) <= 1.5,
        f"{figure(min(values))} to {figure(max(values))}, median {figure(median(values))}",
    )


@claim(
    "multi-generic",
    "RegEff",
    "section 7, figure 3",
    "regeff-3a regeff-3b regeff-3c regeff-3d regeff-3d-quarter",
    "An offset per multiprocessor makes CMMalloc and CFMMalloc faster than CMalloc and CFMalloc in the generic tests",
    "faster at 80% of the points that the 95% intervals decide, which are at least a quarter of all, both together",
    substituted=needs_lists,
)
def _(results):
    return usually_faster(
        results, generic_pairs(CMMALLOC, CMALLOC) + generic_pairs(CFMMALLOC, CFMALLOC)
    )


@claim(
    "cfmm-scatter",
    "RegEff",
    "section 7, figures 3(c), 3(d)",
    "regeff-3c regeff-3d regeff-3d-quarter",
    "CFMMalloc takes 1.57 to 2.09 times as long as ScatterAlloc in figures 3(c) and 3(d)",
    "the median of the ratios over all points is in that range, within 25%",
    substituted=needs_lists,
)
def _(results):
    values = [
        r
        for item, x in GENERIC[2:]
        for r in ratios(
            results, item, CFMMALLOC, "scatter", x, **({} if x == "blocks" else P120)
        ).values()
    ]
    return (
        1.57 * 0.75 <= median(values) <= 2.09 * 1.25,
        f"{figure(min(values))} to {figure(max(values))}, median {figure(median(values))}",
    )
