#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables and the plot of the documents from the results files under docs/results/.

  scripts/docs_tables.py                   rewrites them (make tables)
  scripts/docs_tables.py check             exits with 1 if one differs from its results file
  scripts/docs_tables.py add FILE [TOPIC]  compresses a JSON file of heapwood into docs/results/

The function NAME makes the rows between `<!-- table: NAME -->` and `<!-- end of table -->`.
"""
import csv
import functools
import gzip
import json
import re
import sys
from math import log
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs/results"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(?=<!-- end of table -->)", re.S)
NOT_SHOWN = re.compile("published|doubly|table|draws|ungrouped|builtin|fdg")
PROCEDURAL = [f"{name}:200k" for name in ("atrium", "statue", "stadium", "pipes")]
COLOURS = {"heapwood": "#c9400a", "heapwood-general": "#b4662a", "cfmmalloc": "#1f6fb4",
           "scatter": "#2a8a57", "halloc": "#8a2a6d", "ouroboros-p-s": "#7a4fb0", "bulk": "#59636e"}


@functools.cache
def read(name):
    return json.loads(gzip.decompress((RESULTS / f"h100-80gb-hbm3-{name}.json.gz").read_bytes()))


def case(key):
    """The results of one case of the kept run of `heapwood reproduce`."""
    return next(one["results"] for one in read("7c20e56-reproduce")["cases"] if one["key"] == key)


def digits(value):
    """Three significant digits; an integer part is never rounded."""
    return f"{value:.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def by_allocator(head, columns, cell, skip=()):
    """A row per allocator of the first column; a cell per column, a dash where it has no figure."""
    yield head
    for first in columns[0]:
        row = [next((r for r in column if r["allocator"] == first["allocator"]), {})
               for column in columns]
        if not NOT_SHOWN.search(first["allocator"]) and first["allocator"] not in skip:
            yield [first["label"] + " *" * first.get("lower_bound", False)] + [
                cell(r) if r.get("status") == "ok" else "–" for r in row]


def pool_builds():
    """{pool / peak bytes in use: builds of conference}, and AtomicMalloc's shortest time."""
    pools, times = {}, []
    for one in read("7bbf066-pools")["results"]:
        if one["scene"] == "conference":
            pools.setdefault(one["memory"]["pool_bytes"], []).append(one)
            times += [one["median_ms"]] * ((one["allocator"], one["status"]) == ("atomic", "ok"))
    return {round(2 * size / min(pools), 1): pools[size] for size in sorted(pools)}, min(times)


def pools():
    builds, best = pool_builds()
    return by_allocator(["pool / peak bytes in use"] + [f"{multiple:g}" for multiple in builds],
                        list(builds.values()), lambda r: f"{r['median_ms'] / best:.2f}",
                        ("heapwood-general", "heapwood-pages", "awmalloc-safe"))


def builds(scenes):
    return [case(f"build {scene} refs=clipped pool=auto runs=5") for scene in scenes]


def slowdowns():
    return by_allocator(["slowdown", *PROCEDURAL, "registers"],
                        builds(PROCEDURAL) + [case("registers")],
                        lambda r: f"{r['slowdown']:.2f}" if "slowdown" in r
                        else str(r["calls"]["both"]["registers"]))


def triangles():
    scenes = [f"atrium:{size}" for size in ("10k", "30k", "100k", "300k", "1m", "3m")]
    return by_allocator(["build, ms", *scenes], builds(scenes), lambda r: digits(r["median_ms"]))


def malloc():
    tests = [f"alloc payload={size} pool=2147483648 requests=100000" for size in (16, 256, 4096)]
    tests.append("mixed payload=8192 pool=2147483648 requests=100000 rounds=2")
    return by_allocator(
        ["malloc / free, ms", "16 B", "256 B", "4 KiB", "16 B to 8 KiB, second round"],
        [case(f"stress {test} runs=3") for test in tests],
        lambda r: f"{digits(median(r['allocate_ms']))} / {digits(median(r['free_ms']))}")


def library():
    """Output of tests/library/gpu/measure_cells and of the others' own programs, on one GPU."""
    return list(csv.reader((RESULTS / "h200-3a01c90-library.csv").open()))


def rays():
    yield ["1024 x 1024 rays", "primary, Mrays/s", "diffuse, Mrays/s"]
    for scene in ("sponza.ply", "conference.ply", "happy_buddha.ply", *PROCEDURAL):
        yield [scene] + [digits(r["mrays_per_second"])
                         for r in case(f"trace {scene} size=1024x1024 runs=5")]


def profile():
    phases = case("profile conference.ply refs=clipped runs=5")[1]["phases"]
    yield ["phase"] + [f"`{phase['phase']}`" for phase in phases]
    yield ["share, %"] + [f"{100 * phase['share']:.1f}" for phase in phases]


