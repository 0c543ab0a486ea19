#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables and plots of the documents from the results files under docs/results/.

  scripts/docs_tables.py                     rewrites all tables and plots (make tables)
  scripts/docs_tables.py check               exits with 1 if one differs from its results files
  scripts/docs_tables.py show NAME           prints one table
  scripts/docs_tables.py add FILE [TOPIC]    compresses a JSON file of heapwood into docs/results/

docs/results/tables.txt defines the tables; docs/measuring.md explains its format. In a document a
table is between the lines `<!-- table: NAME -->` and `<!-- end of table -->`. --root FOLDER works
on another tree. Only the standard library is needed.
"""
import argparse
import gzip
import json
import re
import shlex
import sys
import textwrap
from pathlib import Path

import docs_plots

RESULTS = Path("docs/results")
PICTURES = Path("docs/pictures")
DEFINITIONS = RESULTS / "tables.txt"
BEGIN = re.compile(r"<!-- table: (\S+) -->$")
END = "<!-- end of table -->"
PLACEHOLDER = re.compile(r"\{([^{}:]+)(?::([^{}]*))?\}")


class Failure(Exception):
    """An error in a definition, a document or a results file."""


# Results files.

def device_slug(device):
    """The part of a file's name that names the device: "NVIDIA H200" is h200."""
    if device["kind"] == "cpu":
        return "cpu"
    return re.sub(r"[^a-z0-9]+", "-", device["name"].lower().removeprefix("nvidia ")).strip("-")


def name_prefix(report):
    """What the name of a results file begins with: device and commit."""
    sha = report.get("git", {}).get("sha")
    if not sha:
        raise Failure("the program that wrote it did not know its commit (git.sha)")
    return f"{device_slug(report['device'])}-{sha[:7]}-"


def without_folder(text):
    """An absolute path's last part: the folders of a machine do not belong in the repository."""
    return text.rsplit("/", 1)[-1] if text.startswith("/") else text


def strip_folders(value, key=None):
    """Removes the folders of absolute paths from argv and from every "source"."""
    if isinstance(value, dict):
        return {k: strip_folders(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [strip_folders(v, key) for v in value]
    return without_folder(value) if key in ("argv", "source") and isinstance(value, str) else value


def add(root, path, topic):
    """Compresses the report at path into docs/results/; returns the new file's path."""
    try:
        report = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise Failure(f"{path}: not JSON: {error}") from error
    if not isinstance(report, dict) or not isinstance(report.get("schema"), str):
        raise Failure(f"{path}: no 'schema': not a JSON file of heapwood (--json FILE)")
    for key in ("device.kind", "device.name", "results"):
        if lookup(report, key) is None:
            raise Failure(f"{path}: no '{key}': not a file of results (scripts/report.sh keep adds "
                          "those of reproduce)")
    if lookup(report, "git.sha") in (None, "", "unknown"):
        raise Failure(f"{path}: the program that wrote it did not know its commit (git.sha); build "
                      "it in a checkout")
    if lookup(report, "git.dirty") is not False:
        raise Failure(f"{path}: measured with a program that was built from uncommitted changes")
    command = report["schema"].split(".")[-1].split("/")[0]
    name = name_prefix(report) + (topic or command) + ".json.gz"
    text = json.dumps(strip_folders(report), ensure_ascii=False, separators=(",", ":"))
    target = root / RESULTS / name
    target.parent.mkdir(parents=True, exist_ok=True)
    # Without a time in the header, so that equal results give equal files.
    target.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
    return target


def read_records(path):
    """The results of a file. A record also has the keys of the report, such as device and git."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        report = json.load(file)
    if not path.name.startswith(name_prefix(report)):
        raise Failure(f"{path.name}: the name does not begin with device and commit, "
                      f"'{name_prefix(report)}'")
    head = {key: value for key, value in report.items() if key != "results"}
    return add_pool_figures([{**head, **result, **refusals(result), "file": path.name}
                             for result in report["results"]])


def refusals(result):
    """The requests that were refused in any phase, for results with a list of phases."""
    phases = result.get("phases")
    if not isinstance(phases, list):
        return {}
    return {"refused": sum(phase.get("refused", 0) for phase in phases)}


def add_pool_figures(records):
    """Adds pool_over_live, the pool over the peak bytes in use, and pool_slowdown, over
    AtomicMalloc's shortest build in any pool as in `bench --pool LIST`, to the builds of scenes
    that were measured in pools of live:N."""
    scenes = {}
    for record in records:
        if record.get("builder") == "single-kernel":
            scenes.setdefault(record.get("source"), []).append(record)
    for builds in scenes.values():
        sizes = {build["settings"]["pool"]: size for build in builds
                 if (size := lookup(build, "memory.pool_bytes"))}
        multiples = {pool: float(pool[5:]) for pool in sizes if pool.startswith("live:")}
        timed = [build for build in builds
                 if build.get("status") == "ok" and build.get("median_ms")]
        reference = min((build["median_ms"] for build in timed if build["allocator"] == "atomic"),
                        default=None)
        if not multiples or reference is None:
            continue
        largest = max(multiples, key=multiples.get)
        live = sizes[largest] / multiples[largest]
        for build in builds:
            pool = build["settings"]["pool"]
            if pool in sizes:
                build["pool_over_live"] = float(f"{multiples.get(pool, sizes[pool] / live):.3g}")
        for build in timed:
            build["pool_slowdown"] = build["median_ms"] / reference
    return records


# Figures.

def lookup(record, path):
    """The value of a path such as memory.pool_bytes or phases.insert@1000.median_ms; None if
    absent. Of a list, PHASE or PHASE@BATCH chooses the first such element, `last` the last one."""
    for key in path.split("."):
        if isinstance(record, list):
            phase, _, batch = key.partition("@")
            record = record[-1:] if key == "last" else [
                one for one in record
                if one.get("phase") == phase and batch in ("", str(one.get("batch")))]
            record = record[0] if record else None
        else:
            record = record.get(key) if isinstance(record, dict) else None
    return record


def plain(value):
    """A value as filters and headings name it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def parse_filter(text):
    """The conditions KEY=VALUE and KEY!=VALUE, separated by blanks."""
    conditions = []
    for word in text.split():
        match = re.fullmatch(r"([\w.-]+)(!?=)(.+)", word)
        if not match:
            raise Failure(f"'{word}': expected KEY=VALUE or KEY!=VALUE")
        conditions.append(match.groups())
    return conditions


def select(records, conditions):
    return [record for record in records
            if all((plain(lookup(record, key)) == value) == (operator == "=")
                   for key, operator, value in conditions)]


def number(value, digits):
    """Fixed-point text: .98 without a leading zero, a comma per thousand from 10,000 on."""
    text = f"{value:,.{digits}f}" if abs(value) >= 9999.5 else f"{value:.{digits}f}"
    return re.sub(r"^(-?)0\.", r"\1.", text)


def significant(value, digits):
    """A number rounded to so many significant digits; whole numbers keep all of theirs."""
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])  # after rounding
    return number(value, max(0, digits - 1 - exponent))


