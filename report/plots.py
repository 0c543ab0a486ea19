# SPDX-License-Identifier: MIT
"""Plots of the page, as data: page.js draws them. Error bars are the smallest and the largest raw sample."""

from .cells import row_median
from .text import figure


def axis(title, log=True, sizes=False):
    """`sizes`: ticks at the points themselves, written as KiB and MiB."""
    return {"title": title, "log": log, "sizes": sizes}


PAYLOAD = axis("bytes asked for", sizes=True)
TIME = axis("milliseconds")


def curve(name, x, y, low=None, high=None, allocator=None):
    return {"name": name, "allocator": allocator, "x": x, "y": y, "low": low, "high": high}


def plot(title, x, y, curves, style="lines"):
    """`style`: lines, stacked (areas on one another) or bars."""
    curves = [c for c in curves if c["x"]]
    alt = alt_text(title, x, y, curves, style)
    return {"kind": "plot", "title": title, "x": x, "y": y, "curves": curves, "style": style, "alt": alt}


def alt_text(title, x, y, curves, style):
    """What somebody who does not see the plot is told; the table below has the figures."""
    if not curves:
        return f"{title}: nothing was measured."
    if style != "lines":
        kind = "areas on one another" if style == "stacked" else "groups of bars"
        names = ", ".join(c["name"] for c in curves)
        return f"{title}. {len(curves)} {kind}, {y['title']} against {x['title']}: {names}. The table below has all figures."
    ends = {c["name"]: c["y"][-1] for c in curves if c["y"][-1] is not None}
    text = f"{title}. {len(curves)} curves, {x['title']} against {y['title']}."
    if len(ends) > 1:
        low, high = min(ends, key=ends.get), max(ends, key=ends.get)
        text += f" At the right end {low} is lowest with {figure(ends[low])}, {high} highest with {figure(ends[high])}."
    return text + " The table below has all figures."


def sampled(results, title, x_axis, y_axis, rows, x, samples="runs_ms", scale=lambda row, value: value, names=None):
    """A curve an allocator: medians of samples over x. A row that was refused something is drawn, a failed one is not."""
    curves = []
    for allocator, name in (names or results.labels()).items():
        mine = sorted(
            (
                row
                for row in rows
                if row["allocator"] == allocator and row.get("status") in ("ok", "incomplete") and row.get(samples)
            ),
            key=lambda row: row[x],
        )
        points = [
            (
                row[x],
                *sorted(
                    (scale(row, row_median(row, samples)), scale(row, min(row[samples])), scale(row, max(row[samples])))
                ),
            )
            for row in mine
        ]
        # Sorted: lowest, median, highest, also where the scale turns time into a rate.
        curves.append(
            curve(
                name,
                [p[0] for p in points],
                [p[2] for p in points],
                [p[1] for p in points],
                [p[3] for p in points],
                None if names else allocator,
            )
        )
    return plot(title, x_axis, y_axis, curves)


def valued(results, title, x_axis, y_axis, rows, x, value):
    """A curve an allocator of single values."""
    curves = []
    for allocator, name in results.labels().items():
        points = sorted(
            (row[x], value(row)) for row in rows if row["allocator"] == allocator and value(row) is not None
        )
        curves.append(curve(name, [p[0] for p in points], [p[1] for p in points], allocator=allocator))
    return plot(title, x_axis, y_axis, curves)
