# SPDX-License-Identifier: MIT
"""A procedural city: boxes on the ground. Metres, z upwards."""

import numpy as np

# The corners of a box around 0 with sides 1, on the ground, and its triangles.
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0.0, 1.0)])
SIDES = [
    *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
    *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
]


def boxes(centres, sizes):
    """Vertices (8 n, 3) and triangles (12 n, 3) of n boxes that stand on their centres."""
    centres, sizes = np.asarray(centres, float), np.asarray(sizes, float)
    vertices = centres[:, None] + CORNERS * sizes[:, None]
    triangles = np.array(SIDES) + 8 * np.arange(len(centres))[:, None, None]
    return vertices.reshape(-1, 3), triangles.reshape(-1, 3).astype(np.int32)


def join(*meshes):
    """Joins several meshes into one."""
    offsets = np.cumsum([0] + [len(vertices) for vertices, _ in meshes])
    return (
        np.concatenate([vertices for vertices, _ in meshes]),
        np.concatenate([t + o for (_, t), o in zip(meshes, offsets)]).astype(np.int32),
    )


def ground(extent):
    """A square of two triangles."""
    e = extent / 2
    return np.array([[-e, -e, 0], [e, -e, 0], [e, e, 0], [-e, e, 0]]), np.array(
        [[0, 1, 2], [0, 2, 3]], np.int32
    )


def city(blocks=5, block=60.0, street=18.0, seed=7):
    """Blocks of houses between streets; returns a mesh and the extent of its square."""
    random = np.random.default_rng(seed)
    pitch, centres, sizes = block + street, [], []
    for x in range(blocks):
        for y in range(blocks):
            corner = np.array([x, y]) * pitch - (blocks * pitch - street) / 2
            cells = random.integers(2, 4)
            cell = block / cells
            towers = random.random() < 0.3
            for i in range(cells):
                for j in range(cells):
                    if random.random() < 0.12:
                        continue  # a yard
                    height = random.gamma(6, 3) * (3 if towers and random.random() < 0.4 else 1)
                    centres.append([*(corner + (np.array([i, j]) + 0.5) * cell), 0])
                    sizes.append([*(cell * random.uniform(0.75, 0.98, 2)), 4 + height])
    extent = blocks * pitch
    return join(ground(2 * extent), boxes(centres, sizes)), extent