def count(value):
    """166K, 1.65M: three significant digits; below 10,000 all."""
    if value < 9999.5:
        return number(value, 0)
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if float(f"{value:.2e}") >= factor:
            break
    return significant(value / factor, 3) + unit


def command_line(argv):
    """The command as a reader repeats it: without the program's folder and --json FILE."""
    words = [without_folder(argv[0])] + argv[1:]
    if "--json" in words[:-1]:
        at = words.index("--json")
        del words[at:at + 2]
    return shlex.join(words)


def mebibytes(value):
    """One digit after the point below 100 MiB."""
    mib = value / 2**20
    return re.sub(r"\.0$", "", number(mib, 1 if mib < 99.95 else 0))


FORMATS = {
    "": lambda value: number(value, 0) if isinstance(value, int) and not isinstance(value, bool)
    else plain(value),
    "count": count,
    "MiB": mebibytes,
    "percent": lambda value: number(100 * value, 1) + "%",
    "star": lambda value: " *" if value else "",
    "dagger": lambda value: " †" if value else "",
    "sha": lambda value: value[:7],
    "command": command_line,
}


def format_value(value, form):
    if form in FORMATS:
        return FORMATS[form](value)
    if re.fullmatch(r"\.\df", form):
        return number(value, int(form[1]))
    if re.fullmatch(r"\d", form):
        return significant(value, int(form))
    raise Failure(f"'{form}': not a format")


def fill(template, records, strict=False, statuses=None):
    """The template with figures for {KEY FILTER...:FORMAT}. If no record has one of them, an error
    (strict), the status of a result that is not ok, or its text in `statuses`, or empty."""
    def figure(match):
        path, *conditions = match[1].split()
        matching = select(records, parse_filter(" ".join(conditions)))
        values = [value for record in matching if (value := lookup(record, path)) is not None]
        if any(value != values[0] for value in values):
            raise Failure(f"{match[0]} has several values; a filter has to choose one")
        if values:
            return format_value(values[0], match[2] or "")
        if strict:
            raise Failure(f"{match[0]} is absent")
        status = (record.get("status", "ok") for record in matching)
        missing.extend([word for word in status if word != "ok"] + [""])
        return ""
    missing = []
    text = PLACEHOLDER.sub(figure, template)
    return (statuses or {}).get(missing[0], missing[0]) if missing else text


