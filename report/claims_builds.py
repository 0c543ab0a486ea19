# SPDX-License-Identifier: MIT
"""RegEff's claims about builds and fragmentation."""

from .claims import (
    CMALLOC,
    CFMALLOC,
    CFMMALLOC,
    CMMALLOC,
    LISTS,
    HALLOC,
    REGEFF_BUILDS,
    claim,
    figure,
    label,
    need,
    needs_halloc,
    needs_lists,
    needs_lists_and_halloc,
    ratios,
)
from .claims_regeff import P120
from .samples import median


def build_medians(results, item):
    """{scene: {allocator: median}} of complete builds."""
    scenes = {}
    for row in results.rows(item):
        if row.get("status") == "ok" and row.get("median_ms"):
            scenes.setdefault(row["scene"], {})[row["allocator"]] = row["median_ms"]
    return need(scenes, "complete builds")


def slowdowns(results, item, allocators, over="atomic"):
    """The slowdowns of these allocators on all scenes."""
    return need(
        [
            times[a] / times[over]
            for times in build_medians(results, item).values()
            if over in times
            for a in allocators
            if a in times
        ],
        "slowdowns",
    )


def span(values):
    return f"{figure(min(values))} to {figure(max(values))}, median {figure(median(values))}"


@claim(
    "build-scatter",
    "RegEff",
    "section 7, table 3",
    "regeff-t3 regeff-3a",
    "ScatterAlloc, near AtomicMalloc in the generic tests, is significantly slower in builds",
    "its median slowdown over the scenes is at least 1.5, and above its median ratio to AtomicMalloc in figure 3(a)",
)
def _(results):
    built = median(slowdowns(results, "regeff-t3", ("scatter",)))
    generic = median(
        list(ratios(results, "regeff-3a", "scatter", "atomic", "payload_bytes", **P120).values())
    )
    return (
        built >= 1.5 and built > generic,
        f"builds {figure(built)}, figure 3(a) {figure(generic)}",
    )


@claim(
    "build-halloc-small",
    "RegEff",
    "section 7, table 3",
    "regeff-t3",
    "Halloc is usually the fastest where the pool is 200 root nodes",
    "on more than half of the scenes no other of the paper's allocators that free is faster; where it does not"
    " complete, it loses",
    substituted=needs_halloc,
)
def _(results):
    scenes = build_medians(results, "regeff-t3")
    fastest = [
        min((a for a in REGEFF_BUILDS if a in times), key=times.get, default=None)
        for times in scenes.values()
    ]
    wins = fastest.count(HALLOC)
    counts = ", ".join(
        f"{label(results, a)} on {fastest.count(a)}" for a in REGEFF_BUILDS if a in fastest
    )
    return wins > len(scenes) / 2, f"fastest: {counts} of {len(scenes)} scenes"


@claim(
    "build-lists",
    "RegEff",
    "section 7, table 3",
    "regeff-t3",
    "CMalloc and its variants take 0.92 to 1.49 times as long as AtomicMalloc",
    "no slowdown of the four is above 1.5",
    substituted=needs_lists,
)
def _(results):
    values = slowdowns(results, "regeff-t3", LISTS)
    return max(values) <= 1.5, span(values)


# Median slowdowns over the scenes: name, where, item, (allocator, reference), range, statement.
SLOWDOWNS = (
    (
        "build-cuda",
        "section 7, table 3",
        "regeff-t3",
        ("cuda", "atomic"),
        (2.5, 20.62),
        "CudaMalloc builds take 2.5 to 20.6 times as long as AtomicMalloc's",
    ),
    (
        "build-aw",
        "section 7, table 3",
        "regeff-t3",
        ("awmalloc", "atomic"),
        (0.8, 1.1),
        "AWMalloc builds as fast as AtomicMalloc (0.83 to 1.07)",
    ),
)


def add_slowdowns():
    for name, where, item, (allocator, over), (low, high), statement in SLOWDOWNS:

        def check(results, item=item, allocator=allocator, over=over, low=low, high=high):
            values = slowdowns(results, item, (allocator,), over)
            return low <= median(values) <= high, span(values)

        rule = f"the median over the scenes of the ratio of their times is between {low} and {high}"
        claim(name, "RegEff", where, item, statement, rule)(check)


add_slowdowns()


@claim(
    "build-scatter-lists",
    "RegEff",
    "section 9",
    "regeff-t4 regeff-t4-pages",
    "On large scenes builds with CMalloc are 1.4 to 4.6 times faster than with ScatterAlloc with its best page size",
    "the median over the scenes of ScatterAlloc's time, with the best of 4, 8 and 16 KiB on each scene, over CMalloc's"
    " is in that range",
    substituted=needs_lists,
)
def _(results):
    best, sizes = {}, {}
    for row in results.rows("regeff-t4-pages", "scatter"):
        if row.get("status") != "ok" or not row.get("median_ms"):
            continue
        sizes.setdefault(row["scene"], set()).add(row.get("page_bytes"))
        best[row["scene"]] = min(row["median_ms"], best.get(row["scene"], row["median_ms"]))
    lists = build_medians(results, "regeff-t4")
    values = need(
        [ms / lists[s][CMALLOC] for s, ms in best.items() if CMALLOC in lists.get(s, {})],
        "CMalloc and ScatterAlloc on one scene",
    )
    need(all(len(of) == 3 for of in sizes.values()), "all three sizes of pages")
    return 1.4 <= median(values) <= 4.6, span(values)


