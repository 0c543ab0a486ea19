# SPDX-License-Identifier: MIT
"""Small results files, written so that the expected verdicts are known."""

import pathlib
import subprocess
import sys
import unittest

from report import page  # noqa: F401  registers every claim
from report.claims import CLAIMS, FAILS, HOLDS, by_rule
from report.results import SCHEMA, Results

ROOT = pathlib.Path(__file__).parents[2]
BY_ID = {claim.id: claim for claim in CLAIMS}

# Labels that the tests expect; those of other allocators are their ids.
LABELS = {
    "atomic": "AtomicMalloc",
    "scatter": "ScatterAlloc",
    "halloc": "Halloc",
}


def report(*arguments, python=()):
    """Runs `python -m report`."""
    command = [sys.executable, *python, "-m", "report", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def row(allocator, runs_ms=(), status="ok", **more):
    return {
        "allocator": allocator,
        "label": LABELS.get(allocator, allocator),
        "frees": "individually",
        "lower_bound": False,
        "status": status,
        "runs_ms": list(runs_ms),
        **more,
    }


def content(items, kind="cuda", scale="full", name="Test GPU"):
    """items: {id: [(key, about, [rows])]}"""
    run = {
        "argv": ["heapwood", "reproduce"],
        "version": "0",
        "git": {"sha": "0", "dirty": False},
        "device": {"name": name, "kind": kind},
        "compilers": "none",
        "started": "2026-01-01T00:00:00Z",
    }
    cases = {
        key: {"key": key, "run": 0, "seconds": 1.0, "about": about, "results": rows}
        for entries in items.values()
        for key, about, rows in entries
    }
    return {
        "schema": SCHEMA,
        "device": {"kind": kind, "name": name, "multiprocessors": 1},
        "scale": scale,
        "runs": [run],
        "items": [
            {
                "id": item,
                "paper": "RegEff",
                "figure": "Figure",
                "title": "title",
                "cases": [key for key, _, _ in entries],
            }
            for item, entries in items.items()
        ],
        "cases": list(cases.values()),
    }


def results(items, **more):
    return Results(content(items, **more))


def sweep(item, x, points, **common):
    """{item: cases} from {x: {allocator: median}}, with three samples 1% apart each."""
    return {
        item: [
            (
                f"{item} {value}",
                {},
                [
                    row(a, [t * 0.99, t, t * 1.01], settings={x: value, **common})
                    for a, t in times.items()
                ],
            )
            for value, times in points.items()
        ]
    }


def times(value, *allocators):
    return {a: value for a in allocators}


def over(item, x, points, of, **common):
    """`sweep` with the same {allocator: median} at each point."""
    return sweep(item, x, {point: of for point in points}, **common)


def one_case(item, *rows, **about):
    return cases(item, (about, rows))


def cases(item, *entries):
    """{item: cases} from (about, rows) pairs."""
    return {item: [(f"{item} {i}", about, list(rows)) for i, (about, rows) in enumerate(entries)]}


def joined(*parts):
    """One dictionary of items; an item's cases may come from several parts."""
    items = {}
    for number, part in enumerate(parts):
        for item, entries in part.items():
            items.setdefault(item, []).extend(
                (f"{key} of {number}", about, rows) for key, about, rows in entries
            )
    return items


def allocating(item, payloads, rounds=2, test="alloc", x="payload_bytes"):
    """Ouroboros' test of allocation: `sweep` of the kernel that allocates. malloc and free together
    take 1000 times as long, so that a rule that uses them fails."""
    made = sweep(item, x, payloads, rounds=rounds)
    for _, _, rows in made[item]:
        for one in rows:
            one["allocate_ms"] = one["runs_ms"]
            one["runs_ms"] = [1000 / value for value in one["allocate_ms"]]
            one["test"] = test
    return made


class Rules(unittest.TestCase):
    def expect(self, name, *verdicts, **how):
        """verdicts: (expected, items) pairs."""
        for expected, items in verdicts:
            one = by_rule(BY_ID[name], results(items, **how))
            self.assertEqual(one.verdict, expected, f"{name}: {one.evidence}")
            self.assertTrue(one.evidence, name)

    def both(self, name, holds, fails, **how):
        self.expect(name, (HOLDS, holds), (FAILS, fails), **how)