# Tables.

def read_definitions(path):
    """{name: [(key, fields), ...]} of sections [name] with lines KEY: FIELD | FIELD."""
    tables, lines = {}, None
    for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if match := re.fullmatch(r"\[([\w-]+)\]", line):
            if match[1] in tables:
                raise Failure(f"{DEFINITIONS}:{n}: a second table '{match[1]}'")
            lines = tables[match[1]] = []
            continue
        key, colon, rest = line.partition(":")
        if lines is None or not colon:
            raise Failure(f"{DEFINITIONS}:{n}: expected [NAME] or KEY: VALUE")
        lines.append((key.strip(), [field.strip() for field in rest.split("|")]))
    return tables


def values_of(records, words):
    """[(value, its filter)] for `KEY VALUE...`; without a VALUE all that occur, in file order."""
    key, *values = words.split()
    if not values:
        values = dict.fromkeys(plain(value) for record in records
                               if (value := lookup(record, key)) is not None)
    return [(value, [(key, "=", value)]) for value in values]


def read_files(root, lines):
    """The records of all files of a definition that pass its `where` lines."""
    records, where = [], []
    for key, fields in lines:
        for word in fields[0].split() if key == "files" else []:
            paths = sorted((root / RESULTS).glob(word)) or [root / RESULTS / word]
            records += [record for path in paths for record in read_records(path)]
        if key == "where":
            where += parse_filter(fields[0])
    return select(records, where)


FIELDS = {
    "files": ["FILE..."], "where": ["FILTER"], "caption": ["TEXT"], "corner": ["TEXT"],
    "status": ["NAME", "TEXT"], "columns": ["KEY [VALUE...]"],
    "column": ["HEADING", "FILTER", "[CELL]"], "row": ["LABEL", "FILTER", "CELL"],
    "head": ["LABEL", "FILTER", "CELL"], "rows": ["KEY [VALUE...]", "LABEL", "FILTER", "CELL"],
    "plot": ["FILE", "TITLE", "TEXT", "TEXT", "FILTER"],
}


def parse(records, lines):
    """The parts of a definition: caption, corner, columns [(heading, filter, cell or None)], and
    rows [(label, filter, cell, whether it is a head)]."""
    caption, corner, columns, rows = [], "", [], []
    for key, fields in lines:
        if key not in FIELDS:
            raise Failure(f"'{key}': expected one of {' '.join(FIELDS)}")
        if len(fields) != len(FIELDS[key]) and (key, len(fields)) != ("column", 2):
            raise Failure(f"expected {key}: {' | '.join(FIELDS[key])}")
        if key == "caption":
            caption += fields
        elif key == "corner":
            corner = fields[0]
        elif key == "columns":
            columns += [(value, conditions, None)
                        for value, conditions in values_of(records, fields[0])]
        elif key == "column":
            heading, conditions, *cell = fields
            columns.append((heading, parse_filter(conditions), cell[0] if cell else None))
        elif key in ("head", "row"):
            label, conditions, cell = fields
            rows.append((label, parse_filter(conditions), cell, key == "head"))
        elif key == "rows":
            words, label, conditions, cell = fields
            conditions = parse_filter(conditions)
            rows += [(label, conditions + own, cell, False)
                     for _, own in values_of(select(records, conditions), words)]
    return " ".join(caption), corner, columns, rows


def make_table(root, lines):
    """The lines of a table and its caption."""
    records = read_files(root, lines)
    caption, corner, columns, rows = parse(records, lines)
    statuses = dict(fields for key, fields in lines if key == "status")
    body = []
    for label, conditions, cell, head in rows:
        chosen = select(records, conditions)
        cells = ["" if head and own else
                 fill(own or cell, select(chosen, where), statuses=statuses)
                 for _, where, own in columns]
        if not any(cells):
            raise Failure(f"row '{label}': no figures")
        body.append([fill(label, chosen, strict=True)] + cells)
    for index, (heading, _, _) in enumerate(columns, 1):
        if not any(row[index] for row in body):
            raise Failure(f"column '{heading}': no figures")
    table = [[corner] + [heading for heading, _, _ in columns],
             [":---"] + ["---:"] * len(columns)] + body
    text = textwrap.wrap(fill(caption, records, strict=True), 100, break_long_words=False,
                         break_on_hyphens=False)
    return text + [""] * bool(text) + ["| " + " | ".join(row) + " |" for row in table]


