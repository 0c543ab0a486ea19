# SPDX-License-Identifier: MIT
"""RegEff's claims about builds and fragmentation."""

from .claims import LISTS, REGEFF_FULL, claim, figure, label, need, ratios
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
)
def _(results):
    scenes = build_medians(results, "regeff-t3")
    fastest = [
        min((a for a in REGEFF_FULL if a in times), key=times.get, default=None)
        for times in scenes.values()
    ]
    wins = fastest.count("halloc")
    counts = ", ".join(
        f"{label(results, a)} on {fastest.count(a)}" for a in REGEFF_FULL if a in fastest
    )
    return wins > len(scenes) / 2, f"fastest: {counts} of {len(scenes)} scenes"


@claim(
    "build-lists",
    "RegEff",
    "section 7, table 3",
    "regeff-t3",
    "CMalloc and its variants take 0.92 to 1.49 times as long as AtomicMalloc",
    "no slowdown of the four is above 1.5",
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
    (
        "build-scatter-lists",
        "section 9",
        "regeff-t4",
        ("scatter", "cmalloc"),
        (1.4, 4.6),
        "On large scenes builds with CMalloc are 1.4 to 4.6 times faster than with ScatterAlloc",
    ),
    (
        "build-halloc-lists",
        "section 7, table 4",
        "regeff-t4",
        ("halloc", "cmalloc"),
        (1.5, 2.3),
        "On large scenes CMalloc is 1.5 to 2.3 times faster than Halloc",
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
)
def _(results):
    scenes = build_medians(results, "regeff-t4")
    fastest = {
        s: min((a for a in REGEFF_FULL if a in t), key=t.get, default=None)
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
)
def _(results):
    values = [
        times[multi] / times[single]
        for item in ("regeff-t3", "regeff-t4")
        for times in build_medians(results, item).values()
        for multi, single in (("cmmalloc", "cmalloc"), ("cfmmalloc", "cfmalloc"))
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
)
def _(results):
    values = peak(results, "regeff-5a", "cmalloc", "peak", "internal_fragmentation")
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
)
def _(results):
    values = [
        v
        for a in LISTS
        for v in peak(results, "regeff-5b", a, "end", "external_fragmentation").values()
    ]
    return min(values) >= 0.3, f"{min(values):.3f} to {max(values):.3f}"


@claim(
    "internal-build",
    "RegEff",
    "section 8",
    "regeff-t3",
    "In builds internal fragmentation of CMalloc is below 0.01",
    "not decidable: no block is in use after the build, when the pool can be walked",
    needs="full",
)
def _(results):
    return None, "every array has been freed when the pool is walked"


@claim(
    "external-build",
    "RegEff",
    "section 8",
    "regeff-t3",
    "After builds external fragmentation of CMalloc is 0.94 to 0.995",
    "the median over scenes, of CMalloc and its variants, is in that range",
    needs="full",
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


@claim(
    "single-kernel",
    "RegEff",
    "section 6",
    "own-builder",
    "A build in a single kernel is 25 to 45% faster than one with kernels per level",
    "the median over scenes of the per-level builder's time over the single kernel's, with the fastest allocator that"
    " frees, is at least 1.25",
)
def _(results):
    times = {}
    for row in results.rows("own-builder"):
        if row.get("status") == "ok" and not row.get("lower_bound"):
            builder = times.setdefault(row["scene"], {})
            builder[row["builder"]] = min(
                row["median_ms"], builder.get(row["builder"], row["median_ms"])
            )
    values = need(
        [t["per-level"] / t["single-kernel"] for t in times.values() if len(t) == 2],
        "both builders",
    )
    return median(values) >= 1.25, span(values)
