# SPDX-License-Identifier: MIT
"""Panel of the steps from the published CFMMalloc to the redesigned one."""

from .cells import Notes, heading, outcome, row_median, table
from .panels_builds import pool_note, pools_of, ratio
from .text import bytes_text

# Allocators in the order of the changes, and what changed from the one before.
STEPS = {
    "cfmmalloc-published": "as published",
    "cfmmalloc-table": "headers in a table",
    "cfmmalloc-draws": "walks that get stuck continue where a hash says",
    "cfmmalloc-ungrouped": "pieces with counts of free chunks",
    "cfmmalloc": "lanes of a warp share a walk",
}


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
        if row["allocator"] in STEPS and row.get("builder") != "per-level"
    ]
    points = list(dict.fromkeys(map(point_of, rows)))
    at = {(row["allocator"], point_of(row)): row for row in rows}
    names = [a for a in STEPS if any((a, p) in at for p in points)]

    def time(allocator, point):
        row = at.get((allocator, point), {})
        return row_median(row) if row.get("status") == "ok" else None

    notes = Notes()
    times = [
        [
            heading(f"{a}: {STEPS[a]}"),
            *(outcome(at.get((a, p), {}), time(a, p), notes) for p in points),
        ]
        for a in names
    ]
    gains = [
        [
            heading(STEPS[a]),
            *(outcome({"status": "ok"}, ratio(time(before, p), time(a, p)), notes) for p in points),
        ]
        for before, a in zip(names, names[1:])
    ]
    said = [pool_note(pools_of([row for row in rows if "scene" in row])), *notes.numbered()]
    return [
        table("Steps from the published CFMMalloc, ms", ["", *points], times, said, names),
        table(
            "Gain of each step: time of the step before over its own",
            ["", *points],
            gains,
            ["Above 1: the change made it faster. AD and ACD have one allocating lane per warp."],
            names[1:],
        ),
    ]