@claim(
    "build-halloc-lists",
    "RegEff",
    "section 7, table 4",
    "regeff-t4",
    "On large scenes CMalloc is 1.5 to 2.3 times faster than Halloc",
    "the median over the scenes of the ratio of their times, with the device's malloc behind Halloc, is in that range",
    substituted=needs_lists_and_halloc,
)
def _(results):
    values = slowdowns(results, "regeff-t4", (HALLOC,), CMALLOC)
    return 1.5 <= median(values) <= 2.3, span(values)


@claim(
    "build-200",
    "RegEff",
    "section 7, table 3",
    "regeff-t3",
    "A pool of 200 root nodes suffices even for AtomicMalloc, which never frees",
    "AtomicMalloc completes every scene",
    needs="full",
)
def _(results):
    rows = need(results.rows("regeff-t3", "atomic"), "AtomicMalloc")
    short = [row["scene"] for row in rows if row["status"] != "ok"]
    return not short, (
        f"incomplete: {', '.join(short)}" if short else f"all {len(rows)} scenes are complete"
    )


@claim(
    "build-20-atomic",
    "RegEff",
    "section 7, table 4",
    "regeff-t4",
    "In a pool of 20 root nodes AtomicMalloc cannot build",
    "AtomicMalloc completes no scene",
    needs="",
)
def _(results):
    rows = need(results.rows("regeff-t4", "atomic"), "AtomicMalloc")
    whole = [row["scene"] for row in rows if row["status"] == "ok"]
    return not whole, (
        f"complete: {', '.join(whole)}" if whole else f"incomplete on all {len(rows)} scenes"
    )


@claim(
    "build-20-lists",
    "RegEff",
    "section 7, table 4",
    "regeff-t4",
    "In a pool of 20 root nodes CMalloc or a variant is the fastest",
    "on every scene one of the four has the shortest median of the paper's allocators",
    substituted=needs_lists_and_halloc,
)
def _(results):
    scenes = build_medians(results, "regeff-t4")
    fastest = {
        s: min((a for a in REGEFF_BUILDS if a in t), key=t.get, default=None)
        for s, t in scenes.items()
    }
    return (
        all(a in LISTS for a in fastest.values()),
        ", ".join(
            f"{s}: {label(results, a) if a else 'none completes'}" for s, a in fastest.items()
        ),
    )


@claim(
    "build-multi",
    "RegEff",
    "section 7, table 4",
    "regeff-t3 regeff-t4",
    "In builds an offset per multiprocessor does not help: CMMalloc and CFMMalloc are often slower than CMalloc and"
    " CFMalloc",
    "the median over scenes of CMMalloc over CMalloc and of CFMMalloc over CFMalloc is 1 or more",
    substituted=needs_lists,
)
def _(results):
    values = [
        times[multi] / times[single]
        for item in ("regeff-t3", "regeff-t4")
        for times in build_medians(results, item).values()
        for multi, single in ((CMMALLOC, CMALLOC), (CFMMALLOC, CFMALLOC))
        if multi in times and single in times
    ]
    need(values, "both kinds of list allocators")
    return median(values) >= 1, span(values)


def peak(results, item, allocator, which, key):
    found = {}
    for row in results.rows(item, allocator, blocks=120):
        value = row.get("memory", {}).get(which, {}).get(key)
        if value is not None:
            found[row["payload_bytes"]] = value
    return need(dict(sorted(found.items())), f"fragmentation of {label(results, allocator)}")


@claim(
    "internal-small",
    "RegEff",
    "section 8, figure 5(a)",
    "regeff-5a",
    "Internal fragmentation of CMalloc is 0.75 for 4 bytes and falls to zero with the size",
    "0.75 to 0.875 at 4 bytes, and at most 0.05 at the largest payload",
    needs="",
    substituted=needs_lists,
)
def _(results):
    values = peak(results, "regeff-5a", CMALLOC, "peak", "internal_fragmentation")
    small, large = values.get(4), values[max(values)]
    need(small is not None, "4 bytes")
    return (
        0.74 <= small <= 0.88 and large <= 0.05,
        f"{small:.3f} at 4 bytes, {large:.4f} at {max(values)} bytes",
    )


