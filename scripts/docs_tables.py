#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables and the plot of the documents from the results files under docs/results/.

  scripts/docs_tables.py                   rewrites them (make tables)
  scripts/docs_tables.py check             exits with 1 if one differs from its results file
  scripts/docs_tables.py add FILE [TOPIC]  compresses a JSON file of heapwood into docs/results/

A table is between `<!-- table: NAME -->` and `<!-- end of table -->`; the function NAME below makes
its rows. Only the standard library is needed; the tree is that of this script.
"""
import collections
import csv
import functools
import gzip
import json
import re
import sys
from pathlib import Path
from statistics import median

import docs_plots

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs/results"
PLOT = ROOT / "docs/pictures/slowdown_over_pool.svg"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(?=<!-- end of table -->)", re.S)
NOT_SHOWN = re.compile("published|doubly|table|draws|ungrouped|builtin|fdg")
PROCEDURAL = [f"{name}:200k" for name in ("atrium", "statue", "stadium", "pipes")]


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


def pool_builds(scene="conference"):
    """{pool / peak bytes in use: builds} of one scene, and AtomicMalloc's shortest time."""
    builds = [one for one in read("7bbf066-pools")["results"] if one["scene"] == scene]
    size = {one["settings"]["pool"]: one["memory"]["pool_bytes"] for one in builds}
    pools = collections.defaultdict(list)
    for one in builds:
        pools[round(2 * one["memory"]["pool_bytes"] / size["live:2"], 1)].append(one)
    return dict(sorted(pools.items())), min(
        one["median_ms"] for one in builds
        if one["allocator"] == "atomic" and one["status"] == "ok")


def pools():
    builds, best = pool_builds()
    return by_allocator(["pool / peak bytes in use"] + [f"{multiple:g}" for multiple in builds],
                        list(builds.values()), lambda r: f"{r['median_ms'] / best:.2f}",
                        ("heapwood-general", "heapwood-pages", "awmalloc-safe"))


def slowdowns():
    builds = [case(f"build {scene} refs=clipped pool=auto runs=5") for scene in PROCEDURAL]
    return by_allocator(["slowdown", *PROCEDURAL, "registers"], builds + [case("registers")],
                        lambda r: f"{r['slowdown']:.2f}" if "slowdown" in r
                        else str(r["calls"]["both"]["registers"]))


def triangles():
    scenes = [f"atrium:{size}" for size in ("10k", "30k", "100k", "300k", "1m", "3m")]
    return by_allocator(["build, ms", *scenes],
                        [case(f"build {scene} refs=clipped pool=auto runs=5") for scene in scenes],
                        lambda r: digits(r["median_ms"]))


def builders():
    yield ["build, ms", "one kernel, Heapwood", "a kernel per phase and level, TLSF"]
    for scene in PROCEDURAL:
        times = {r["allocator"]: r.get("median_ms") for r in
                 case(f"build {scene} refs=clipped pool=auto runs=5 builders=both")}
        yield [scene, digits(times["heapwood"]), digits(times["tlsf"])]


def malloc():
    tests = [f"alloc payload={size} pool=2147483648 requests=100000" for size in (16, 256, 4096)]
    tests.append("mixed payload=8192 pool=2147483648 requests=100000 rounds=2")
    return by_allocator(
        ["malloc / free, ms", "16 B", "256 B", "4 KiB", "16 B to 8 KiB, second round"],
        [case(f"stress {test} runs=3") for test in tests],
        lambda r: f"{digits(median(r['allocate_ms']))} / {digits(median(r['free_ms']))}")


def library():
    """Output of tests/library/gpu/measure_cells and of the others' own programs, on one GPU."""
    with open(RESULTS / "h100-80gb-hbm3-6361376-library.csv", encoding="utf-8") as file:
        return list(csv.reader(file))


def rays():
    yield ["1024 x 1024 rays", "primary, Mrays/s", "diffuse, Mrays/s"]
    for scene in ("sponza.ply", "conference.ply", "happy_buddha.ply", *PROCEDURAL):
        yield [scene] + [digits(r["mrays_per_second"])
                         for r in case(f"trace {scene} size=1024x1024 runs=5")]


def profile():
    scenes = ("conference.ply", "atrium:200k")
    yield ["share of the warps' time, %", *scenes]
    for phases in zip(*(case(f"profile {scene} refs=clipped runs=5")[1]["phases"]
                        for scene in scenes)):
        yield [f"`{phases[0]['phase']}`"] + [f"{100 * phase['share']:.1f}" for phase in phases]


def graphs(head, names, cell, skip=()):
    results = [read(f"eabc6f1-graph-{name}-graph")["results"] for name in names]
    return by_allocator([head] + [graph[0]["graph"] for graph in results], results, cell,
                        ("atomic", "awmalloc", *skip))


def graph_times():
    return graphs("init / insert / mixed, ms", ("cliques-300k", "rgg-1m", "rmat-18"),
                  lambda r: " / ".join(digits(phase["median_ms"]) for phase in r["phases"]
                                       if phase["phase"] in ("init", "insert", "mixed")))


def graph_memory():
    return graphs("in use / payload", ("cliques-300k", "delaunay-1m", "grid3d-500k", "rgg-1m"),
                  lambda r: digits(r["rounds"][-1]["held_bytes"] / r["memory"]["payload_bytes"]),
                  ("cuda",))


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
    for paper in dict.fromkeys(paper for paper, _ in rows):
        yield [paper] + [str(rows.count((paper, kind))) for kind in kinds]


def markdown(rows):
    head, *rows = rows
    rule = [":---"] + ["---:"] * (len(head) - 1)
    return "".join("| " + " | ".join(row) + " |\n" for row in [head, rule, *rows])


def add(path, topic=None):
    """Compresses a report into docs/results/, named by GPU and commit, without folders."""
    report = json.loads(re.sub(r'"/[^"]*/', '"', Path(path).read_text(encoding="utf-8")))
    if report.get("git", {}).get("dirty") is not False:
        sys.exit(f"docs_tables: error: {path}: not measured by a build of a commit without changes")
    gpu = re.sub(r"[^a-z0-9]+", "-", report["device"]["name"].lower().removeprefix("nvidia "))
    topic = topic or report["schema"].split(".")[-1].split("/")[0]
    text = json.dumps(report, ensure_ascii=False, separators=(",", ":"))
    target = RESULTS / f"{gpu}-{report['git']['sha'][:7]}-{topic}.json.gz"
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))  # equal results, equal bytes
    print(target)


def main(words):
    if words[:1] == ["add"] and len(words) in (2, 3):
        return add(*words[1:])
    if words not in ([], ["check"]):
        sys.exit(__doc__)
    made = {PLOT: docs_plots.draw(*pool_builds())}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        made[path] = TABLE.sub(lambda found: found[1] + markdown(globals()[found[2]]()),
                               path.read_text(encoding="utf-8"))
    stale = [path for path in made if path.read_text(encoding="utf-8") != made[path]]
    for path in stale:
        print(f"{path.relative_to(ROOT)}:",
              "differs from its results files: make tables" if words else "rewritten")
        words or path.write_text(made[path], encoding="utf-8")
    return bool(words and stale)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
