# SPDX-License-Identifier: MIT
"""Claims, their verdicts, and helper functions of their rules. The claims are in claims_*.py."""

import dataclasses
import typing

from .results import Results
from .samples import median, ratio_interval
from .text import figure  # noqa: F401  for the claims

HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"

LISTS = ("cmalloc", "cfmalloc", "cmmalloc", "cfmmalloc")
# The allocators that RegEff compared, without the lower bounds.
REGEFF_FULL = ("cuda", "scatter", "halloc", *LISTS)
PAGES = ("ouroboros-p-s", "ouroboros-p-va", "ouroboros-p-vl")
CHUNKS = ("ouroboros-c-s", "ouroboros-c-va", "ouroboros-c-vl")


class NotMeasured(Exception):
    """A figure that a rule needs was not measured."""


@dataclasses.dataclass
class Claim:
    id: str
    paper: str
    where: str  # in the paper
    items: tuple  # the items whose results decide it
    statement: str
    rule: str
    needs: str  # "gpu": full parameters on a GPU; "full": on any device; "": any results
    check: typing.Callable  # (Results) -> (True, False or None, evidence)


@dataclasses.dataclass
class Verdict:
    claim: Claim
    verdict: str
    evidence: str


CLAIMS = []


def claim(name, paper, where, items, statement, rule, needs="gpu"):
    """Decorator: registers a claim that the function judges."""

    def add(check):
        CLAIMS.append(
            Claim(name, paper, where, tuple(items.split()), statement, rule, needs, check)
        )
        return check

    return add


def judge(one: Claim, results: Results):
    for item in one.items:
        reason = results.incomplete(item)
        if reason:
            return Verdict(one, OPEN, reason)
    if one.needs == "gpu" and not results.on_gpu:
        return Verdict(one, OPEN, "the claim is about a GPU; these results are from CPU threads")
    if one.needs and not results.full:
        return Verdict(
            one, OPEN, "the claim is about the paper's parameters; these results used quick ones"
        )
    try:
        answer, evidence = one.check(results)
    except NotMeasured as reason:
        return Verdict(one, OPEN, str(reason))
    return Verdict(one, OPEN if answer is None else HOLDS if answer else FAILS, evidence)


def judge_all(results):
    return [judge(one, results) for one in CLAIMS]


# Helper functions of the rules.


def label(results, allocator):
    return results.labels().get(allocator, allocator)


def series(results, item, allocator, x, y="runs_ms", status=("ok",), **settings):
    """{x: samples} of an allocator in an item, for each point that has samples."""
    found = {}
    for row in results.rows(item, allocator, **settings):
        samples = row.get(y)
        if row.get("status") in status and samples:
            found[row[x]] = samples
    return dict(sorted(found.items()))


def need(values, what):
    if not values:
        raise NotMeasured(f"not measured: {what}")
    return values


def medians(*arguments, **settings):
    return {x: median(samples) for x, samples in series(*arguments, **settings).items()}


def spread(results, item, allocator, x, **settings):
    """Slowest over fastest median of an allocator over an item's points."""
    values = list(medians(results, item, allocator, x, **settings).values())
    if len(values) < 2:
        raise NotMeasured(f"fewer than two points of {label(results, allocator)}")
    return max(values) / min(values)


def duels(results, item, first, second, x, **settings):
    """Numbers of points at which `first` is faster, slower or undecided, by the 95% interval of the
    ratio."""
    one, other = (series(results, item, each, x, **settings) for each in (first, second))
    faster = slower = undecided = 0
    for point in one.keys() & other.keys():
        interval = ratio_interval(one[point], other[point])
        if interval is None or interval[0] <= 1 <= interval[1]:
            undecided += 1
        elif interval[1] < 1:
            faster += 1
        else:
            slower += 1
    return faster, slower, undecided


def ratios(results, item, first, second, x, **settings):
    """Medians of `first` divided by those of `second`, per point."""
    one, other = (medians(results, item, each, x, **settings) for each in (first, second))
    shared = sorted(one.keys() & other.keys())
    if not shared:
        raise NotMeasured(
            f"no common point of {label(results, first)} and {label(results, second)}"
        )
    return {point: one[point] / other[point] for point in shared}


def usually_faster(results, pairs, share=0.8):
    """(answer, evidence): whether `first` is faster than `second` at this share of the decided
    points of all pairs (item, first, second, x, settings). The answer is None if fewer than 1/4 of
    the points are decided."""
    faster = slower = undecided = 0
    for item, first, second, x, settings in pairs:
        f, s, u = duels(results, item, first, second, x, **settings)
        faster, slower, undecided = faster + f, slower + s, undecided + u
    decided = faster + slower
    evidence = f"faster at {faster}, slower at {slower} points, {undecided} undecided"
    if 4 * decided < decided + undecided or decided == 0:
        return None, evidence
    return faster >= share * decided, evidence


def within_factor(value, published, factor=2):
    return published / factor <= value <= published * factor
