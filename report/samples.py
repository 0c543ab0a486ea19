# SPDX-License-Identifier: MIT
"""Statistics of raw samples."""

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
