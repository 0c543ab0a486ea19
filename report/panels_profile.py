# SPDX-License-Identifier: MIT
"""Panels of the builder's profile: phases of its warps, and the allocator's cost."""

from .cells import Notes, cell, name_cell, number, outcome, table
from .plots import axis, curve, plot

# Stacked from the bottom: work, then waiting.
PHASES = (
    "bounds",
    "init",
    "choose",
    "move",
    "binned",
    "exact",
    "leaf",
    "allocate",
    "free",
    "give",
    "other",
    "wait",
)


def profile(results):
    rows = [row for row in results.rows("own-profile") if row.get("timeline")]
    blocks = []
    for row in rows:
        shares, bucket = row["timeline"]["shares"], row["timeline"]["bucket_ms"]
        middles = [bucket * (i + 0.5) for i in range(len(shares["wait"]))]
        blocks.append(
            plot(
                f"{row['scene']} with {row['label']}: phases of {row['warps']:,} warps over the build",
                axis("milliseconds", log=False),
                axis("% of the warps", log=False),
                [
                    curve(phase, middles, [100 * share for share in shares[phase]])
                    for phase in PHASES
                ],
                "stacked",
            )
        )
    names = [f"{row['scene']}, {row['label']}" for row in rows]
    by_phase = [{one["phase"]: one for one in row["phases"]} for row in rows]
    bars = [
        curve(name, list(PHASES), [100 * of[phase]["share"] for phase in PHASES])
        for name, of in zip(names, by_phase)
    ]
    share = axis("% of the warps' time", log=False)
    blocks.append(plot("Time by phase", axis("phase", log=False), share, bars, "bars"))
    lines = [
        [cell(phase, heading=True), *(number(100 * of[phase]["share"], 1) for of in by_phase)]
        for phase in PHASES
    ]
    blocks.append(table("Time by phase, % of the warps' time", ["", *names], lines))
    return [*blocks, by_level(rows, names), *allocators(results)]


def by_level(rows, names):
    """Time per level of the tree, over all phases."""
    of = [
        {level["depth"]: sum(level["warp_ms"].values()) for level in row["levels"]} for row in rows
    ]
    depths = sorted({depth for one in of for depth in one})
    curves = [
        curve(name, depths, [100 * one.get(d, 0) / row["warp_ms"] for d in depths])
        for name, row, one in zip(names, rows, of)
    ]
    return plot(
        "Time by level of the tree",
        axis("depth", log=False),
        axis("% of the warps' time", log=False),
        curves,
    )


def allocators(results):
    rows, notes = results.rows("own-profile"), Notes()
    lines, of = [], []
    for row in rows:
        share = row.get("allocator_share", {})
        calls, build = share.get("of_work"), share.get("of_build")
        lines.append(
            [
                name_cell(results, row["allocator"]),
                cell(row["scene"]),
                outcome(row, row.get("median_ms"), notes),
                number(row.get("profiled_ms")),
                number(None if calls is None else 100 * calls, 1),
                number(None if build is None else 100 * build, 1),
            ]
        )
        of.append(row["allocator"])
    said = [
        "In calls: share of the time that warps do not wait. Saved: reduction of the build time if each warp allocated by"
        " incrementing an offset in memory of its own and free did nothing; negative if never reusing memory costs more.",
        *(f"{i + 1}: {line}" for i, line in enumerate(notes.lines)),
    ]
    columns = [
        "",
        "scene",
        "build, ms",
        "with profiling, ms",
        "in calls, %",
        "saved without them, %",
    ]
    return [table("Cost of the allocator", columns, lines, said, of)]
