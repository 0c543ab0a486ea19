# SPDX-License-Identifier: MIT
"""Panels of the builder's profile: phases of its warps, and the allocator's cost."""

from .cells import Notes, allocator_table, cell, heading, number, outcome, table
from .plots import axis, curve, plot

# Stacked from the bottom: work, then waiting.
PHASES = (
    *("bounds", "init", "choose", "move", "binned", "exact", "leaf"),
    *("allocate", "free", "give", "other", "wait"),
)
SHARE = axis("% of the warps' time", log=False)


def over_time(row):
    shares, bucket = row["timeline"]["shares"], row["timeline"]["bucket_ms"]
    middles = [bucket * (i + 0.5) for i in range(len(shares["wait"]))]
    return plot(
        f"{row['scene']} with {row['label']}: phases of {row['warps']:,} warps over the build",
        axis("milliseconds", log=False),
        axis("% of the warps", log=False),
        [curve(phase, middles, [100 * share for share in shares[phase]]) for phase in PHASES],
        "stacked",
    )


def profile(results):
    rows = [row for row in results.rows("own-profile") if row.get("timeline")]
    names = [f"{row['scene']}, {row['label']}" for row in rows]
    shares = [{one["phase"]: 100 * one["share"] for one in row["phases"]} for row in rows]
    bars = [curve(name, list(PHASES), [of[p] for p in PHASES]) for name, of in zip(names, shares)]
    lines = [[heading(phase), *(number(of[phase], 1) for of in shares)] for phase in PHASES]
    return [
        *map(over_time, rows),
        plot("Time by phase", axis("phase", log=False), SHARE, bars, "bars"),
        table("Time by phase, % of the warps' time", ["", *names], lines),
        by_level(rows, names),
        allocators(results),
    ]


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
    return plot("Time by level of the tree", axis("depth", log=False), SHARE, curves)


def allocators(results):
    notes = Notes()

    def cells_of(row):
        share = row.get("allocator_share", {})
        calls, build = (share.get(key) for key in ("of_work", "of_build"))
        return [
            cell(row["scene"]),
            outcome(row, row.get("median_ms"), notes),
            number(row.get("profiled_ms")),
            number(None if calls is None else 100 * calls, 1),
            number(None if build is None else 100 * build, 1),
        ]

    return allocator_table(
        results,
        "Cost of the allocator",
        ["scene", "build, ms", "with profiling, ms", "in calls, %", "saved without them, %"],
        results.rows("own-profile"),
        cells_of,
        [
            "In calls: share of the time that warps do not wait. Saved: reduction of the build time if each warp allocated by"
            " incrementing an offset in memory of its own and free did nothing; negative if never reusing memory costs more."
        ],
        notes,
    )
