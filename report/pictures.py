# SPDX-License-Identifier: MIT
"""The pictures that the page opens with: plots that answer what a reader asks first. Each is taken
from an item's results; those whose item was not measured are left out."""

from .claims import NotMeasured, if_measured, medians
from .claims_builds import build_medians, slowdowns
from .panels import PANELS
from .panels_pools import PoolRuns
from .plots import axis, curve, plot
from .samples import median
from .text import bytes_text, figure

MAX_SHOWN = 5
# One allocator of each family: more curves cannot be told apart at a glance. The items have all.
SHOWN = (
    *("atomic", "heapwood", "cmalloc-published", "cfmmalloc", "scatter"),
    *("halloc", "ouroboros-p-s", "bulk", "cuda"),
)


def ends_text(values, unit=""):
    """Names the lowest and the highest of {label: value}."""
    ends = (min(values, key=values.get), max(values, key=values.get))
    return ", ".join(f"{name} {figure(values[name])}{unit}" for name in ends)


def build_slowdowns(results, item):
    """Bars of the median slowdowns over the scenes, over AtomicMalloc."""
    labels, count = results.labels(), len(build_medians(results, item))
    found = if_measured(
        lambda a: median(slowdowns(results, item, (a, "atomic"))),
        (a for a in labels if a != "atomic"),
    )
    if not found:
        raise NotMeasured("slowdowns")
    values = {labels[a]: found[a] for a in sorted(found, key=found.get)}
    bars = plot(
        "What an allocator costs a k-d tree build",
        axis("allocator", log=False),
        axis("build time over AtomicMalloc's"),
        [curve("slowdown", list(values), list(values.values()))],
        "bars",
    )
    return bars, f"Median over {count} scene{'s' if count != 1 else ''}: {ends_text(values)}."


def picture_of(item, title, text_of, number=0):
    """A plot of an item's panel with fewer curves, another title and its legend below it."""

    def picture(results):
        plots = [b for b in PANELS[item](results) if b["kind"] == "plot" and b["curves"]]
        if len(plots) <= number:
            raise NotMeasured(item)
        curves = plots[number]["curves"]
        shown = [c for c in curves if c["allocator"] is None or c["allocator"] in SHOWN]
        changed = {"title": title, "curves": shown or curves, "legend": "below"}
        return {**plots[number], **changed}, text_of(results)

    return item, picture


def over_pools(results):
    runs = PoolRuns(results)
    found = {}
    for allocator, name in results.labels().items():
        values = [v for p in runs.pools if (v := runs.median_slowdown(p, allocator))]
        if len(values) > 1 and allocator != "atomic":
            found[name] = max(values) / min(values)
    if not found:
        return "The smaller the pool, the more an allocator has to search."
    worst = max(found, key=found.get)
    return f"The size of the pool changes the build time by up to {figure(found[worst])} times ({worst})."


def slowest_over_fastest(item, x, what, **settings):
    def text(results):
        found = {}
        for allocator, name in results.labels().items():
            times = medians(results, item, allocator, x, **settings).values()
            if len(times) > 1:
                found[name] = max(times) / min(times)
        if not found:
            return f"Time over {what}."
        return f"Slowest over fastest {what}: {ends_text(found, ' times')}."

    return text


def touched_by_builds(results):
    rows = [row for row in results.rows("own-pool") if row.get("points")]
    used = {r["label"]: max(p[3] for p in r["points"]) for r in rows}
    if not used:
        return "How far an allocator spreads a build's memory."
    low, high = min(used, key=used.get), max(used, key=used.get)
    return f"The same build touches {rounded(used[low])} with {low} and {rounded(used[high])} with {high}."


def rounded(size):
    return f"{figure(size / (1 << 20))} MiB" if size >= 1 << 20 else bytes_text(size)


# (item, function of the results that gives a plot and a sentence), in order of preference.
CANDIDATES = (
    picture_of("own-pools", "Slowdown over the size of the pool", over_pools),
    picture_of(
        "ouroboros-100k",
        "100,000 threads allocate once",
        slowest_over_fastest(
            "ouroboros-100k", "payload_bytes", "size", y="allocate_ms", test="alloc"
        ),
    ),
    picture_of("own-pool", "The memory that a build touches", touched_by_builds, number=1),
    picture_of(
        "regeff-3a",
        "One malloc and one free per warp",
        slowest_over_fastest("regeff-3a", "payload_bytes", "size"),
    ),
    picture_of(
        "bulk-7", "Requests per second until the pool is exhausted", lambda r: "Bulk's figure 7."
    ),
    picture_of(
        "regeff-3b",
        "Alloc Cycle Dealloc over the size of the pool",
        slowest_over_fastest("regeff-3b", "pool_bytes", "pool"),
    ),
    picture_of("own-triangles", "Build time over triangles", lambda r: ""),
    picture_of("bulk-5", "Units per second of two semaphores", lambda r: "Bulk's figure 5."),
    picture_of("host-3", "Latency of host-managed memory", lambda r: ""),
)


def pictures(results):
    """[{item, plot, text}]: at most five."""
    found = []

    def add(item, make):
        try:
            plot_of_it, text = make(results)
        except NotMeasured:
            return
        if plot_of_it["curves"]:
            found.append({"item": item, "plot": plot_of_it, "text": text})

    for item in ("regeff-t3", "own-slowdown"):
        if not found:
            add(item, lambda r, item=item: build_slowdowns(r, item))
    for item, make in CANDIDATES:
        if len(found) < MAX_SHOWN and not results.missing(item):
            add(item, make)
    return found
