# SPDX-License-Identifier: MIT
"""RegEff's claims about builds and fragmentation."""

import re

from .claims import CMALLOC, CFMALLOC, CFMMALLOC, CMMALLOC, LISTS, HALLOC, REGEFF_BUILDS
from .claims import all_ratios, claim, figure, label, median_between, need, needs_presplit, span
from .figures import median


def build_medians(results, item, allocators):
    """{scene: {allocator: median}} of complete builds."""
    scenes = {}
    for allocator in dict.fromkeys(allocators):
        for row in results.complete(item, allocator):
            scenes.setdefault(row["scene"], {})[allocator] = row["median_ms"]
    return need(scenes, "complete builds")


def slowdowns(results, items, *pairs):
    """On all scenes, the times of each pair's first allocator over those of its second."""
    both = [allocator for pair in pairs for allocator in pair]
    scenes = [t for item in items.split() for t in build_medians(results, item, both).values()]
    values = [t[a] / t[over] for t in scenes for a, over in pairs if a in t and over in t]
    return need(values, "slowdowns")


def fastest_of_paper(results, item):
    """{scene: the fastest of the paper's allocators that complete it}"""
    return {
        scene: min(times, key=times.get)
        for scene, times in build_medians(results, item, REGEFF_BUILDS).items()
    }


@claim()
def build_scatter(results):
    built = median(slowdowns(results, "regeff-t3", ("scatter", "atomic")))
    generic = median(all_ratios(results, ["regeff-3a"], "scatter", "atomic", "payload_bytes"))
    return built >= 1.5 and built > generic, f"builds {figure(built)} times, figure 3(a) {figure(generic)} times"


@claim(published="halloc")
def build_halloc_small(results):
    needs_presplit(results, "root", "regeff-t3")
    fastest = list(fastest_of_paper(results, "regeff-t3").values())
    counts = ", ".join(
        f"{label(results, a)} on {fastest.count(a)}" for a in REGEFF_BUILDS if a in fastest
    )
    return (fastest.count(HALLOC) > len(fastest) / 2, f"fastest: {counts} of {len(fastest)} scenes")


@claim(published="lists")
def build_lists(results):
    needs_presplit(results, "root", "regeff-t3")
    values = slowdowns(results, "regeff-t3", *((a, "atomic") for a in LISTS))
    return max(values) <= 1.5, f"{span(values)} times"


@claim()
def build_cuda(results):
    return median_between(2.5, 20.62, slowdowns(results, "regeff-t3", ("cuda", "atomic")))


@claim()
def build_aw(results):
    return median_between(0.8, 1.1, slowdowns(results, "regeff-t3", ("awmalloc", "atomic")))


def over_cmalloc(results, times_of, low, high):
    """(answer, evidence): whether the median over the scenes of these times over CMalloc's is in the
    range. A build that the time limit stopped gives an upper bound of its ratio."""
    needs_presplit(results, "root", "regeff-t4")
    found, bounds = {}, 0
    for row in results.rows("regeff-t4", CMALLOC):
        limit = re.search(r"limit of ([\d.]+) s", row.get("reason") or "")
        ms = row.get("median_ms") or (1000 * float(limit[1]) if limit else None)
        if ms and row["scene"] in times_of:
            found[row["scene"]] = times_of[row["scene"]] / ms
            bounds += not row.get("median_ms")
    value = median(need(list(found.values()), "both allocators on one scene"))
    text = f"{span(list(found.values()))} times" + (f"; {bounds} of them at most, by the time limit" if bounds else "")
    return (low <= value <= high if value < low or not bounds else None), text


@claim(published="lists")
def build_scatter_lists(results):
    scatter = {}
    for row in results.complete("regeff-t4-pages", "scatter"):
        scatter.setdefault(row["scene"], {})[row.get("page_bytes")] = row["median_ms"]
    need(all(len(times) == 3 for times in scatter.values()), "all three sizes of pages")
    return over_cmalloc(results, {s: min(of.values()) for s, of in scatter.items()}, 1.4, 4.6)


@claim(published="lists and halloc")
def build_halloc_lists(results):
    halloc = {row["scene"]: row["median_ms"] for row in results.complete("regeff-t4", HALLOC)}
    return over_cmalloc(results, halloc, 1.5, 2.3)


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
    needs_presplit(results, "root", "regeff-t4")
    fastest = fastest_of_paper(results, "regeff-t4")
    scenes = {row["scene"] for row in results.rows("regeff-t4", CMALLOC)}
    need(len(fastest) == len(scenes), "a complete build of every scene")
    return (
        all(a in LISTS for a in fastest.values()),
        ", ".join(f"{s}: {label(results, a)}" for s, a in fastest.items()),
    )


@claim(published="lists")
def build_multi(results):
    needs_presplit(results, "root", "regeff-t3", "regeff-t4")
    pairs = ((CMMALLOC, CMALLOC), (CFMMALLOC, CFMALLOC))
    values = slowdowns(results, "regeff-t3 regeff-t4", *pairs)
    scenes = {row["scene"] for item in ("regeff-t3", "regeff-t4") for row in results.rows(item, CMALLOC)}
    need(len(values) >= len(scenes), "both pairs on half of the scenes")
    return median(values) >= 1, f"{span(values)} times"


def peak(results, item, allocator, which, key):
    found = {}
    for row in results.rows(item, allocator):
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
        0.74 <= small <= 0.76 and large <= 0.05,
        f"{small:.3f} at 4 bytes, {large:.4f} at {max(values)} bytes; 0.75 is (16 - 4) / 16",
    )


@claim(published="lists")
def internal_variants(results):
    needs_presplit(results, "payload", "regeff-5a")
    values = [peak(results, "regeff-5a", a, "peak", "internal_fragmentation") for a in LISTS]
    points = set.intersection(*(set(v) for v in values))
    apart = max(max(v[x] for v in values) - min(v[x] for v in values) for x in points)
    return apart <= 0.02, f"at most {apart:.3f} apart"


@claim(published="lists")
def external_generic(results):
    needs_presplit(results, "payload", "regeff-5b")
    found = [peak(results, "regeff-5b", a, "end", "external_fragmentation") for a in LISTS]
    values = [v for of in found for v in of.values()]
    return min(values) >= 0.3, f"{min(values):.3f} to {max(values):.3f}"


@claim(published="lists")
def external_build(results):
    needs_presplit(results, "root", "regeff-t3")
    values = [
        row["memory"]["external_fragmentation"]
        for a in LISTS
        for row in results.rows("regeff-t3", a)
        if "external_fragmentation" in row.get("memory", {})
    ]
    return median_between(0.94, 0.995, need(values, "fragmentation after builds"), "")
