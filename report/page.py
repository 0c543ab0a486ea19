# SPDX-License-Identifier: MIT
"""Renders the page: one file that includes plotly.js, so that it needs no network."""

import collections
import pathlib

import jinja2
import markupsafe
import plotly.offline

# Importing them registers the claims.
from . import claims_builds, claims_bulk, claims_ouroboros, claims_regeff  # noqa: F401
from .cells import heading, number, published_table, table
from .claims import FAILS, HOLDS, OPEN, PAPERS, SUBSTITUTED, judge_all, published
from .panels import PANELS
from .results import ResultsError
from .figures import script_json

FOLDER = pathlib.Path(__file__).parent
SYMBOLS = {HOLDS: "✓", FAILS: "✗", SUBSTITUTED: "≠", OPEN: "?"}


def item_section(results, item, papers, verdicts):
    """A table or figure of a paper: measured and published results, verdicts of its claims."""
    paper = papers.get(item["paper"])
    printed = paper["items"].get(item["id"]) if paper else None
    reason = results.missing(item["id"])
    blocks = [] if reason or item["id"] not in PANELS else PANELS[item["id"]](results)
    blocks = [block for block in blocks if block.get("curves") or block.get("rows")]
    cases = results.cases_of(item["id"])
    left = len(item["cases"]) - len(cases)
    if not blocks and not reason:
        reason = "no measured result can be shown"
    claims = [v for v in verdicts if item["id"] in v.claim.items]
    return {
        **item,
        "blocks": blocks,
        "reason": reason,
        "left": left,
        "seconds": sum(case["seconds"] for case in cases),
        "published": published_table(printed) if printed and "rows" in printed else None,
        "states": printed.get("states", []) if printed else [],
        "source": printed["source"] if printed else None,
        "wide": (
            bool(printed and len(printed.get("columns", ())) > 7)
            or any(len(block.get("columns", ())) > 9 for block in blocks)
        ),
        "claims": [v for v in claims if v.verdict != OPEN],
        "open_claims": by_reason(claims),
    }


def by_reason(verdicts):
    """{reason: undecided claims}: many undecided claims have the same reason."""
    reasons = {}
    for v in verdicts:
        if v.verdict == OPEN:
            reasons.setdefault(v.evidence, []).append(v)
    return dict(sorted(reasons.items(), key=lambda pair: -len(pair[1])))


def tally(verdicts):
    """The number of verdicts per paper."""
    papers = collections.defaultdict(list)
    for v in verdicts:
        papers[v.claim.paper].append(v.verdict)
    papers["all"] = [v.verdict for v in verdicts]
    lines = [
        [heading(paper), *(number(of.count(verdict)) for verdict in SYMBOLS), number(len(of))]
        for paper, of in papers.items()
    ]
    return table("Claims by verdict", ["paper", *SYMBOLS, "all"], lines)


def verdicts_in_order(results):
    """The claims by paper; for each paper those that are not testable here come last."""
    return sorted(
        judge_all(results),
        key=lambda v: (list(PAPERS).index(v.claim.paper), v.verdict == SUBSTITUTED),
    )


def verdicts_markdown(results):
    """The claims' verdicts for a document, one table per paper."""
    verdicts = verdicts_in_order(results)
    counts = collections.Counter(v.verdict for v in verdicts)
    minutes = sum(case["seconds"] for case in results.cases.values()) / 60
    lines = [
        f"{results.device_text()}, version {results.version()}, {len(results.cases)} cases in"
        f" {minutes:.0f} minutes: {', '.join(f'{counts[v]} {v}' for v in SYMBOLS)}."
    ]
    for paper in PAPERS:
        lines += ["", f"## {paper}", "", "| claim | published | verdict | measured | rule |"]
        lines += ["| :--- | :--- | :--- | :--- | :--- |"]
        for v in (v for v in verdicts if v.claim.paper == paper):
            one, cause = v.claim, f": {v.cause}" if v.cause else ""
            extent = f" ({v.extent})" if v.extent else ""
            lines.append(
                f'| <a id="{one.id}"></a>`{one.id}`, {one.where}: {one.statement} | {one.published or "in words"}'
                f" | {v.verdict}{cause} | {v.evidence}{extent} | {one.rule} |"
            )
    return "\n".join(lines)


def write_verdicts(path, results):
    """Replaces the text between the marks of a document with the verdicts."""
    path = pathlib.Path(path)
    text = path.read_text(encoding="utf-8")
    begin, end = "<!-- verdicts:begin -->\n", "<!-- verdicts:end -->"
    if text.count(begin) != 1 or end not in text.split(begin)[1]:
        raise ResultsError(f"{path}: the marks '{begin.strip()}' and '{end}' are missing")
    before, after = text.split(begin)
    path.write_text(
        before + begin + verdicts_markdown(results) + "\n" + end + after.split(end)[1],
        encoding="utf-8",
    )


def measurement(results, prefix, plots):
    """What the page shows of one results file. `prefix` begins the ids of its elements, `plots`
    collects the data of its plots."""
    papers = published()
    verdicts = verdicts_in_order(results)
    if prefix:  # the same as for the results above
        verdicts = [v for v in verdicts if v.verdict != SUBSTITUTED]
    sections = [
        item_section(results, item, papers, verdicts)
        for item in results.content["items"]
        if item["id"] in PANELS  # earlier versions had other items, too
    ]
    if prefix:  # the published figures and what was not measured are above
        sections = [
            {**section, "published": None, "states": []}
            for section in sections
            if not section["reason"]
        ]

    groups = {}
    for section in sections:
        groups.setdefault(section["paper"], []).append(section)
        for block in section["blocks"]:
            if block["kind"] == "plot":
                block["index"] = len(plots)
                plots.append({key: block[key] for key in ("title", "x", "y", "curves", "style")})
    runs = [
        {**run, "cases": sum(case["run"] == i for case in results.cases.values())}
        for i, run in enumerate(results.content["runs"])
    ]
    return {
        "results": results,
        "prefix": prefix,
        "groups": groups,
        "verdicts": [v for v in verdicts if v.verdict != OPEN],
        "undecided": by_reason(verdicts),
        "undecided_count": sum(v.verdict == OPEN for v in verdicts),
        "tally": tally(verdicts),
        "runs": runs,
        "cases": len(results.cases),
        "seconds": sum(case["seconds"] for case in results.cases.values()),
    }


def render(results, kept=None):
    """The page; `kept`: results of a GPU that are shown first."""
    plots = []
    shown = [(kept, ""), (results, "here-")] if kept else [(results, "")]
    measurements = [measurement(one, prefix, plots) for one, prefix in shown]
    labels = {}
    for one, _ in shown:
        labels |= {a: name for a, name in one.labels().items() if a not in labels}
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )

    def source(name):
        return markupsafe.Markup((FOLDER / "templates" / name).read_text(encoding="utf-8"))

    def inlined(value):
        return markupsafe.Markup(script_json(value))

    return environment.get_template("page.html").render(
        measurements=measurements,
        papers=published(),
        symbols=SYMBOLS,
        decided=[verdict for verdict in SYMBOLS if verdict != OPEN],
        labels=labels,
        plots=inlined(plots),
        allocators=inlined(labels),
        style=source("page.css"),
        script=source("page.js"),
        plotly=markupsafe.Markup(plotly.offline.get_plotlyjs()),
    )
