# SPDX-License-Identifier: MIT
"""RegEff's claims about builds and fragmentation."""

from .claims import CMALLOC, CFMALLOC, CFMMALLOC, CMMALLOC, LISTS, HALLOC, REGEFF_BUILDS
from .claims import all_ratios, claim, figure, label, median_between, need, span
from .claims_regeff import P120
from .samples import median


def build_medians(results, item):
    """{scene: {allocator: median}} of complete builds."""
    scenes = {}
    for row in results.complete(item):
        scenes.setdefault(row["scene"], {})[row["allocator"]] = row["median_ms"]
    return need(scenes, "complete builds")


def slowdowns(results, items, *pairs):
    """On all scenes, the times of each pair's first allocator over those of its second."""
    scenes = [times for item in items.split() for times in build_medians(results, item).values()]
    values = [t[a] / t[over] for t in scenes for a, over in pairs if a in t and over in t]
    return need(values, "slowdowns")


def fastest_of_paper(results, item):
    """{scene: the fastest of the paper's allocators, or None}"""
    return {
        scene: min((a for a in REGEFF_BUILDS if a in times), key=times.get, default=None)
        for scene, times in build_medians(results, item).items()
    }


@claim()
def build_scatter(results):
    built = median(slowdowns(results, "regeff-t3", ("scatter", "atomic")))
    generic = median(
        all_ratios(results, ["regeff-3a"], "scatter", "atomic", "payload_bytes", **P120)
    )
    return (
        built >= 1.5 and built > generic,
        f"builds {figure(built)}, figure 3(a) {figure(generic)}",
    )


@claim(published="halloc")
def build_halloc_small(results):
    fastest = list(fastest_of_paper(results, "regeff-t3").values())
    counts = ", ".join(
        f"{label(results, a)} on {fastest.count(a)}" for a in REGEFF_BUILDS if a in fastest
    )
    return (fastest.count(HALLOC) > len(fastest) / 2, f"fastest: {counts} of {len(fastest)} scenes")


@claim(published="lists")
def build_lists(results):
    values = slowdowns(results, "regeff-t3", *((a, "atomic") for a in LISTS))
    return max(values) <= 1.5, span(values)


@claim()
def build_cuda(results):
    return median_between(2.5, 20.62, slowdowns(results, "regeff-t3", ("cuda", "atomic")))


@claim()
def build_aw(results):
    return median_between(0.8, 1.1, slowdowns(results, "regeff-t3", ("awmalloc", "atomic")))


@claim(published="lists")
def build_scatter_lists(results):
    scatter = {}
    for row in results.complete("regeff-t4-pages", "scatter"):
        scatter.setdefault(row["scene"], {})[row.get("page_bytes")] = row["median_ms"]
    lists = build_medians(results, "regeff-t4")
    values = need(
        [
            min(times.values()) / lists[s][CMALLOC]
            for s, times in scatter.items()
            if CMALLOC in lists.get(s, {})
        ],
        "CMalloc and ScatterAlloc on one scene",
    )
    need(all(len(times) == 3 for times in scatter.values()), "all three sizes of pages")
    return median_between(1.4, 4.6, values)


@claim(published="lists and halloc")
def build_halloc_lists(results):
    return median_between(1.5, 2.3, slowdowns(results, "regeff-t4", (HALLOC, CMALLOC)))


def atomic_builds(results, item):
    """(complete scenes, others) of AtomicMalloc."""
    rows = need(results.rows(item, "atomic"), "AtomicMalloc")
    return tuple(
        [row["scene"] for row in rows if (row["status"] == "ok") == whole]
        for whole in (True, False)
    )


@claim()
def build_200(results):
    whole, short = atomic_builds(results, "regeff-t3")
    return not short, (
        f"incomplete: {', '.join(short)}" if short else f"all {len(whole)} scenes are complete"
    )


@claim()
def build_20_atomic(results):
    whole, short = atomic_builds(results, "regeff-t4")
    return not whole, (
        f"complete: {', '.join(whole)}" if whole else f"incomplete on all {len(short)} scenes"
    )


@claim(published="lists and halloc")
def build_20_lists(results):
    fastest = fastest_of_paper(results, "regeff-t4")
    return (
        all(a in LISTS for a in fastest.values()),
        ", ".join(
            f"{s}: {label(results, a) if a else 'none completes'}" for s, a in fastest.items()
        ),
    )


@claim(published="lists")
def build_multi(results):
    pairs = ((CMMALLOC, CMALLOC), (CFMMALLOC, CFMALLOC))
    values = slowdowns(results, "regeff-t3 regeff-t4", *pairs)
    return median(values) >= 1, span(values)


def peak(results, item, allocator, which, key):
    found = {}
    for row in results.rows(item, allocator, blocks=120):
        value = row.get("memory", {}).get(which, {}).get(key)
        if value is not None:
            found[row["payload_bytes"]] = value
    return need(dict(sorted(found.items())), f"fragmentation of {label(results, allocator)}")


@claim(published="lists")
def internal_small(results):
    values = peak(results, "regeff-5a", CMALLOC, "peak", "internal_fragmentation")
    small, large = values.get(4), values[max(values)]
    need(small is not None, "4 bytes")
    return (
        0.74 <= small <= 0.88 and large <= 0.05,
        f"{small:.3f} at 4 bytes, {large:.4f} at {max(values)} bytes",
    )


@claim(published="lists")
def internal_variants(results):
    values = [peak(results, "regeff-5a", a, "peak", "internal_fragmentation") for a in LISTS]
    points = set.intersection(*(set(v) for v in values))
    apart = max(max(v[x] for v in values) - min(v[x] for v in values) for x in points)
    return apart <= 0.02, f"at most {apart:.3f} apart"


@claim(published="lists")
def external_generic(results):
    found = [peak(results, "regeff-5b", a, "end", "external_fragmentation") for a in LISTS]
    values = [v for of in found for v in of.values()]
    return min(values) >= 0.3, f"{min(values):.3f} to {max(values):.3f}"


INTERNAL = 6  # of a point of a recording (docs/reproduction.md)


def internal_points(row):
    """The points of a recording that have the internal fragmentation."""
    return [p for p in row.get("points", []) if len(p) > INTERNAL and p[INTERNAL] is not None]


def internal_at_peak(row):
    """Internal fragmentation of a recording where most blocks are in use."""
    points = internal_points(row)
    return max(points, key=lambda point: point[2])[INTERNAL] if points else None


@claim(published="lists")
def internal_build(results):
    rows = [row for row in results.rows("regeff-recorded", CMALLOC) if row.get("status") == "ok"]
    values = {row["scene"]: internal_at_peak(row) for row in rows if internal_points(row)}
    need(values, "a recorded build with CMalloc")
    return (
        max(values.values()) < 0.01,
        ", ".join(f"{scene}: {value:.3f}" for scene, value in values.items()),
    )


@claim(published="lists")
def external_build(results):
    values = [
        row["memory"]["external_fragmentation"]
        for a in LISTS
        for row in results.rows("regeff-t3", a)
        if "external_fragmentation" in row.get("memory", {})
    ]
    return median_between(0.94, 0.995, need(values, "fragmentation after builds"))
