# SPDX-License-Identifier: MIT
"""Reads, keeps and queries results files."""

import copy
import gzip
import json
import pathlib
import re

SCHEMA = "heapwood.reproduce/1"
# The lists of a results file, and the keys that each of their objects has.
LISTS = {
    "runs": ("argv", "started", "version", "git"),
    "items": ("id", "cases"),
    "cases": ("key", "run", "seconds", "results"),
}


class ResultsError(Exception):
    """One line: the file, what is wrong, what to do."""


def damage(content):
    """What a results file lacks, or None."""
    device = content.get("device")
    if not isinstance(device, dict) or not {"kind", "name"} <= device.keys():
        return "no 'device' with 'kind' and 'name'"
    if "scale" not in content:
        return "no 'scale'"
    for name, keys in LISTS.items():
        if not isinstance(content.get(name), list):
            return f"no list '{name}'"
        for number, one in enumerate(content[name], 1):
            if not isinstance(one, dict) or not set(keys) <= one.keys():
                return f"'{name}', entry {number}: expected {', '.join(keys)}"
    return None


def read(path):
    """Reads a results file of `heapwood reproduce`."""
    try:
        opened = gzip.open if str(path).endswith(".gz") else open
        with opened(path, "rt", encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, EOFError, ValueError) as error:
        raise ResultsError(f"{path}: cannot read: {error}") from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ResultsError(
            f"{path}: not a {SCHEMA} file; write one with 'heapwood reproduce --out DIR'"
        )
    if problem := damage(content):
        raise ResultsError(
            f"{path}: {problem}: the file is damaged; write another with"
            " 'heapwood reproduce --out DIR'"
        )
    return content


def kept_path(folder, content):
    """Where results are kept: GPU and commit name the file."""
    device = content["device"]
    shas = {run.get("git", {}).get("sha") for run in content["runs"]}
    if len(shas) != 1 or (sha := shas.pop()) in (None, "", "unknown"):
        raise ResultsError("results of several commits, or of an unknown one, are not kept")
    if any(run.get("git", {}).get("dirty") is not False for run in content["runs"]):
        raise ResultsError("results of uncommitted changes are not kept")
    name = device["name"].lower().removeprefix("nvidia ")
    slug = "cpu" if device["kind"] == "cpu" else re.sub(r"[^a-z0-9]+", "-", name).strip("-")
    return pathlib.Path(folder) / f"{slug}-{sha[:7]}-reproduce.json.gz"


def keep(folder, content):
    """Writes the results, compressed; returns the path. Folders of this machine are left out."""
    path = kept_path(folder, content)
    runs = [
        {**run, "argv": [a.rsplit("/", 1)[-1] if a.startswith("/") else a for a in run["argv"]]}
        for run in content["runs"]
    ]
    text = json.dumps({**content, "runs": runs}, separators=(",", ":"))
    # Without a time in the header, so that equal results give equal files.
    path.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))
    return path


def newest_kept(folder):
    """The kept results of a GPU that were measured last, or None."""
    found = [read(path) for path in sorted(pathlib.Path(folder).glob("*-reproduce.json.gz"))]
    found = [content for content in found if content["device"].get("kind") == "cuda"]
    # A measurement that ended before its first case has no run.
    return max(
        found,
        key=lambda content: max((run["started"] for run in content["runs"]), default=""),
        default=None,
    )


# Items that are measured with two grids: the paper's 120 blocks, which filled its 15 multiprocessors,
# and as many as fill the GPU ("fill").
WITH_GRIDS = tuple(
    f"regeff-{name}" for name in "3a 3b 3c 5a 5b coalesced heap large".split()
)


def blocks_of(key):
    """The number of blocks in the key of a case, or None."""
    found = re.search(r" blocks=(\d+) ", key)
    return found and int(found[1])


def decisive(item, keys):
    """The keys of an item's cases without which no rule can decide: not those with other grids."""
    if item not in WITH_GRIDS:
        return keys
    return [key for key in keys if blocks_of(key) == 120] or keys


def time_of(row):
    """The median time of a complete result, or None."""
    return (row.get("median_ms") or None) if row.get("status") == "ok" else None


