# SPDX-License-Identifier: MIT
"""Panel of the slowdown over the size of the pool."""

from .cells import Notes, cell, name_cell, number, outcome, table
from .plots import axis, curve, plot
from .samples import median
from .text import figure

MIB = 1 << 20


class PoolRuns:
    """The results of own-pools by scene, size of the pool (as on the command line) and allocator."""

    def __init__(self, results, item="own-pools"):
        self.rows = [row for row in results.rows(item) if row.get("builder") != "per-level"]
        self.scenes = list(dict.fromkeys(row["scene"] for row in self.rows))
        self.pools = list(dict.fromkeys(row["pool"] for row in self.rows))
        self.at = {(row["scene"], row["pool"], row["allocator"]): row for row in self.rows}
        self.reference = {scene: self.shortest(scene) for scene in self.scenes}

    def shortest(self, scene):
        """AtomicMalloc's shortest median in any pool or, without it, the shortest of all."""
        times = [
            (row["allocator"] != "atomic", row["median_ms"])
            for row in self.rows
            if row["scene"] == scene and row.get("status") == "ok" and row.get("median_ms")
        ]
        return min(times)[1] if times else None

    def slowdown(self, scene, pool, allocator):
        row = self.at.get((scene, pool, allocator), {})
        if row.get("status") != "ok" or not row.get("median_ms") or not self.reference[scene]:
            return None
        return row["median_ms"] / self.reference[scene]

    def median_slowdown(self, pool, allocator):
        """The median over the scenes; None unless all of them are complete."""
        values = [self.slowdown(scene, pool, allocator) for scene in self.scenes]
        return None if not values or None in values else median(values)

    def over_live(self, pool):
        """The median over the scenes of the pool over the peak bytes in use."""
        values = []
        for scene in self.scenes:
            sizes = [
                row.get("memory", {}).get("pool_bytes")
                for row in self.rows
                if row["scene"] == scene and row["pool"] == pool
            ]
            live = [
                row.get("memory", {}).get("high_water_bytes")
                for row in self.rows
                if row["scene"] == scene
            ]
            sizes, live = list(filter(None, sizes)), list(filter(None, live))
            if sizes and live:
                values.append(max(sizes) / max(live))
        return median(values)


def pools(results):
    runs = PoolRuns(results)
    if not runs.rows:
        return []
    order = sorted(runs.pools, key=lambda pool: runs.over_live(pool) or 0)
    notes, lines, names, curves = Notes(), [], [], []
    lines.append(
        [
            cell("pool over the peak bytes in use", heading=True),
            *(number(runs.over_live(pool)) for pool in order),
        ]
    )
    lines.append(
        [cell("pool, MiB", heading=True), *(cell(sizes_text(runs, pool)) for pool in order)]
    )
    names += [None, None]
    for allocator in results.labels():
        if not any(key[2] == allocator for key in runs.at):
            continue
        line, points = [name_cell(results, allocator)], []
        for pool in order:
            value = runs.median_slowdown(pool, allocator)
            failed = [
                row
                for scene in runs.scenes
                if (row := runs.at.get((scene, pool, allocator))) and row.get("status") != "ok"
            ]
            line.append(outcome(failed[0] if failed else {}, value, notes))
            if value and runs.over_live(pool):
                points.append((runs.over_live(pool), value))
        lines.append(line)
        names.append(allocator)
        curves.append(
            curve(
                results.labels()[allocator],
                [p[0] for p in points],
                [p[1] for p in points],
                allocator=allocator,
            )
        )
    said = [
        f"Median over {', '.join(runs.scenes)}; over AtomicMalloc's shortest build of a scene in any of these pools. live:N is"
        " N times the peak bytes in use, Nx N times the root node at 4 bytes per triangle. All allocators of a column"
        " had the same pool on a scene; CudaMalloc has the heap of the device instead. * cannot free single blocks.",
        *(f"{i + 1}: {line}" for i, line in enumerate(notes.lines)),
    ]
    title = "Slowdown over the size of the pool"
    return [
        plot(title, axis("pool / peak bytes in use"), axis("slowdown"), curves),
        table(title, ["", *order], lines, said, names),
    ]


def sizes_text(runs, pool):
    sizes = [
        row["memory"]["pool_bytes"] / MIB
        for row in runs.rows
        if row["pool"] == pool and row.get("memory", {}).get("pool_bytes")
    ]
    return " to ".join(dict.fromkeys(map(figure, (min(sizes), max(sizes))))) if sizes else "–"
