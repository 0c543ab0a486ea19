# SPDX-License-Identifier: MIT
"""Panel of the steps from the published CFMMalloc to the redesigned one."""

from .cells import Notes, cell, outcome, row_median, table
from .panels_builds import pool_note, pools_of
from .text import bytes_text

# Allocators in the order of the changes, and what changed from the one before.
STEPS = (
    ("cfmmalloc-published", "as published"),
    ("cfmmalloc-table", "headers in a table"),
    ("cfmmalloc-draws", "walks that get stuck continue where a hash says"),
    ("cfmmalloc-ungrouped", "pieces with counts of free chunks"),
    ("cfmmalloc", "lanes of a warp share a walk"),
)


def point_of(row):
    """The column of a result: its test and parameter, or its scene."""
    if "scene" in row and "test" not in row:
        return f"build of {row['scene']}"
    if row.get("test") == "acd":
        return f"ACD, {row['iterations']} per thread"
    return f"AD, {bytes_text(row['payload_bytes'])}"


def ablation(results):
    rows = [
        row
        for row in results.rows("own-ablation")
        if row["allocator"] in dict(STEPS) and row.get("builder") != "per-level"
    ]
    points = list(dict.fromkeys(map(point_of, rows)))
    at = {(row["allocator"], point_of(row)): row for row in rows}
    steps = [(a, change) for a, change in STEPS if any((a, p) in at for p in points)]

    def time(allocator, point):
        row = at.get((allocator, point), {})
        return row_median(row) if row.get("status") == "ok" else None

    times, gains, notes = [], [], Notes()
    for i, (allocator, change) in enumerate(steps):
        head = cell(f"{allocator}: {change}", heading=True)
        times.append(
            [
                head,
                *(outcome(at.get((allocator, p), {}), time(allocator, p), notes) for p in points),
            ]
        )
        if i == 0:
            continue
        before = steps[i - 1][0]
        line = [cell(change, heading=True)]
        for point in points:
            old, new = time(before, point), time(allocator, point)
            line.append(outcome({"status": "ok"}, old / new if old and new else None, notes))
        gains.append(line)
    names = [allocator for allocator, _ in steps]
    columns = ["", *points]
    said = [pool_note(pools_of([row for row in rows if "scene" in row]))]
    said += [f"{i + 1}: {line}" for i, line in enumerate(notes.lines)]
    return [
        table("Steps from the published CFMMalloc, ms", columns, times, said, names),
        table(
            "Gain of each step: time of the step before over its own",
            columns,
            gains,
            ["Above 1: the change made it faster. AD and ACD have one allocating lane per warp."],
            names[1:],
        ),
    ]
