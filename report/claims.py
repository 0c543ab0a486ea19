# SPDX-License-Identifier: MIT
"""Claims, their verdicts, and helper functions of their rules. The claims and rules are in
published/*.json, the functions that judge them in claims_*.py."""

import dataclasses
import json
import pathlib
import re
import typing

from .results import Results
from .figures import extremes, figure, median, ratio_interval  # the claims import it from here

HOLDS, FAILS, OPEN, SUBSTITUTED = "holds", "does not hold", "undecided", "not testable here"

# Claims about CMalloc and its variants are judged by the published forms. The redesigned ones,
# `cmalloc` and so on, are other allocators.
LISTS = ("cmalloc-published", "cfmalloc-published", "cmmalloc-published", "cfmmalloc-published")
CMALLOC, CFMALLOC, CMMALLOC, CFMMALLOC = LISTS
FDG = "fdg-published"  # its superblocks come from CudaMalloc
HALLOC = "halloc-builtin"  # used in builds; large requests go to CudaMalloc
# The allocators that RegEff compared, without the lower bounds.
REGEFF_FULL = ("cuda", "scatter", "halloc", *LISTS)
# The allocators that RegEff compared in builds. Without ScatterAlloc: requests above its pages go
# to a buddy here.
REGEFF_BUILDS = ("cuda", HALLOC, *LISTS)
PAGES = ("ouroboros-p-s", "ouroboros-p-va", "ouroboros-p-vl")
CHUNKS = ("ouroboros-c-s", "ouroboros-c-va", "ouroboros-c-vl")


class NotMeasured(Exception):
    """Raised if a figure that a rule needs was not measured."""


@dataclasses.dataclass
class Claim:
    """A claim of a paper, as in published/*.json. The function of its name in claims_*.py judges it
    by the rule."""

    paper: str
    id: str
    where: str  # in the paper
    items: list  # ids of the items whose results decide the claim
    statement: str
    rule: str
    needs: str = "gpu"  # "gpu": full parameters on a GPU; "full": on any device; "": any results
    published: str = ""  # the number in print
    reason: str = ""  # reason why no measurement of this program is about the claim
    redesign: str = ""  # what is redesigned here, so that the rule's answer is not about the paper
    cause: str = ""  # if the rule's answer is no: hardware, stand-in, redesign, limit or exceeds
    check: typing.Callable = None  # (Results) -> (True, False or None, evidence)
    # (Results) -> the reason why what was measured is not the claim's subject, or None
    substituted: typing.Callable = lambda results: None


@dataclasses.dataclass
class Verdict:
    claim: Claim
    verdict: str
    evidence: str
    extent: str = ""  # how much the rule has read, and which limits applied

    @property
    def cause(self):
        return self.claim.cause or "not analysed" if self.verdict == FAILS else ""


PAPERS = {
    "RegEff": "regeff",
    "Ouroboros": "ouroboros",
    "Bulk": "bulk",
    "Host-managed": "host_managed",
}


def published():
    """{paper: its printed figures and its claims}"""
    folder = pathlib.Path(__file__).parent / "published"
    return {
        paper: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for paper, name in PAPERS.items()
    }


CLAIMS = [Claim(paper, **one) for paper, of in published().items() for one in of["claims"]]
BY_ID = {one.id: one for one in CLAIMS}
REDESIGNS = {name: text for of in published().values() for name, text in of.get("redesigns", {}).items()}


# Forms of allocators that claims are about, and the reason if they were not measured.
PUBLISHED = {
    "lists": (
        LISTS,
        "CMalloc and its variants are redesigned here, and their published forms (cmalloc-published,"
        " ...) were not measured",
    ),
    "halloc": (
        (HALLOC,),
        "in builds large requests of Halloc go to a buddy system, and halloc-builtin was not measured",
    ),
    "lists and halloc": (
        (*LISTS, HALLOC),
        "the published forms of CMalloc and its variants, or Halloc with CudaMalloc (halloc-builtin),"
        " were not measured",
    ),
    "fdg": (
        (FDG,),
        "FDGMalloc takes its superblocks from the pool here, and its published form (fdg-published)"
        " was not measured",
    ),
}


def claim(name=None, published=None, substituted=lambda results: None):
    """Decorator: the function judges the claim of this name or of its own. published: the claim is
    about these forms of PUBLISHED."""
    if published:
        allocators, reason = PUBLISHED[published]

        def substituted(results):
            return None if all(a in results.labels() for a in allocators) else reason

    def add(check):
        one = BY_ID[name or check.__name__.replace("_", "-")]
        one.check, one.substituted = check, substituted
        return check

    return add


def by_rule(one: Claim, results: Results):
    """The verdict by the claim's rule, whatever form of the algorithm was measured."""
    substitute = one.reason or one.substituted(results)
    if substitute:
        return Verdict(one, SUBSTITUTED, substitute)
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
    results.read.clear()
    grids = results.grids(one.items)
    try:
        answers = [one.check(results.with_blocks(blocks)) for blocks in grids] or [one.check(results)]
    except NotMeasured as reason:
        return Verdict(one, OPEN, str(reason), "" if one.redesign else extent(results.read))
    evidence = answers[0][1] if len(answers) == 1 else "; ".join(
        f"{blocks} blocks: {text}" for blocks, (_, text) in zip(grids, answers)
    )
    decided = {answer for answer, _ in answers}
    answer = decided.pop() if len(decided) == 1 else None
    verdict = OPEN if answer is None else HOLDS if answer else FAILS
    return Verdict(one, verdict, evidence, extent(results.read))


