# SPDX-License-Identifier: MIT
"""Panel of the slowdown over the size of the pool."""

from .cells import Notes, cell, heading, name_cell, number, outcome, table
from .panels_builds import MIB, ratio, scenes_of
from .plots import axis, curve_of, plot
from .results import time_of
from .samples import median
from .text import figure


class PoolRuns:
    """The results of own-pools by scene, size of the pool (as on the command line) and allocator."""

    def __init__(self, results, item="own-pools"):
        self.rows = [row for row in results.rows(item) if row.get("builder") != "per-level"]
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


def sizes_text(sizes):
    ends = (figure(size / MIB) for size in (min(sizes), max(sizes))) if sizes else ["–"]
    return " to ".join(dict.fromkeys(ends))


def pools(results):
    runs = PoolRuns(results)
    if not runs.rows:
        return []
    over_live = {pool: runs.over_live(pool) for pool in runs.pools}
    order = sorted(runs.pools, key=lambda pool: over_live[pool] or 0)
    sizes = [sizes_text(runs.sizes("pool_bytes", pool)) for pool in order]
    lines = [
        [heading("pool over the peak bytes in use"), *(number(over_live[p]) for p in order)],
        [heading("pool, MiB"), *map(cell, sizes)],
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
