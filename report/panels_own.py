# SPDX-License-Identifier: MIT
"""Panels of this project's items: the steps from the published CFMMalloc to the redesigned one, the
slowdown over the size of the pool, and the builder's profile."""

from functools import partial

from .cells import allocator_table, cell, heading, name_cell, Notes, number, outcome, row_median
from .cells import table
from .panels_builds import MIB, pool_note, pools_of, ratio, scenes_of
from .plots import axis, curve, curve_of, plot
from .results import time_of
from .figures import bytes_text, extremes, median

# Allocators in the order of the changes. The text says what changed from the allocator before.
STEPS = {
    "cfmmalloc-published": "as published, but headers in a table",
    "cfmmalloc-draws": "walks that get stuck continue where a hash says",
    "cfmmalloc-ungrouped": "pieces with counts of free chunks",
    "cfmmalloc": "lanes of a warp share a search",
}


def point_of(row):
    """The column of a result: its test and parameter, or its scene."""
    if "scene" in row and "test" not in row:
        return f"build of {row['scene']}"
    if row.get("test") == "acd":
        return f"ACD, {row['iterations']} per thread"
    return f"AD, {bytes_text(row['payload_bytes'])}"


def ablation(results):
    rows = [row for row in results.rows("own-ablation") if row["allocator"] in STEPS]
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


class PoolRuns:
    """The results of own-pools by scene, size of the pool (as on the command line) and allocator."""

    def __init__(self, results, item="own-pools"):
        self.rows = results.rows(item)
        self.scenes = scenes_of(self.rows)
        self.pools = list(dict.fromkeys(row["pool"] for row in self.rows))
        self.at = {(row["scene"], row["pool"], row["allocator"]): row for row in self.rows}
        self.reference = {scene: self.shortest(scene) for scene in self.scenes}

    def shortest(self, scene):
        """AtomicMalloc's shortest median in any pool or, without it, the shortest of all."""
        times = [
            (row["allocator"] != "atomic", time_of(row))
            for row in self.rows
            if row["scene"] == scene and time_of(row)
        ]
        return min(times)[1] if times else None

    def median_slowdown(self, pool, allocator):
        """The median over the scenes; None unless all of them are complete."""
        values = [
            ratio(time_of(self.at.get((scene, pool, allocator), {})), self.reference[scene])
            for scene in self.scenes
        ]
        return None if not values or None in values else median(values)

    def sizes(self, key, pool=None, scene=None):
        """Bytes of the results in this pool or of this scene."""
        return [
            row["memory"][key]
            for row in self.rows
            if pool in (None, row["pool"])
            and scene in (None, row["scene"])
            and row.get("memory", {}).get(key)
        ]

    def over_live(self, pool):
        """The median over the scenes of the pool over the peak bytes in use."""
        values = []
        for scene in self.scenes:
            sizes = self.sizes("pool_bytes", pool, scene)
            live = self.sizes("high_water_bytes", scene=scene)
            if sizes and live:
                values.append(max(sizes) / max(live))
        return median(values)


def pools(results):
    runs = PoolRuns(results)
    if not runs.rows:
        return []
    over_live = {pool: runs.over_live(pool) for pool in runs.pools}
    order = sorted(runs.pools, key=lambda pool: over_live[pool] or 0)
    sizes = [[size / MIB for size in runs.sizes("pool_bytes", pool)] for pool in order]
    lines = [
        [heading("pool over the peak bytes in use"), *(number(over_live[p]) for p in order)],
        [heading("pool, MiB"), *(cell(extremes(of)) for of in sizes)],
    ]
    notes, names, curves = Notes(), [None, None], []
    for allocator, label in results.labels().items():
        if not any(key[2] == allocator for key in runs.at):
            continue
        line, points = [name_cell(results, allocator)], []
        for pool in order:
            value = runs.median_slowdown(pool, allocator)
            of_scenes = [runs.at.get((scene, pool, allocator), {}) for scene in runs.scenes]
            failed = [row for row in of_scenes if row and row.get("status") != "ok"]
            line.append(outcome(failed[0] if failed else {}, value, notes))
            if value and over_live[pool]:
                points.append((over_live[pool], value))
        lines.append(line)
        names.append(allocator)
        curves.append(curve_of(label, points, allocator))
    said = [
        f"Median over {', '.join(runs.scenes)}; over AtomicMalloc's shortest build of a scene in any of these pools. live:N is"
        " N times the peak bytes in use, Nx N times the root node at 4 bytes per triangle. All allocators of a column"
        " had the same pool on a scene; CudaMalloc has the heap of the device instead. * cannot free single blocks.",
        *notes.numbered(),
    ]
    title = "Slowdown over the size of the pool"
    return [
        plot(title, axis("pool / peak bytes in use"), axis("slowdown"), curves),
        table(title, ["", *order], lines, said, names),
    ]


# The phases from the bottom of the stack: work, then waiting.
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


def steps(item, unit, x_axis, results):
    """Panels of a workload of steps: for each input the held memory over the steps in the first pool,
    and a table of rates for each pool. `unit`: of rates, by its name."""
    (per_second, scale) = unit

    def rate(phase):
        value = phase.get("items_per_second")
        return value / scale if value else None

    def cells_of(row, notes):
        phases = row.get("phases", [])
        cells = [outcome(row, rate(phase), notes) for phase in phases]
        return [*cells, number(row.get("refused")), number(row.get("held_over_live"), 2)]

    def name_of(row):
        known = row["allocator"] in results.labels()
        return name_cell(results, row["allocator"]) if known else heading(row["label"])

    blocks = []
    for case in results.cases_of(item):
        rows = case["results"]
        pools = list(dict.fromkeys(row["pool"] for row in rows if row.get("pool")))
        shown = [row for row in rows if row.get("pool", "") in ("", *pools[:1])]
        curves = [
            curve_of(
                row["label"],
                [
                    (one["step"] + 1, one["held_bytes"] / one["live_bytes"])
                    for one in row.get("memory", [])
                    if one["live_bytes"]
                ],
                row["allocator"] if "frees" in row else None,
            )
            for row in shown
        ]
        source = rows[0]["source"] if rows else ""
        title = f"{source}: held / live bytes, pool {', '.join(pools[:1])}"
        blocks.append(plot(title, x_axis, axis("held / live"), curves))
        for pool in pools:
            notes = Notes()
            of_pool = [row for row in rows if row.get("pool", pool) == pool]
            names = [phase["phase"] for phase in of_pool[0].get("phases", [])]
            lines = [[name_of(row), *cells_of(row, notes)] for row in of_pool]
            blocks.append(
                table(
                    f"{source}: {per_second}, pool {pool}",
                    ["", *names, "refused", "held / live"],
                    lines,
                    notes.numbered(),
                    [row["allocator"] if "frees" in row else None for row in of_pool],
                )
            )
    return blocks


strings = partial(steps, "own-strings", ("million rows per second", 1e6), axis("step", log=False))
particles = partial(steps, "own-particles", ("rounds per second", 1), axis("round", log=False))
