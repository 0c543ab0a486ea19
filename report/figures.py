# SPDX-License-Identifier: MIT
"""Statistics of raw samples; numbers as text for readers, and data for scripts in the page."""

import json
import math
import statistics

# 97.5% quantiles of Student's t by degrees of freedom. Between two entries the lower one is used,
# which gives a wider interval.
T_975 = dict(
    zip(
        (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 60),
        (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
        + (2.179, 2.131, 2.086, 2.042, 2.000),
    )
)


def median(samples):
    return statistics.median(samples) if samples else None


def ratio_interval(new, old):
    """95% interval of the ratio of the geometric means of two sets of times: Welch's t interval of
    their logarithms. None if a set has fewer than three samples."""
    if len(new) < 3 or len(old) < 3 or min(*new, *old) <= 0:
        return None
    logs = [[math.log(value) for value in side] for side in (new, old)]
    means = [statistics.fmean(side) for side in logs]
    errors = [statistics.variance(side) / len(side) for side in logs]
    difference, error = means[0] - means[1], sum(errors)
    if error == 0:
        return math.exp(difference), math.exp(difference)
    freedom = error**2 / sum(e**2 / (len(side) - 1) for e, side in zip(errors, logs))
    t = T_975[max((known for known in T_975 if known <= freedom), default=1)]
    return tuple(math.exp(difference + sign * t * math.sqrt(error)) for sign in (-1, 1))


def figure(value):
    """Three significant digits, without an exponent."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def extremes(values):
    """The lowest and the highest: "5", "1 to 5"."""
    ends = (min(values), max(values)) if values else (None,)
    return " to ".join(dict.fromkeys(map(figure, ends)))


def bytes_text(value):
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value} B"


def count_text(value):
    for unit, size in (("M", 10**6), ("K", 10**3)):
        if value >= size and value % (size // 10) == 0:
            return f"{value / size:g}{unit}"
    return f"{value:,}"


def script_json(value):
    """JSON within a script element: without "<", since "</script>" or "<!--" in a label would end
    the element or comment out what follows."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
