# SPDX-License-Identifier: MIT
"""Small meshes for the tests, an intersection by brute force, and the devices to test."""

from __future__ import annotations

import numpy as np
import pytest

import heapwood as hw


def cube(size: float = 1.0, centre=(0, 0, 0)) -> tuple[np.ndarray, np.ndarray]:
    """A closed box: vertex 4 x + 2 y + z, corners in counter-clockwise order from outside."""
    bits = np.arange(8)
    corners = np.stack([bits >> 2 & 1, bits >> 1 & 1, bits & 1], axis=1) - 0.5
    triangles = np.array(
        [
            *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5]),  # x
            *([0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6]),  # y
            *([0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),  # z
        ],
        np.int32,
    )
    return corners * size + np.asarray(centre, float), triangles


def why_no_gpu() -> str:
    try:
        hw.Scene(*cube(), device="cuda")
    except hw.DeviceError as error:
        return str(error)
    return ""


needs_gpu = pytest.mark.skipif(bool(why_no_gpu()), reason=why_no_gpu())
devices = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=needs_gpu)])


def cut_cube(n: int, size: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """The sides of a cube, cut into n x n squares: rays through its vertices meet edges."""
    at = (np.arange(n + 1) / n - 0.5) * size
    u, v = (part.ravel() for part in np.meshgrid(at, at, indexing="ij"))
    sides = [np.c_[np.full(len(u), side), u, v] for side in (-size / 2, size / 2)]
    vertices = np.concatenate([np.roll(side, axis, axis=1) for axis in range(3) for side in sides])
    i, j = (part.ravel() for part in np.meshgrid(range(n), range(n), indexing="ij"))
    a = i * (n + 1) + j
    side = np.concatenate([np.c_[a, a + n + 1, a + 1], np.c_[a + 1, a + n + 1, a + n + 2]])
    return vertices, np.concatenate([side + k * len(u) for k in range(6)]).astype(np.int32)


def sphere(rings: int = 12, radius: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A closed sphere of quads cut into triangles."""
    columns = 2 * rings
    polar = np.pi * np.arange(rings + 1) / rings
    around = 2 * np.pi * np.arange(columns) / columns
    p, a = np.meshgrid(polar, around, indexing="ij")
    vertices = np.stack([np.sin(p) * np.cos(a), np.cos(p), np.sin(p) * np.sin(a)], axis=-1)
    vertices[-1] = vertices[-1, :1]
    vertices[0] = vertices[0, :1]
    i, j = np.meshgrid(np.arange(rings), np.arange(columns), indexing="ij")
    k = (j + 1) % columns

    def at(ring, column):
        return ring * columns + np.where((ring == 0) | (ring == rings), 0, column)

    upper = np.stack([at(i, j), at(i + 1, k), at(i + 1, j)], -1)[:-1].reshape(-1, 3)
    lower = np.stack([at(i, j), at(i, k), at(i + 1, k)], -1)[1:].reshape(-1, 3)
    return vertices.reshape(-1, 3) * radius, np.concatenate([upper, lower]).astype(np.int32)


def layers(count: int, extent: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Squares in the planes z = 0, 1, 2, ..., of two triangles each."""
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * extent
    vertices = np.concatenate([np.c_[square, np.full(4, float(z))] for z in range(count)])
    pair = np.array([[0, 1, 2], [0, 2, 3]])
    triangles = np.concatenate([pair + 4 * z for z in range(count)])
    return vertices, triangles.astype(np.int32)


def soup(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Random triangles in the unit cube."""
    random = np.random.default_rng(seed)
    at = random.random((count, 1, 3))
    vertices = (at + random.normal(scale=0.1, size=(count, 3, 3))).reshape(-1, 3)
    return vertices, np.arange(3 * count, dtype=np.int32).reshape(-1, 3)


def slats(count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Thin closed boxes 32 long, of triangles that are 200 and 16000 times as long as high."""
    corners, triangles = cube()
    boxes = [corners * [32, 0.07, 0.002] + [0, 0.14 * k, 0.1 * k] for k in range(count)]
    vertices = np.concatenate(boxes).astype(np.float32)
    return vertices, np.concatenate([triangles + 8 * k for k in range(count)])


def random_rays(count: int, scale: float = 1.0, centre=(0, 0, 0), seed: int = 2) -> np.ndarray:
    """Rays from a box around a mesh of this size, towards points near it."""
    random = np.random.default_rng(seed)
    origins = (random.random((count, 3)) - 0.5) * 4 * scale
    targets = (random.random((count, 3)) - 0.5) * scale
    return np.concatenate([origins + centre, targets - origins], axis=1)


def rays_inside(vertices, count: int) -> np.ndarray:
    """Rays from points in the box of the mesh in random directions, float32."""
    random = np.random.default_rng(1)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    origins = low + random.random((count, 3)) * (high - low)
    return np.concatenate([origins, random.normal(size=(count, 3))], axis=1).astype(np.float32)


def brute_force(vertices, triangles, rays) -> np.ndarray:
    """Distances of all triangles along all rays, (rays, triangles), inf where there is no hit."""
    a, b, c = (np.asarray(vertices, float)[triangles[:, k]] for k in range(3))
    o, d = rays[:, None, :3].astype(float), rays[:, None, 3:].astype(float)
    p = np.cross(d, c - a)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1 / np.einsum("rtk,tk->rt", p, b - a)
        u = np.einsum("rtk,rtk->rt", p, o - a) * inverse
        q = np.cross(o - a, b - a)
        v = np.einsum("rtk,rtk->rt", q, np.broadcast_to(d, q.shape)) * inverse
        t = np.einsum("rtk,tk->rt", q, c - a) * inverse
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0)
    return np.where(hit, t, np.inf)