# Plots.

def make_plots(root, lines):
    """{path: SVG} of each `plot` line: the slowdown over the size of the pool, a curve for each
    allocator that passes the filter."""
    plots = {}
    for file, *texts, condition in (fields for key, fields in lines if key == "plot"):
        records = [one for one in read_files(root, lines) if "pool_over_live" in one]
        shown = [one for one in select(records, parse_filter(condition)) if "pool_slowdown" in one]
        curves, labels = {}, {}
        for one in shown:
            labels[one["allocator"]] = one["label"]
            points = curves.setdefault(one["allocator"], {})
            if one["pool_over_live"] in points:
                raise Failure(f"plot {file}: two builds with {one['label']} in one pool: a `where` "
                              "line has to choose a scene")
            points[one["pool_over_live"]] = one["pool_slowdown"]
        if not curves:
            raise Failure(f"plot {file}: no figures")
        ticks = {(one["pool_over_live"], f"{plain(one['pool_over_live'])}\u00d7",
                  mebibytes(size) + " MiB")
                 for one in records if (size := lookup(one, "memory.pool_bytes"))}
        plots[PICTURES / file] = docs_plots.draw(
            *(fill(text, records, strict=True) for text in texts),
            "size of the pool over the peak bytes in use", sorted(ticks),
            "1: AtomicMalloc, which cannot free, with ample memory",
            [(allocator, f"{labels[allocator]} {number(points[max(points)], 2)}",
              sorted(points.items())) for allocator, points in curves.items()])
    return plots


# Documents.

def rewrite(document, text, tables, used):
    """The document with its tables replaced, and where it changed, as (line, name)."""
    out, changed, lines = [], [], text.splitlines()
    n = 0
    while n < len(lines):
        out.append(lines[n])
        match = BEGIN.match(lines[n])
        n += 1
        if not match:
            continue
        begin, name = n, match[1]
        if name not in tables:
            raise Failure(f"{document}:{begin}: table '{name}' is not in {DEFINITIONS}")
        if END not in lines[begin:]:
            raise Failure(f"{document}:{begin}: table '{name}' has no line '{END}'")
        n = lines.index(END, begin)
        used.add(name)
        if lines[begin:n] != tables[name]:
            changed.append((begin, name))
        out += tables[name]
    return "\n".join(out) + "\n", changed


def update(root, check):
    """Rewrites documents and plots, or reports where they differ. Returns whether all agreed."""
    tables, plots = {}, {}
    for name, lines in read_definitions(root / DEFINITIONS).items():
        try:
            tables[name] = make_table(root, lines)
            plots.update(make_plots(root, lines))
        except (Failure, OSError, ValueError, KeyError) as error:
            raise Failure(f"{DEFINITIONS}: table '{name}': {error}") from error
    agree, used = True, set()
    result = "differs from its results files; make tables rewrites it" if check else "rewritten"
    for path, svg in plots.items():
        if not (root / path).is_file() or (root / path).read_text(encoding="utf-8") != svg:
            agree = False
            print(f"{path}: plot {result}")
            if not check:
                (root / path).write_text(svg, encoding="utf-8")
    for path in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        document = path.relative_to(root)
        before = path.read_text(encoding="utf-8")
        after, changed = rewrite(document, before, tables, used)
        agree = agree and not changed
        for line, name in changed:
            print(f"{document}:{line}: table '{name}' {result}")
        if changed and not check:
            path.write_text(after, encoding="utf-8")
    for name in tables.keys() - used:
        raise Failure(f"{DEFINITIONS}: table '{name}' is in no document")
    return agree


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("write")
    commands.add_parser("check")
    commands.add_parser("show").add_argument("name")
    adding = commands.add_parser("add")
    adding.add_argument("file")
    adding.add_argument("topic", nargs="?")
    arguments = parser.parse_args()
    try:
        if arguments.command == "add":
            print(add(arguments.root, arguments.file, arguments.topic))
        elif arguments.command == "show":
            tables = read_definitions(arguments.root / DEFINITIONS)
            if arguments.name not in tables:
                raise Failure(f"'{arguments.name}': expected one of {' '.join(tables)}")
            print("\n".join(make_table(arguments.root, tables[arguments.name])))
        elif not update(arguments.root, check=arguments.command == "check") and \
                arguments.command == "check":
            return 1
    except (Failure, OSError) as error:
        print(f"docs_tables: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
