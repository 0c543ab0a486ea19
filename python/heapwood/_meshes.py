# SPDX-License-Identifier: MIT
"""MeshScene: several meshes that move as rigid bodies, traced as one tree."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arrays import import_value, library_of, streams_of, to_array
from ._errors import SceneError
from ._scene import Scene

_GAP = 0.25  # between neighbouring worlds, as a part of the largest world


class MeshScene(Scene):
    """Meshes with a transform each, in one scene or in several worlds.

    Triangles are numbered through all meshes; split_ids() has the mesh and the number there. Worlds
    are placed side by side, and rays_in() moves rays into them.
    """

    def __init__(
        self,
        meshes: Sequence[tuple[Any, Any]],
        *,
        transforms: Any = None,
        worlds: Sequence[int] | None = None,
        **options: Any,
    ) -> None:
        """Copies the meshes and builds the tree.

        meshes: (vertices, triangles) each, as of Scene, all arrays of one library.
        transforms: (M, 4, 4) or (M, 3, 4) numbers, one matrix per mesh, applied to columns; None:
        the meshes stay. worlds: the world of each mesh, from 0 on; None: one world, without
        rays_in(). options: those of Scene.
        """
        if not meshes:
            raise ValueError("meshes: there are none: expected at least one")
        self._given = meshes, worlds, options
        self._worlds = None if worlds is None else np.asarray(worlds)
        if self._worlds is not None and (
            self._worlds.shape != (len(meshes),)
            or self._worlds.dtype.kind not in "iu"
            or self._worlds.min() < 0
        ):
            raise ValueError(f"worlds: {worlds}: expected {len(meshes)} whole numbers from 0 on")
        vertices = [to_array("vertices", v, None, 3) for v, _ in meshes]
        triangles = [to_array("triangles", t, None, 3, whole=True) for _, t in meshes]
        self._begins = np.cumsum([0, *map(len, vertices)])
        self._first_triangles = np.cumsum([0, *map(len, triangles)])
        xp, _ = library_of(vertices[0])
        shifted = [t + int(begin) for t, begin in zip(triangles, self._begins)]
        super().__init__(xp.concatenate(vertices), xp.concatenate(shifted), **options)
        self._set_vertices(xp.concatenate(vertices))
        self._transforms = np.tile(np.eye(3, 4), (len(meshes), 1, 1))
        if transforms is not None or worlds is not None:
            self.move(self._transforms if transforms is None else transforms)

    def __reduce__(self) -> tuple[Any, ...]:
        meshes, worlds, options = self._given
        make = functools.partial(MeshScene, transforms=self._transforms, worlds=worlds, **options)
        return make, (meshes,)

    def move(self, transforms: Any) -> None:
        """Places the meshes and builds a new tree. transforms: as of MeshScene, on any device."""
        matrices, count = _to_host(transforms), len(self._begins) - 1
        if matrices.shape not in ((count, 4, 4), (count, 3, 4)):
            raise ValueError(
                f"transforms: shape {matrices.shape}: expected ({count}, 4, 4) or ({count}, 3, 4)"
            )
        placed = matrices[:, :3].copy()
        centres = np.einsum("mij,mj->mi", placed[:, :, :3], self._centres) + placed[:, :, 3]
        halves = np.einsum("mij,mj->mi", np.abs(placed[:, :, :3]), self._halves)
        if not np.isfinite(centres + halves).all():
            raise SceneError("transforms: a placed mesh is not finite")
        if self._worlds is not None:
            shifts = self._place_worlds(centres - halves, centres + halves)[self._worlds]
            placed[:, :, 3] += shifts
            centres += shifts
        poses = np.concatenate([self._begins[:-1, None], placed.reshape(count, 12)], axis=1)
        lo, hi = (centres - halves).min(0), (centres + halves).max(0)
        vertices = import_value("vertices", self._vertices, None, self._gpu, 3)
        self._core.update(vertices.core, streams_of(vertices), poses, tuple(lo), tuple(hi))
        self._transforms = matrices

    def update(self, vertices: Any, *, stream: int | None = None) -> None:
        """Replaces the vertices of all meshes, before they are placed, and builds a new tree."""
        given, last = to_array("vertices", vertices, stream, 3), self._vertices
        if len(given) != self.vertex_count:
            super().update(given, stream=stream)  # says what is wrong
        try:
            self._set_vertices(given)
            self.move(self._transforms)
        except Exception:
            self._set_vertices(last)
            raise

    def split_ids(self, primitive_ids: Any) -> tuple[Any, Any]:
        """The mesh of each triangle, and the triangle's number there; -1 where there is none."""
        xp, device = library_of(primitive_ids)
        found = (primitive_ids >= 0) & (primitive_ids < self.triangle_count)
        table = np.repeat(np.arange(len(self._begins) - 1), np.diff(self._first_triangles))
        meshes = xp.asarray(table, **device)[xp.where(found, primitive_ids, 0)]
        first = xp.asarray(self._first_triangles, **device)[meshes]
        return xp.where(found, meshes, -1), xp.where(found, primitive_ids - first, -1)

    def rays_in(
        self, worlds: Any, origins: Any, directions: Any, t_min: Any = 0.0, t_max: Any = math.inf
    ) -> dict[str, Any]:
        """Rays that meet the meshes of one world each, as arguments of queries:
        `scene.cast_rays(**scene.rays_in(worlds, origins, directions))`.

        worlds: (...) whole numbers. The others: as of cast_rays(); arrays of one library.
        """
        if self._worlds is None:
            raise ValueError("rays_in: the scene was made without worlds")
        origins, directions = to_array("origins", origins, None), to_array("", directions, None)
        xp, device = library_of(origins)
        lo, hi, shifts = (xp.asarray(a, **device)[worlds] for a in self._boxes)
        origins = origins + shifts
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b = (lo - origins) / directions, (hi - origins) / directions
        enter, leave = xp.amax(xp.minimum(a, b), -1), xp.amin(xp.maximum(a, b), -1)
        return {
            "rays": xp.broadcast_to(origins, a.shape),
            "directions": xp.broadcast_to(directions, a.shape),
            "t_min": xp.where(enter > t_min, enter, t_min),
            "t_max": xp.where(leave < t_max, leave, t_max),
        }

    def _place_worlds(self, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
        """Places the worlds in a grid by the bounds of their meshes; returns how far each moves."""
        assert self._worlds is not None
        count = int(self._worlds.max()) + 1
        low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
        np.minimum.at(low, self._worlds, lo)
        np.maximum.at(high, self._worlds, hi)
        empty = low > high  # worlds without a mesh
        low[empty] = high[empty] = 0
        largest = (high - low).max(0)
        gap = _GAP * largest.max()
        grid = np.unravel_index(np.arange(count), (math.ceil(count ** (1 / 3)),) * 3)
        shifts = np.stack(grid, axis=1) * (largest + gap) - (low + high) / 2
        self._boxes = low + shifts - gap / 4, high + shifts + gap / 4, shifts
        return shifts

    def _set_vertices(self, vertices: Any) -> None:
        ranges = zip(self._begins[:-1], self._begins[1:])
        boxes = np.stack([_bounds(vertices[begin:end]) for begin, end in ranges])
        self._vertices = vertices
        self._centres = (boxes[:, 0] + boxes[:, 1]) / 2
        self._halves = (boxes[:, 1] - boxes[:, 0]) / 2


def _to_host(array: Any) -> np.ndarray:
    for name in ("get", "cpu"):  # CuPy, PyTorch
        array = getattr(array, name, lambda same=array: same)()
    return np.asarray(array, np.float64)


def _bounds(vertices: Any) -> np.ndarray:
    """The lowest and highest coordinates, (2, 3)."""
    if len(vertices) == 0:
        return np.zeros((2, 3))
    xp, _ = library_of(vertices)
    return np.stack([_to_host(xp.amin(vertices, 0)), _to_host(xp.amax(vertices, 0))])
