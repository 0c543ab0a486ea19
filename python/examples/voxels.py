# SPDX-License-Identifier: MIT
"""Voxels of a mesh: the cubes of a grid whose centres are inside.

python python/examples/voxels.py [voxels.png]
"""

import sys

import numpy as np
from knot import knot
from picture import save_png

import heapwood as hw

PIXELS, CELL = 512, 0.125

# The corners of a cube's side at the high end of an axis, counter-clockwise from outside.
SIDE = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [1, 0, 1]])


def surface(filled: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sides between filled and empty cells, as vertices, in cells, and triangles."""
    padded, quads = np.pad(filled, 1), []
    for axis in range(3):
        corners = np.roll(SIDE, axis, axis=1)
        for step, side in (1, corners), (-1, corners[::-1] - np.eye(3, dtype=int)[axis]):
            open_sides = padded & ~np.roll(padded, -step, axis)
            quads.append((np.argwhere(open_sides) - 1)[:, None] + side)
    vertices = np.concatenate(quads).reshape(-1, 3)
    first = np.arange(0, len(vertices), 4)[:, None]
    return vertices, np.concatenate([first + [0, 1, 2], first + [0, 2, 3]])


def main() -> None:
    scene = hw.Scene(*knot(1000, 80))
    low, high = scene.bounds
    axes = [np.arange(low[k] + CELL / 2, high[k], CELL) for k in range(3)]
    filled = scene.contains(np.stack(np.meshgrid(*axes, indexing="ij"), -1))
    print(
        f"{scene.device}: {filled.sum()} of {filled.size} cells are inside, a volume of"
        f" {filled.sum() * CELL**3:.4g}"
    )
    vertices, triangles = surface(filled)
    voxels = hw.Scene(vertices * CELL + low, triangles)
    picture = voxels.render(PIXELS, PIXELS, eye=(3, 5, 9), target=(0, -0.2, 0))
    save_png(sys.argv[1] if len(sys.argv) > 1 else "voxels.png", picture)


if __name__ == "__main__":
    main()
