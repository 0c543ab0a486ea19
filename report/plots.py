# SPDX-License-Identifier: MIT
"""Plots of the page as data, which page.js draws. Error bars are the min and max raw sample."""

from typing import Callable, NamedTuple

from .cells import grid, row_median
from .figures import bytes_text, count_text, figure


def axis(title, log=True, sizes=False):
    """`sizes`: ticks at the points, labelled in KiB and MiB."""
    return {"title": title, "log": log, "sizes": sizes}


class Parameter(NamedTuple):
    """What a plot and its table are over: the key in the results, the axis, the columns' texts."""

    key: str
    axis: dict
    text: Callable = str


PAYLOAD = Parameter("payload_bytes", axis("requested bytes", sizes=True), bytes_text)
THREADS = Parameter("threads", axis("threads"), count_text)
TRIANGLES = Parameter("triangles", axis("triangles"), count_text)
TIME = axis("milliseconds")


def curve(name, x, y, low=None, high=None, allocator=None):
    return {"name": name, "allocator": allocator, "x": x, "y": y, "low": low, "high": high}


def curve_of(name, points, allocator=None):
    """A curve of (x, y) pairs."""
    return curve(name, [p[0] for p in points], [p[1] for p in points], allocator=allocator)


def plot(title, x, y, curves, style="lines"):
    """`style`: lines, stacked (areas) or bars."""
    curves = [c for c in curves if c["x"]]
    return {
        "kind": "plot",
        "title": title,
        "x": x,
        "y": y,
        "curves": curves,
        "style": style,
        "alt": alt_text(title, x, y, curves, style),
    }


def alt_text(title, x, y, curves, style):
    """Text for screen readers; the table below the plot has the figures."""
    if not curves:
        return f"{title}: nothing was measured."
    if style != "lines":
        kind = "stacked areas" if style == "stacked" else "groups of bars"
        names = ", ".join(c["name"] for c in curves)
        return f"{title}. {len(curves)} {kind}, {y['title']} against {x['title']}: {names}. The table below has all figures."
    ends = {c["name"]: c["y"][-1] for c in curves if c["y"][-1] is not None}
    text = f"{title}. {len(curves)} curves, {x['title']} against {y['title']}."
    if len(ends) > 1:
        low, high = min(ends, key=ends.get), max(ends, key=ends.get)
        text += f" At the right end {low} is lowest with {figure(ends[low])}, {high} highest with {figure(ends[high])}."
    return text + " The table below has all figures."


def same(row, value):
    return value


def sampled(results, title, over, y_axis, rows, samples="runs_ms", scale=same, names=None):
    """A curve per allocator: medians of samples. Rows with refused requests are included."""
    curves = []
    for allocator, name in (names or results.labels()).items():
        points = []
        for row in rows:
            if row["allocator"] != allocator or row.get("status") not in ("ok", "incomplete"):
                continue
            if times := row.get(samples):
                # Sorted, because the scale may turn times into rates, which reverses the order.
                ends = sorted(
                    scale(row, t) for t in (row_median(row, samples), min(times), max(times))
                )
                points.append((row[over.key], *ends))
        points.sort(key=lambda point: point[0])
        xs, low, middle, high = map(list, zip(*points)) if points else ([], [], [], [])
        curves.append(curve(name, xs, middle, low, high, None if names else allocator))
    return plot(title, over.axis, y_axis, curves)


def sampled_and_grid(results, title, over, rows, samples="runs_ms", count=None, names=None):
    """A plot of times and its table; of rates, if `count` gives what a row counts."""
    y_axis, unit = (axis("millions per second"), "millions") if count else (TIME, "ms")

    def scale(row, ms):
        return count(row) / ms / 1e3 if count else ms

    def value(row):
        return scale(row, row_median(row, samples)) if row.get(samples) else None

    return [
        sampled(results, title, over, y_axis, rows, samples, scale, names),
        grid(results, title, unit, rows, over, value, names),
    ]


def valued_and_grid(results, title, over, y_axis, rows, value):
    """A curve per allocator of single values, and their table."""
    curves = []
    for allocator, name in results.labels().items():
        points = sorted(
            (row[over.key], value(row))
            for row in rows
            if row["allocator"] == allocator and value(row) is not None
        )
        curves.append(curve_of(name, points, allocator))
    return [plot(title, over.axis, y_axis, curves), grid(results, title, "", rows, over, value)]