def graphs():
    def cell(r):
        ms = {phase["phase"]: digits(phase["median_ms"]) for phase in r["phases"]}
        held = r["rounds"][-1]["held_bytes"] / r["memory"]["payload_bytes"]
        return f"{ms['init']} / {ms['insert']} / {ms['mixed']}; {held:.2f}"
    results = [read(f"eabc6f1-graph-{name}-graph")["results"] for name in
               ("cliques-300k", "rgg-1m", "rmat-18")]
    return by_allocator(["init / insert / mixed, ms; in use", *(g[0]["graph"] for g in results)],
                        results, cell, ("atomic", "awmalloc", "cuda"))


def graph_layouts():
    yield ["insertions, million edges/s", "1,000", "10,000", "100,000", "1,000,000"]
    for r in read("eabc6f1-graph-layouts")["results"]:
        yield [r["label"]] + [digits(phase["million_edges_per_second_prepared"])
                              for phase in r["phases"] if phase["phase"] == "insert"]


def verdicts():
    rows = re.findall(r"^\| (\w[^|]*) \| [^|]+ \| ([^|]+) \|",
                      (RESULTS / "verdicts.md").read_text(), re.M)[1:]
    kinds = ("holds", "does not hold", "not testable here", "undecided")
    yield ["claims", *kinds]
    for paper in ("RegEff", "Ouroboros", "Bulk", "Host-managed"):
        yield [paper] + [str(rows.count((paper, kind))) for kind in kinds]


def markdown(rows):
    head, *rows = rows
    return "".join("| " + " | ".join(row) + " |\n"
                   for row in [head, [":---"] + ["---:"] * (len(head) - 1), *rows])


def text(x, y, words, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{words}</text>'


def plot():
    """SVG of the slowdown over the size of the pool, with logarithmic axes."""
    pools, best = pool_builds()
    curves = [[(pool, one["median_ms"] / best, one) for pool, builds in pools.items()
               for one in builds if (one["allocator"], one["status"]) == (name, "ok")]
              for name in COLOURS]

    def at_x(pool):
        return 48 + 572 * log(pool / min(pools)) / log(max(pools) / min(pools))

    def at_y(slowdown):
        return 400 - 340 * log(slowdown / 0.9) / log(7 / 0.9)

    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 460" role="img" '
           'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#1f2328">',
           '<rect width="800" height="460" fill="#ffffff"/>',
           text(16, 30, "Build time / AtomicMalloc's with ample memory; lower is better"),
           text(334, 444, "size of the pool / peak bytes in use", 'text-anchor="middle"')]
    for y in (1, 1.5, 2, 3, 4, 5, 6):
        out += [f'<path d="M48,{at_y(y):.1f}H620" stroke="#d4d7db"/>',
                text(40, at_y(y) + 4, y, 'text-anchor="end"')]
    out += [text(at_x(x), 420, f"{x:g}", 'text-anchor="middle"') for x in pools]
    label = 440  # above the one before
    for curve in sorted(curves, key=lambda curve: curve[-1][1]):
        _, last, one = curve[-1]
        label, colour = min(at_y(last) + 4, label - 16), COLOURS[one["allocator"]]
        points = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y, _ in curve)
        out += [f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>',
                text(632, label, f"{one['label']} {last:.2f}", f'style="fill:{colour}"')]
    return "\n".join(out + ["</svg>"]) + "\n"


def add(path, topic=None):
    """Compresses a report into docs/results/, named by GPU and commit, folders removed."""
    report = json.loads(re.sub(r'"/[^"]*/', '"', Path(path).read_text(encoding="utf-8")))
    if report["git"]["dirty"] is not False:
        sys.exit(f"docs_tables: error: {path}: not measured by a build of a commit without changes")
    gpu = re.sub(r"[^a-z0-9]+", "-", report["device"]["name"].lower().removeprefix("nvidia "))
    topic = topic or re.split("[./]", report["schema"])[1]
    target = RESULTS / f"{gpu}-{report['git']['sha'][:7]}-{topic}.json.gz"
    target.write_bytes(gzip.compress(json.dumps(report).encode(), 9, mtime=0))
    print(target)


def main(words):
    if words[:1] == ["add"] and len(words) in (2, 3):
        return add(*words[1:])
    if words not in ([], ["check"]):
        sys.exit(__doc__)
    made = {ROOT / "docs/pictures/slowdown_over_pool.svg": plot()}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        made[path] = TABLE.sub(lambda found: found[1] + markdown(globals()[found[2]]()),
                               path.read_text(encoding="utf-8"))
    stale = [path for path in made if path.read_text(encoding="utf-8") != made[path]]
    for path in stale:
        print(f"{path.relative_to(ROOT)}: {'stale: make tables' if words else 'rewritten'}")
        words or path.write_text(made[path], encoding="utf-8")
    return bool(words and stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
