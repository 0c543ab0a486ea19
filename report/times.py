# SPDX-License-Identifier: MIT
"""Wall-clock time of a measurement: per run (a part is a run), per item, and the slowest cases."""

import collections


def lines_of(columns, rows):
    """Text table: first column left-aligned, the others right-aligned."""
    widths = [max(len(str(row[i])) for row in [columns, *rows]) for i in range(len(columns))]
    for row in [columns, *rows]:
        cells = [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:])]
        yield "  ".join([str(row[0]).ljust(widths[0]), *cells]).rstrip()


def slowest_allocators(case, max_listed=3):
    """The slowest allocators of a case. Only generic tests record the time per allocator."""
    shares = sorted(
        ((row.get("seconds", 0), row["allocator"]) for row in case["results"]), reverse=True
    )
    return ", ".join(
        f"{allocator} {seconds:.1f}"
        for seconds, allocator in shares[:max_listed]
        if seconds >= 0.05
    )


def times_text(results, max_cases=20):
    cases, started = results.content["cases"], results.content["runs"]
    runs = collections.Counter()
    for case in cases:
        runs[case["run"]] += case["seconds"]
    items = []
    for item in results.items.values():
        own = results.cases_of(item["id"])
        seconds = sum(case["seconds"] for case in own)
        items.append((item["id"], f"{len(own)}/{len(item['cases'])}", f"{seconds:.1f}"))
    slow = sorted(cases, key=lambda case: -case["seconds"])[:max_cases]
    total = sum(runs.values())
    blocks = [
        [f"{len(cases)} cases, {total:.0f} s ({total / 60:.1f} minutes)"],
        lines_of(
            ("run", "started", "seconds"),
            [(run + 1, started[run]["started"], f"{runs[run]:.1f}") for run in sorted(runs)],
        ),
        lines_of(("item", "cases", "seconds"), items),
        lines_of(
            ("slowest cases", "seconds", "allocators"),
            [(case["key"], f"{case['seconds']:.1f}", slowest_allocators(case)) for case in slow],
        ),
    ]
    return "\n\n".join("\n".join(block) for block in blocks)
