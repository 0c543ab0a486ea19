# SPDX-License-Identifier: MIT
"""The page: everything in one file, plotly.js too, so that it needs no network."""

import collections
import json
import pathlib

import jinja2
import markupsafe
import plotly.offline

from . import claims_builds, claims_bulk, claims_host, claims_ouroboros, claims_regeff  # noqa: F401  they add claims
from .cells import cell, number, published_table, table
from .claims import FAILS, HOLDS, OPEN, judge_all
from .panels import PANELS
from .results import ResultsError
from .samples import ALIKE, compare, median

FOLDER = pathlib.Path(__file__).parent
SYMBOLS = {HOLDS: "✓", FAILS: "✗", OPEN: "?"}
PAPERS = {"RegEff": "regeff", "Ouroboros": "ouroboros", "Bulk": "bulk", "Host-managed": "host_managed"}


def published():
    return {
        paper: json.loads((FOLDER / "published" / f"{name}.json").read_text(encoding="utf-8"))
        for paper, name in PAPERS.items()
    }


def item_section(results, item, papers, verdicts):
    """A table or figure: measured, published, and what becomes of the claims about it."""
    paper = papers.get(item["paper"])
    told = paper["items"].get(item["id"]) if paper else None
    reason = results.missing(item["id"])
    blocks = [] if reason or item["id"] not in PANELS else PANELS[item["id"]](results)
    blocks = [block for block in blocks if block.get("curves") or block.get("rows")]
    cases = results.cases_of(item["id"])
    left = len(item["cases"]) - len(cases)
    if not blocks and not reason:
        reason = "nothing that was measured can be shown"
    claims = [v for v in verdicts if item["id"] in v.claim.items]
    open_claims = {}  # by reason: most have the same
    for v in claims:
        if v.verdict == OPEN:
            open_claims.setdefault(v.evidence, []).append(v)
    return {
        **item,
        "blocks": blocks,
        "reason": reason,
        "left": left,
        "seconds": sum(case["seconds"] for case in cases),
        "published": published_table(told) if told and "rows" in told else None,
        "states": told.get("states", []) if told else [],
        "source": told["source"] if told else None,
        "wide": (
            bool(told and len(told.get("columns", ())) > 7)
            or any(len(block.get("columns", ())) > 9 for block in blocks)
        ),
        "claims": [v for v in claims if v.verdict != OPEN],
        "open_claims": open_claims,
    }


def tally(verdicts):
    """Papers in rows, verdicts in columns."""
    counts = collections.Counter((v.claim.paper, v.verdict) for v in verdicts)
    papers = list(dict.fromkeys(v.claim.paper for v in verdicts))
    lines = [
        [
            cell(paper, heading=True),
            *(number(counts[paper, verdict]) for verdict in (HOLDS, FAILS, OPEN)),
            number(sum(counts[paper, verdict] for verdict in (HOLDS, FAILS, OPEN))),
        ]
        for paper in papers
    ]
    lines.append(
        [
            cell("all", heading=True),
            *(number(sum(counts[p, v] for p in papers)) for v in (HOLDS, FAILS, OPEN)),
            number(len(verdicts)),
        ]
    )
    return table("Claims and what became of them", ["paper", HOLDS, FAILS, OPEN, "all"], lines)


def verdicts_in_order(results):
    return sorted(judge_all(results), key=lambda v: list(PAPERS).index(v.claim.paper))


def verdicts_markdown(results):
    """The claims' verdicts as a table for a document."""
    verdicts = verdicts_in_order(results)
    counts = collections.Counter(v.verdict for v in verdicts)
    lines = [
        f"{results.device_text()}, version {results.content['runs'][-1]['git']['sha']}, {len(results.cases)} cases: "
        + ", ".join(f"{counts[verdict]} {verdict}" for verdict in SYMBOLS)
        + ".",
        "",
        "| paper | claim | verdict | found |",
        "| :--- | :--- | :--- | :--- |",
    ]
    lines += [f"| {v.claim.paper} | {v.claim.statement} | {v.verdict} | {v.evidence} |" for v in verdicts]
    return "\n".join(lines)


def write_verdicts(path, results):
    """Replaces what stands between the marks of a document."""
    path = pathlib.Path(path)
    text = path.read_text(encoding="utf-8")
    begin, end = "<!-- verdicts:begin -->\n", "<!-- verdicts:end -->"
    if text.count(begin) != 1 or end not in text.split(begin)[1]:
        raise ResultsError(f"{path}: the marks '{begin.strip()}' and '{end}' are not there")
    before, after = text.split(begin)
    path.write_text(before + begin + verdicts_markdown(results) + "\n" + end + after.split(end)[1], encoding="utf-8")


def comparison(results, against):
    """Every pair of samples that both files have."""
    lines, counts = [], collections.Counter()
    for key, case in results.cases.items():
        old = {row["allocator"]: row for row in against.cases.get(key, {}).get("results", [])}
        for row in case["results"]:
            before = old.get(row["allocator"])
            if not row.get("runs_ms") or not before or not before.get("runs_ms") or min(before["runs_ms"]) <= 0:
                continue
            verdict, interval = compare(row["runs_ms"], before["runs_ms"])
            counts[verdict] += 1
            ratio = median(row["runs_ms"]) / median(before["runs_ms"])
            lines.append(
                [
                    cell(key, heading=True),
                    cell(row["label"]),
                    number(median(before["runs_ms"])),
                    number(median(row["runs_ms"])),
                    number(ratio, 3),
                    cell("–" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"),
                    cell(verdict),
                ]
            )
    lines.sort(key=lambda line: ("SLOWER", "FASTER", "UNCLEAR", "SAME").index(line[-1]["text"]))
    columns = ["case", "allocator", "before, ms", "now, ms", "now / before", "95% interval", "verdict"]
    rule = (
        f"SAME: the interval lies within {1 / ALIKE:.2f} and {ALIKE:.2f}; FASTER, SLOWER: it lies below or above 1;"
        " else UNCLEAR. The interval is Welch's, of the ratio of geometric means of the raw samples; fewer than three"
        " samples are UNCLEAR."
    )
    return {"counts": counts, "table": table("Measured twice", columns, lines, [rule])}


def render(results, against=None):
    papers = published()
    verdicts = verdicts_in_order(results)
    sections = [item_section(results, item, papers, verdicts) for item in results.content["items"]]
    groups = {}
    for section in sections:
        groups.setdefault(section["paper"], []).append(section)
    plots = []
    for section in sections:
        for block in section["blocks"]:
            if block["kind"] == "plot":
                block["index"] = len(plots)
                plots.append({key: block[key] for key in ("title", "x", "y", "curves", "style")})
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
        # "</script>" in a label must not end the element.
        return markupsafe.Markup(json.dumps(value, allow_nan=False, separators=(",", ":")).replace("</", "<\\/"))

    return environment.get_template("page.html").render(
        results=results,
        papers=papers,
        groups=groups,
        verdicts=verdicts,
        symbols=SYMBOLS,
        tally=tally(verdicts),
        labels=results.labels(),
        runs=results.content["runs"],
        cases=len(results.cases),
        seconds=sum(case["seconds"] for case in results.cases.values()),
        comparison=comparison(results, against) if against else None,
        against=against,
        plots=inlined(plots),
        allocators=inlined(results.labels()),
        style=source("page.css"),
        script=source("page.js"),
        plotly=markupsafe.Markup(plotly.offline.get_plotlyjs()),
    )