@claim(
    "internal-variants",
    "RegEff",
    "section 8, figure 5(a)",
    "regeff-5a",
    "Internal fragmentation is the same for CMalloc and its variants",
    "at no payload are two of the four more than 0.02 apart",
    needs="",
    substituted=needs_lists,
)
def _(results):
    values = [peak(results, "regeff-5a", a, "peak", "internal_fragmentation") for a in LISTS]
    points = set.intersection(*(set(v) for v in values))
    apart = max(max(v[x] for v in values) - min(v[x] for v in values) for x in points)
    return apart <= 0.02, f"at most {apart:.3f} apart"


@claim(
    "external-generic",
    "RegEff",
    "section 8, figure 5(b)",
    "regeff-5b",
    "External fragmentation of CMalloc and its variants after Alloc Dealloc is between 0.3 and almost 1",
    "all values of the four are between 0.3 and 1",
    needs="full",
    substituted=needs_lists,
)
def _(results):
    values = [
        v
        for a in LISTS
        for v in peak(results, "regeff-5b", a, "end", "external_fragmentation").values()
    ]
    return min(values) >= 0.3, f"{min(values):.3f} to {max(values):.3f}"


INTERNAL = 6  # of a point of a recording (docs/reproduction.md)


@claim(
    "internal-build",
    "RegEff",
    "section 8",
    "regeff-recorded",
    "In builds internal fragmentation of CMalloc is below 0.01",
    "in every recorded build it is below 0.01 where most blocks are in use; the size of a block is the min distance to"
    " the next one that was seen for requests of its size",
    needs="full",
    substituted=needs_lists,
)
def _(results):
    values = {}
    for row in results.rows("regeff-recorded", CMALLOC):
        points = [p for p in row.get("points", []) if len(p) > INTERNAL and p[INTERNAL] is not None]
        if row.get("status") == "ok" and points:
            values[row["scene"]] = max(points, key=lambda point: point[2])[INTERNAL]
    need(values, "a recorded build with CMalloc")
    return (
        max(values.values()) < 0.01,
        ", ".join(f"{scene}: {value:.3f}" for scene, value in values.items()),
    )


@claim(
    "external-build",
    "RegEff",
    "section 8",
    "regeff-t3",
    "After builds external fragmentation of CMalloc is 0.94 to 0.995",
    "the median over scenes, of CMalloc and its variants, is in that range",
    needs="full",
    substituted=needs_lists,
)
def _(results):
    values = [
        row["memory"]["external_fragmentation"]
        for a in LISTS
        for row in results.rows("regeff-t3", a)
        if "external_fragmentation" in row.get("memory", {})
    ]
    need(values, "fragmentation after builds")
    return 0.94 <= median(values) <= 0.995, span(values)


# Allocators that free, as published.
PUBLISHED = (*LISTS, HALLOC, "scatter-builtin", "cuda")


def fastest_published(results):
    """{scene: {builder: shortest median}} of own-builder. The single kernel's allocator is one that
    frees and is as published."""
    times = {}
    for row in results.rows("own-builder"):
        if row.get("status") != "ok" or not row.get("median_ms"):
            continue
        if row["builder"] == "single-kernel" and row["allocator"] not in PUBLISHED:
            continue
        builder = times.setdefault(row["scene"], {})
        kept = builder.get(row["builder"])
        if kept is None or row["median_ms"] < kept["median_ms"]:
            builder[row["builder"]] = row
    return need(
        {s: t for s, t in times.items() if len(t) == 2},
        "both builders, the single kernel with an allocator as published",
    )


@claim(
    "single-kernel",
    "RegEff",
    "section 6",
    "own-builder",
    "A build in a single kernel is at least 25% faster than one with kernels per level (published: 25 to 45%)",
    "the median over scenes of the per-level builder's time over the single kernel's, with the fastest allocator that"
    " frees and is as published, is at least 1.25",
)
def _(results):
    times = fastest_published(results)
    values = [t["per-level"]["median_ms"] / t["single-kernel"]["median_ms"] for t in times.values()]
    used = sorted({t["single-kernel"]["label"] for t in times.values()})
    return median(values) >= 1.25, f"{span(values)}, with {' and '.join(used)}"


@claim(
    "single-kernel-memory",
    "RegEff",
    "section 6",
    "own-builder",
    "A single kernel with dynamic allocation needs slightly more memory than static allocation for each level",
    "the median over scenes of the peak bytes in use plus the workspace, over the peak bytes in use of the"
    " per-level builder, is from 1 to 1.5",
    needs="full",
)
def _(results):
    memory = {}
    for row in results.rows("own-builder"):
        of = row.get("memory", {})
        builder = memory.setdefault(row["scene"], {})
        if row.get("builder") == "per-level" and of.get("peak_bytes"):
            builder["per-level"] = of["peak_bytes"]
        elif of.get("high_water_bytes") and of.get("workspace_bytes"):
            builder.setdefault("single", of["high_water_bytes"] + of["workspace_bytes"])
    values = need(
        [m["single"] / m["per-level"] for m in memory.values() if len(m) == 2],
        "the memory of both builders",
    )
    return 1 <= median(values) <= 1.5, span(values)
