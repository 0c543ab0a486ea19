# SPDX-License-Identifier: MIT
"""A closed mesh and its points: a knot coloured by its distance from a coarse copy, and its voxels.

Colours run from dark blue, 2% of the tube's radius inside the copy, to light yellow, 6% outside.
Voxels are the cells of a grid whose centres are inside.

    python python/examples/knot.py [knot.png]
"""

import sys

import numpy as np
from city import boxes
from picture import colours, save_png

import heapwood as hw

PIXELS, RADIUS, CELL = 512, 0.6, 0.125


def knot(along: int, around: int) -> tuple[np.ndarray, np.ndarray]:
    """A tube along a trefoil: `along` rings of `around` vertices."""
    s, a = (2 * np.pi * np.arange(n) / n for n in (along, around))
    path = np.c_[np.sin(s) + 2 * np.sin(2 * s), np.cos(s) - 2 * np.cos(2 * s), np.sin(3 * s)]
    ahead = np.roll(path, -1, 0) - np.roll(path, 1, 0)
    across = np.cross(ahead, [0, 0, 1])
    up = np.cross(across, ahead)
    across, up = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (across, up))
    rings = np.cos(a)[:, None] * across[:, None] + np.sin(a)[:, None] * up[:, None]
    i, j = np.meshgrid(np.arange(along), np.arange(around), indexing="ij")
    k, m = (i + 1) % along * around, (j + 1) % around
    quads = np.stack([i * around + j, k + j, k + m, i * around + m], -1).reshape(-1, 4)
    triangles = quads[:, [0, 1, 2, 0, 2, 3]].reshape(-1, 3)
    return (path[:, None] + RADIUS * rings).reshape(-1, 3), triangles


def draw_deviation() -> np.ndarray:
    vertices, triangles = knot(3000, 240)
    scene, coarse = hw.Scene(vertices, triangles), hw.Scene(*knot(90, 12))
    deviation = coarse.signed_distance(vertices) / RADIUS
    print(f"{scene.device}: deviation {deviation.min():.2%} to {deviation.max():.2%} of the radius")
    x, y = np.meshgrid(*2 * [(np.arange(PIXELS) + 0.5) * 8 / PIXELS - 4])
    hits = scene.cast_rays(np.stack([x, -y, np.full_like(x, 9)], -1), [0, 0, -1.0])
    picture = colours(scene.interpolate(hits, deviation), -0.02, 0.06)
    picture = picture * (0.3 + 0.7 * hits.primitive_normals[..., 2:])
    picture[hits.primitive_ids == hw.INVALID_ID] = 255
    return picture.astype(np.uint8)


def draw_voxels() -> np.ndarray:
    scene = hw.Scene(*knot(1000, 80))
    low, high = scene.bounds
    axes = [np.arange(low[k] + CELL / 2, high[k], CELL) for k in range(3)]
    centres = np.stack(np.meshgrid(*axes, indexing="ij"), -1)
    filled = scene.contains(centres)
    print(f"{filled.sum()} of {filled.size} cells, a volume of {filled.sum() * CELL**3:.2f}")
    stands = centres[filled] - [0, 0, CELL / 2]
    voxels = hw.Scene(*boxes(stands, np.full_like(stands, CELL)))
    return voxels.render(PIXELS, PIXELS, eye=(3, 5, 9), target=(0, -0.2, 0))


if __name__ == "__main__":
    pictures = np.concatenate([draw_deviation(), draw_voxels()], axis=1)
    save_png(sys.argv[1] if len(sys.argv) > 1 else "knot.png", pictures)
