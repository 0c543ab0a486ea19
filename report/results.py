# SPDX-License-Identifier: MIT
"""Results files: read, put together, looked up."""

import json

SCHEMA = "heapwood.reproduce/1"


class ResultsError(Exception):
    """One line: which file, what is wrong, what to do."""


def read(path):
    """A results file as written by `heapwood reproduce`."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path}: cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ResultsError(f"{path}: not a {SCHEMA} file; make one with 'heapwood reproduce --out DIR'")
    return content


def merge(files):
    """Parts of one measurement: the cases of all, a later file's where two have the same one."""
    first = files[0]
    for other in files[1:]:
        same = all(other["device"].get(key) == first["device"].get(key) for key in ("kind", "name", "multiprocessors"))
        if not same or other["scale"] != first["scale"]:
            raise ResultsError(
                "files of different devices or scales are no parts of one measurement; compare them with --against"
            )
    merged = {**first, "runs": [], "items": [], "cases": []}
    cases, items = {}, {}
    for content in files:
        offset = len(merged["runs"])
        merged["runs"] += content["runs"]
        for case in content["cases"]:
            cases[case["key"]] = {**case, "run": case["run"] + offset}
        for item in content["items"]:
            known = items.setdefault(item["id"], {**item, "cases": []})
            known["cases"] = list(dict.fromkeys(known["cases"] + item["cases"]))
    merged["cases"], merged["items"] = list(cases.values()), list(items.values())
    return merged


class Results:
    """What was measured, by item."""

    def __init__(self, content):
        self.content = content
        self.device = content["device"]
        self.cases = {case["key"]: case for case in content["cases"]}
        self.items = {item["id"]: item for item in content["items"]}

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

    def cases_of(self, item):
        return [self.cases[key] for key in self.items.get(item, {}).get("cases", []) if key in self.cases]

    def rows(self, item, allocator=None, **settings):
        """Results of an item: each with its settings and its case's `about` beside its own keys."""
        found = []
        for case in self.cases_of(item):
            for result in case["results"]:
                if allocator is not None and result.get("allocator") != allocator:
                    continue
                row = {**result.get("settings", {}), **result, **case.get("about", {}), "key": case["key"]}
                if all(row.get(name) == value for name, value in settings.items()):
                    found.append(row)
        return found

    def labels(self):
        """Allocators' ids with their labels, in the order of the registry."""
        labels = {}
        for case in self.content["cases"]:
            for result in case["results"]:
                if "frees" in result:
                    labels.setdefault(result["allocator"], result["label"])
        return labels

    def missing(self, item):
        """Why there is nothing of an item, or None."""
        entry = self.items.get(item)
        if entry is None:
            return "not in this results file"
        if entry.get("absent"):
            return entry["absent"]
        if entry["cases"] and not self.cases_of(item):
            return "not measured yet"
        return None

    def incomplete(self, item):
        """Why an item is not yet to be judged by, or None."""
        planned, there = len(self.items.get(item, {}).get("cases", [])), len(self.cases_of(item))
        return self.missing(item) or (f"{there} of {planned} cases are measured" if there < planned else None)


def blocks_shown(results, item):
    """The grid that a figure is drawn for: the paper's 120 blocks where there are several."""
    blocks = sorted({row["blocks"] for row in results.rows(item) if "blocks" in row})
    return 120 if 120 in blocks else blocks[0] if blocks else None
