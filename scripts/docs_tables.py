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
           "scatter": "#2a8a57", "halloc": "#8a2a6d", "ouroboros-p-s": "#7a4fb0", "bulk": "#59636e",
           "gallatin": "#a07800", "flatter-scatter": "#5c8a8a", "two-pass": "#1f2328",
           "rings": "#1f2328"}


@functools.cache
def read(name, gpu="h100-80gb-hbm3"):
    return json.loads(gzip.decompress((RESULTS / f"{gpu}-{name}.json.gz").read_bytes()))


def case(key):
    """The results of one case of the kept run of `heapwood reproduce`."""
    cases = read("4151cf9-reproduce", "h200")["cases"]
    return next(one["results"] for one in cases if one["key"] == key)


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
    for one in read("974e071-pools", "h200")["results"]:
        if one["scene"] == "conference":
            pools.setdefault(one["memory"]["pool_bytes"], []).append(one)
            if (one["allocator"], one["status"]) == ("atomic", "ok"):
                times.append(one["median_ms"])
    return {round(2 * size / min(pools), 1): pools[size] for size in sorted(pools)}, min(times)


def pools():
    builds, best = pool_builds()
    return by_allocator(["pool / peak bytes in use"] + [f"{multiple:g}" for multiple in builds],
                        list(builds.values()), lambda r: f"{r['median_ms'] / best:.2f}",
                        ("heapwood-general",))


def builds(scenes):
    return [case(f"build {scene} refs=clipped pool=auto runs=5") for scene in scenes]


def slowdowns():
    return by_allocator(["slowdown", *PROCEDURAL, "registers"],
                        builds(PROCEDURAL) + [case("registers")],
                        lambda r: f"{r['slowdown']:.2f}" if "slowdown" in r
                        else str(r["calls"]["both"]["registers"]))


def triangles():
    scenes = [f"atrium:{size}" for size in ("10k", "30k", "100k", "300k", "1m", "3m")]
    shown = {"atomic", "cuda", *COLOURS}
    return by_allocator(["build, ms", *scenes], builds(scenes), lambda r: digits(r["median_ms"]),
                        {r["allocator"] for r in builds(scenes)[0]} - shown)


def malloc():
    tests = [f"alloc payload={size} pool=2147483648 requests=100000" for size in (16, 256, 4096)]
    tests.append("mixed payload=8192 pool=2147483648 requests=100000 rounds=2")
    return by_allocator(
        ["malloc / free, ms", "16 B", "256 B", "4 KiB", "16 B to 8 KiB, second round"],
        [case(f"stress {test} runs=3") for test in tests],
        lambda r: f"{digits(median(r['allocate_ms']))} / {digits(median(r['free_ms']))}")


def library():
    """Output of measure_cells of that commit and of the others' own programs, on one GPU."""
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
    kinds = ("holds", "does not hold", "not testable here", "undecided")
    yield ["claims", *kinds]
    for part in (RESULTS / "verdicts.md").read_text().split("\n## ")[1:]:
        found = re.findall(r"^\| <a [^|]+\|[^|]+\| ([a-z ]*[a-z])", part, re.M)
        yield [part.split("\n")[0]] + [str(found.count(kind)) for kind in kinds]


def markdown(rows):
    head, *rows = rows
    return "".join("| " + " | ".join(row) + " |\n"
                   for row in [head, [":---"] + ["---:"] * (len(head) - 1), *rows])


def text(x, y, words, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{words}</text>'


def chart(title, below, curves, ticks, heights):
    """SVG of a line per allocator; `curves`: {allocator: (label, [(x, y)])}, x from 0 to 1;
    `ticks`: [(x, label)]; `heights`: the labelled y, on a logarithmic axis."""
    low, high = heights[0] * 0.9, heights[-1] * 1.1

    def at_y(y):
        return 400 - 340 * log(y / low) / log(high / low)

    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 460" role="img" '
           'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#1f2328">',
           '<rect width="800" height="460" fill="#ffffff"/>', text(16, 30, title),
           text(334, 444, below, 'text-anchor="middle"')]
    for y in heights:
        out += [f'<path d="M48,{at_y(y):.1f}H620" stroke="#d4d7db"/>',
                text(40, at_y(y) + 4, f"{y:g}", 'text-anchor="end"')]
    out += [text(48 + 572 * x, 420, label, 'text-anchor="middle"') for x, label in ticks]
    height = 440  # of a label, above the one before
    for name, (label, points) in sorted(curves.items(), key=lambda one: one[1][1][-1][1]):
        height = min(at_y(points[-1][1]) + 4, height - 16)
        line = " ".join(f"{48 + 572 * x:.1f},{at_y(y):.1f}" for x, y in points)
        out += [f'<polyline points="{line}" fill="none" stroke="{COLOURS[name]}" '
                'stroke-width="2"/>', text(632, height, label, f'style="fill:{COLOURS[name]}"')]
    return "\n".join(out + ["</svg>"]) + "\n"


def slowdown_over_pool():
    pools, best = pool_builds()
    width = log(max(pools) / min(pools))
    curves = {}
    for name in COLOURS:
        built = [(pool, one) for pool, builds in pools.items() for one in builds
                 if (one["allocator"], one["status"]) == (name, "ok")
                 and one["median_ms"] < 7 * best]
        if built:
            points = [(log(pool / min(pools)) / width, one["median_ms"] / best)
                      for pool, one in built]
            curves[name] = f"{built[0][1]['label']} {points[-1][1]:.2f}", points
    return chart("Build time / AtomicMalloc's with ample memory; lower is better",
                 "size of the pool / peak bytes in use", curves,
                 [(log(x / min(pools)) / width, f"{x:g}") for x in pools], (1, 1.5, 2, 3, 4, 5, 6))


def steps_in_4x(topic):
    """Results of strings or particles in the largest pool, and of the method without one."""
    return [one for one in read(f"d18e1ce-{topic}", "h200")["results"]
            if one["allocator"] in COLOURS and one["allocator"] != "heapwood-general"
            and one.get("pool", "4x") == "4x" and one.get("memory")]


def steps_of_strings():
    results = steps_in_4x("strings")
    steps = [phase["phase"] for phase in results[0]["phases"]]
    curves = {one["allocator"]: (f"{one['label']} {one['held_over_live']:.2f}", [
        (i / (len(steps) - 1), phase["items_per_second"] / 1e6)
        for i, phase in enumerate(one["phases"]) if "items_per_second" in phase])
        for one in results}
    return chart("Million strings per second in each step; higher is better. Numbers: bytes held / "
                 "bytes in use", "", curves,
                 [(i / (len(steps) - 1), step) for i, step in enumerate(steps)],
                 (20, 50, 100, 200, 500, 1000))


def memory_of_particles():
    curves = {}
    for one in steps_in_4x("particles"):
        points = [(memory["step"] / 100, memory["held_bytes"] / memory["live_bytes"])
                  for memory in one["memory"]]
        refused = " *" if one["refused"] else ""
        curves[one["allocator"]] = f"{one['label']} {points[-1][1]:.2f}{refused}", points
    return chart("Bytes held / bytes in use; lower is better. * refuses requests", "round", curves,
                 [(x / 100, x) for x in range(0, 101, 20)], (1, 2, 4, 8, 16))


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
    made = {ROOT / f"docs/pictures/{plot.__name__}.svg": plot() for plot in
            (slowdown_over_pool, steps_of_strings, memory_of_particles)}
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