class Results:
    """The results of a measurement, by item."""

    def __init__(self, content):
        self.content = content
        self.device = content["device"]
        self.cases, self.left_out = {}, 0
        for case in content["cases"]:
            # Earlier versions also measured a per-level builder.
            kept = [one for one in case["results"] if one.get("builder") != "per-level"]
            self.left_out += len(case["results"]) - len(kept)
            self.cases[case["key"]] = {**case, "results": kept}
        self.items = {item["id"]: item for item in content["items"]}
        self.read = []  # the rows that a rule has read; judge() empties it

    def grids(self, items):
        """The numbers of blocks, from the paper's 120 on, with which all these items were measured."""
        with_grids = [item for item in items if item in WITH_GRIDS]
        found = [{blocks_of(case["key"]) for case in self.cases_of(item)} for item in with_grids]
        return sorted(b for b in set.intersection(*found) if b and b >= 120) if found else []

    def with_blocks(self, blocks):
        """These results without cases of other grids; with fewer than 120 blocks only where 120 were measured."""
        chosen = copy.copy(self)
        chosen.cases = {
            key: case
            for key, case in self.cases.items()
            if blocks_of(key) in (None, blocks) or max(blocks_of(key), blocks) == 120
        }
        return chosen

    @property
    def on_gpu(self):
        return self.device.get("kind") == "cuda"

    @property
    def full(self):
        return self.content.get("scale") == "full"

    def device_text(self):
        device = self.device
        if self.on_gpu:
            return (
                f"{device['name']} ({device.get('multiprocessors')} multiprocessors,"
                f" {device.get('driver', 'driver unknown')})"
            )
        return f"{device['name']} ({device.get('threads')} CPU threads)"

    def version(self):
        """The commit of the last run. A measurement that ended before its first case has none."""
        runs = self.content["runs"]
        return (runs[-1].get("git", {}).get("sha") if runs else None) or "unknown"

    def warnings(self):
        """Warnings of device records: the GPU was slower than its settings allow."""
        records = [run.get("device_record") or {} for run in self.content["runs"]]
        return list(dict.fromkeys(one["warning"] for one in records if "warning" in one))

    def cases_of(self, item):
        return [
            self.cases[key]
            for key in self.items.get(item, {}).get("cases", [])
            if key in self.cases
        ]

    def rows(self, item, allocator=None, **settings):
        """The results of an item, each merged with its settings and its case's `about`."""
        found = []
        for case in self.cases_of(item):
            for result in case["results"]:
                if allocator is not None and result.get("allocator") != allocator:
                    continue
                row = {
                    **result.get("settings", {}),
                    **result,
                    **case.get("about", {}),
                    "key": case["key"],
                }
                if all(row.get(name) == value for name, value in settings.items()):
                    found.append(row)
        self.read += found
        return found

    def complete(self, item, allocator=None, **settings):
        """The rows with a median time."""
        return [row for row in self.rows(item, allocator, **settings) if time_of(row)]

    def labels(self):
        """{id: label} of all allocators, in the order of the registry."""
        labels = {}
        for case in sorted(self.cases.values(), key=lambda case: -len(case["results"])):
            for result in case["results"]:
                if "frees" in result:
                    labels.setdefault(result["allocator"], result["label"])
        return labels

    def missing(self, item):
        """The reason why an item has no results, or None."""
        entry = self.items.get(item)
        if entry is None:
            return "not in this results file"
        if entry.get("absent"):
            return entry["absent"]
        if entry["cases"] and not self.cases_of(item):
            return "not measured yet"
        return None

    def incomplete(self, item):
        """The reason why an item cannot decide claims, or None."""
        keys = decisive(item, self.items.get(item, {}).get("cases", []))
        there = sum(key in self.cases for key in keys)
        return self.missing(item) or (
            f"{there} of {len(keys)} cases are measured" if there < len(keys) else None
        )


def blocks_shown(results, item):
    """The grid size of a figure: the paper's 120 blocks if it was measured, else the smallest."""
    blocks = sorted({row["blocks"] for row in results.rows(item) if "blocks" in row})
    return 120 if 120 in blocks else blocks[0] if blocks else None