def judge(one: Claim, results: Results):
    """The verdict: that of the rule, unless it would judge a redesigned algorithm."""
    found = by_rule(one, results) if one.check or one.reason else Verdict(one, OPEN, "")
    if not one.redesign:
        return found
    measured = f"; the redesign: {found.evidence} ({found.verdict})" if found.extent else ""
    return Verdict(one, SUBSTITUTED, REDESIGNS[one.redesign] + measured, found.extent)


def extent(read):
    """How much a rule has read: "11 scenes (6 stand-ins), 8 of 11 results complete, 3 to 5 runs; 3
    stopped or shortened by the time limit (0.7 s)"."""
    rows = list({(row["key"], row["allocator"]): row for row in read}.values())
    if not rows:
        return ""
    kind = next((key for key in ("scene", "graph") if key in rows[0]), "point")
    points = {row.get(kind, row["key"]): row.get("procedural") for row in rows}
    stand_ins = sum(map(bool, points.values()))
    whole = [row for row in rows if row.get("status") == "ok"]
    runs = sorted(len(row["runs_ms"]) for row in whole if row.get("runs_ms"))
    reasons = [row.get("reason") or "" for row in rows]
    cut = [reason for reason in reasons if re.search(r"finish|not full|slow:|after [\d.]+ s", reason)]
    limits = sorted({float(s) for reason in cut for s in re.findall(r"([\d.]+) s\b", reason)})
    others = len(rows) - len(whole) - sum(not one.startswith("slow:") for one in cut)
    return "".join(
        (
            plural(len(points), kind),
            f" ({plural(stand_ins, 'stand-in')})" if stand_ins else "",
            f", {len(whole)} of {plural(len(rows), 'result')} complete",
            f", {extremes(runs)} run{'s' if runs[-1] > 1 else ''}" if runs else "",
            f"; {len(cut)} stopped or shortened by the time limit" if cut else "",
            f" ({extremes(limits)} s)" if limits else "",
            f"; {others} refused or skipped" if others > 0 else "",
        )
    )


def plural(count, noun):
    return f"{count} {noun}{'s' if count != 1 else ''}"


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


def if_measured(function, allocators):
    """{allocator: function(allocator)} of those whose figures were measured."""
    found = {}
    for allocator in allocators:
        try:
            found[allocator] = function(allocator)
        except NotMeasured:
            continue
    return found


def range_text(values):
    return f"{figure(min(values))} to {figure(max(values))}"


def span(values):
    return f"{range_text(values)}, median {figure(median(values))}"


def median_between(low, high, values, unit=" times"):
    """(answer, evidence): whether the median is in this range."""
    return low <= median(values) <= high, span(values) + unit


def each_text(results, found):
    """The labels and values of {allocator: value}."""
    return ", ".join(f"{label(results, a)} {figure(v)}" for a, v in found.items())


def spread(results, item, allocator, x, **settings):
    """Slowest over fastest median of an allocator over an item's points."""
    values = list(medians(results, item, allocator, x, **settings).values())
    if len(values) < 2:
        raise NotMeasured(f"fewer than two points of {label(results, allocator)}")
    return max(values) / min(values)


def ratios(results, item, first, second, x, **settings):
    """Medians of `first` divided by those of `second`, per point."""
    one, other = (medians(results, item, each, x, **settings) for each in (first, second))
    shared = sorted(one.keys() & other.keys())
    if not shared:
        raise NotMeasured(
            f"no common point of {label(results, first)} and {label(results, second)}"
        )
    return {point: one[point] / other[point] for point in shared}


def all_ratios(results, items, first, second, x, **settings):
    """The ratios of the medians at all points of these items."""
    return [
        r for item in items for r in ratios(results, item, first, second, x, **settings).values()
    ]


def usually_faster(results, pairs, share=0.8):
    """(answer, evidence): whether `first` is faster than `second` at this share of the decided
    points of all pairs (item, first, second, x, settings). The 95% interval of the ratio decides a
    point. The answer is None if fewer than 1/4 of the points are decided."""
    faster = slower = undecided = 0
    for item, first, second, x, settings in pairs:
        one, other = (series(results, item, each, x, **settings) for each in (first, second))
        for point in one.keys() & other.keys():
            low, high = ratio_interval(one[point], other[point]) or (1, 1)
            faster, slower = faster + (high < 1), slower + (low > 1)
            undecided += low <= 1 <= high
    decided = faster + slower
    evidence = f"faster at {faster}, slower at {slower} points, {undecided} undecided"
    if 4 * decided < decided + undecided or decided == 0:
        return None, evidence
    return faster >= share * decided, evidence


def needs_presplit(results, word, *items):
    """Raises if the lists were not measured with this pre-split, their authors'."""
    for item in items:
        for row in results.rows(item, CMALLOC):
            if row.get("presplit") != word:
                raise NotMeasured(f"the lists were not pre-split as by their authors (presplit={word})")


def within_factor(value, published, factor=2):
    return published / factor <= value <= published * factor
