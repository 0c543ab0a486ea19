# SPDX-License-Identifier: MIT
"""The pictures that the page opens with: plots that answer what a reader asks first. Each is taken
from an item's results; those whose item was not measured are left out."""

from .claims import NotMeasured, medians
from .claims_builds import build_medians
from .panels import PANELS
from .panels_pools import PoolRuns
from .plots import axis, curve, plot
from .samples import median
from .text import bytes_text, figure

MAX_SHOWN = 5
# One allocator of each family: more curves cannot be told apart at a glance. The items have all.
SHOWN = (
    "atomic",
    "heapwood",
    "cmalloc-published",
    "cfmmalloc",
    "scatter",
    "halloc",
    "ouroboros-p-s",
    "bulk",
    "cuda",
)


def at_a_glance(block, title):
    """A plot with fewer curves, its legend below it."""
    shown = [c for c in block["curves"] if c["allocator"] is None or c["allocator"] in SHOWN]
    return {**block, "title": title, "curves": shown or block["curves"], "legend": "below"}


def fastest_text(values, labels, unit):
    """Names the lowest and the highest of {allocator: value}."""
    low, high = min(values, key=values.get), max(values, key=values.get)
    return (
        f"{labels.get(low, low)} {figure(values[low])}{unit},"
        f" {labels.get(high, high)} {figure(values[high])}{unit}"
    )


def build_slowdowns(results, item):
    """Bars of the median slowdowns over the scenes, over AtomicMalloc."""
    values = {}
    times = build_medians(results, item)
    for allocator in results.labels():
        found = [
            of[allocator] / of["atomic"]
            for of in times.values()
            if {allocator, "atomic"} <= set(of)
        ]
        if found and allocator != "atomic":
            values[allocator] = median(found)
    if not values:
        raise NotMeasured("slowdowns")
    labels, order = results.labels(), sorted(values, key=values.get)
    bars = plot(
        "What an allocator costs a k-d tree build",
        axis("allocator", log=False),
        axis("build time over AtomicMalloc's"),
        [curve("slowdown", [labels[a] for a in order], [values[a] for a in order])],
        "bars",
    )
    text = f"Median over {len(times)} scene{'s' if len(times) != 1 else ''}: {fastest_text(values, labels, '')}."
    return bars, text


def first_plot(item, title, text_of):
    """The first plot of an item's panel, with another title."""

    def picture(results):
        plots = [b for b in PANELS[item](results) if b["kind"] == "plot" and b["curves"]]
        if not plots:
            raise NotMeasured(item)
        return at_a_glance(plots[0], title), text_of(results)

    return picture


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


def over_payload(item, x, what, **settings):
    def text(results):
        found = {}
        for allocator in results.labels():
            times = medians(results, item, allocator, x, **settings)
            if len(times) > 1:
                found[allocator] = max(times.values()) / min(times.values())
        if not found:
            return f"Time over {what}."
        labels = results.labels()
        return f"Slowest over fastest {what}: {fastest_text(found, labels, ' times')}."

    return text


def pool_text(results):
    rows = [row for row in results.rows("own-pool") if row.get("points")]
    used = {r["label"]: max(p[3] for p in r["points"]) for r in rows}
    if not used:
        return "How far an allocator spreads a build's memory."
    low, high = min(used, key=used.get), max(used, key=used.get)
    return f"The same build touches {bytes_text_rounded(used[low])} with {low} and {bytes_text_rounded(used[high])} with {high}."


def bytes_text_rounded(size):
    return f"{figure(size / (1 << 20))} MiB" if size >= 1 << 20 else bytes_text(size)


def address_plot(results):
    plots = [b for b in PANELS["own-pool"](results) if b["kind"] == "plot" and b["curves"]]
    if len(plots) < 2:
        raise NotMeasured("own-pool")
    return at_a_glance(plots[1], "The memory that a build touches"), pool_text(results)


def table_of_builds(results):
    last = None
    for item in ("regeff-t3", "own-slowdown"):
        try:
            return build_slowdowns(results, item), item
        except NotMeasured as error:
            last = error
    raise last


# (item, function of the results that gives a plot and a sentence), in order of preference.
CANDIDATES = (
    ("own-pools", first_plot("own-pools", "Slowdown over the size of the pool", over_pools)),
    (
        "ouroboros-100k",
        first_plot(
            "ouroboros-100k",
            "100,000 threads allocate once",
            over_payload("ouroboros-100k", "payload_bytes", "size", y="allocate_ms", test="alloc"),
        ),
    ),
    ("own-pool", address_plot),
    (
        "regeff-3a",
        first_plot(
            "regeff-3a",
            "One malloc and one free per warp",
            over_payload("regeff-3a", "payload_bytes", "size"),
        ),
    ),
    (
        "bulk-7",
        first_plot(
            "bulk-7",
            "Requests per second until the pool is exhausted",
            lambda r: "Bulk's figure 7.",
        ),
    ),
    (
        "regeff-3b",
        first_plot(
            "regeff-3b",
            "Alloc Cycle Dealloc over the size of the pool",
            over_payload("regeff-3b", "pool_bytes", "pool"),
        ),
    ),
    ("own-triangles", first_plot("own-triangles", "Build time over triangles", lambda r: "")),
    (
        "bulk-5",
        first_plot("bulk-5", "Units per second of two semaphores", lambda r: "Bulk's figure 5."),
    ),
    ("host-3", first_plot("host-3", "Latency of host-managed memory", lambda r: "")),
)


def pictures(results):
    """[{item, plot, text}]: at most five."""
    found = []
    try:
        (bars, text), item = table_of_builds(results)
        found.append({"item": item, "plot": bars, "text": text})
    except NotMeasured:
        pass
    for item, make in CANDIDATES:
        if len(found) == MAX_SHOWN:
            break
        if results.missing(item):
            continue
        try:
            picture, text = make(results)
        except NotMeasured:
            continue
        if picture["curves"]:
            found.append({"item": item, "plot": picture, "text": text})
    return found
