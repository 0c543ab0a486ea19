# SPDX-License-Identifier: MIT
"""Plots of the page as data, which page.js draws. Error bars are the min and max raw sample."""

from .cells import row_median
from .text import figure


def axis(title, log=True, sizes=False):
    """`sizes`: ticks at the points, labelled in KiB and MiB."""
    return {"title": title, "log": log, "sizes": sizes}


PAYLOAD = axis("requested bytes", sizes=True)
TIME = axis("milliseconds")


def curve(name, x, y, low=None, high=None, allocator=None):
    return {"name": name, "allocator": allocator, "x": x, "y": y, "low": low, "high": high}


def plot(title, x, y, curves, style="lines"):
    """`style`: lines, stacked (areas) or bars."""
    curves = [c for c in curves if c["x"]]
    alt = alt_text(title, x, y, curves, style)
    return {
        "kind": "plot",
        "title": title,
        "x": x,
        "y": y,
        "curves": curves,
        "style": style,
        "alt": alt,
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


def sampled(
    results,
    title,
    x_axis,
    y_axis,
    rows,
    x,
    samples="runs_ms",
    scale=lambda row, value: value,
    names=None,
):
    """A curve per allocator: medians of samples over x. Rows with refused requests are included."""
    curves = []
    for allocator, name in (names or results.labels()).items():
        mine = sorted(
            (
                row
                for row in rows
                if row["allocator"] == allocator
                and row.get("status") in ("ok", "incomplete")
                and row.get(samples)
            ),
            key=lambda row: row[x],
        )
        points = [
            (
                row[x],
                *sorted(
                    (
                        scale(row, row_median(row, samples)),
                        scale(row, min(row[samples])),
                        scale(row, max(row[samples])),
                    )
                ),
            )
            for row in mine
        ]
        # Sorted as min, median, max, also if the scale turns times into rates.
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
    """A curve per allocator of single values."""
    curves = []
    for allocator, name in results.labels().items():
        points = sorted(
            (row[x], value(row))
            for row in rows
            if row["allocator"] == allocator and value(row) is not None
        )
        curves.append(
            curve(name, [p[0] for p in points], [p[1] for p in points], allocator=allocator)
        )
    return plot(title, x_axis, y_axis, curves)
