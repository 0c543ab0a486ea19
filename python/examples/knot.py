# SPDX-License-Identifier: MIT
"""A closed mesh for the examples with points: a tube along a trefoil knot."""

import numpy as np


def knot(along: int, around: int, radius: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    """Rings of `around` vertices each, `along` of them."""
    s = 2 * np.pi * np.arange(along) / along
    path = np.stack(
        [np.sin(s) + 2 * np.sin(2 * s), np.cos(s) - 2 * np.cos(2 * s), np.sin(3 * s)], 1
    )
    ahead = np.roll(path, -1, 0) - np.roll(path, 1, 0)
    across = np.cross(ahead, [0, 0, 1])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    up = np.cross(across, ahead)
    up /= np.linalg.norm(up, axis=1, keepdims=True)
    a = 2 * np.pi * np.arange(around) / around
    rings = np.cos(a)[:, None] * across[:, None] + np.sin(a)[:, None] * up[:, None]
    i, j = np.meshgrid(np.arange(along), np.arange(around), indexing="ij")
    k, m = (i + 1) % along, (j + 1) % around
    quad = [i * around + j, k * around + j, k * around + m, i * around + m]
    triangles = np.stack([quad[0], quad[1], quad[2], quad[0], quad[2], quad[3]], -1)
    return (path[:, None] + radius * rings).reshape(-1, 3), triangles.reshape(-1, 3)
