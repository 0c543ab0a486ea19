# SPDX-License-Identifier: MIT
"""MeshScene: several meshes that move as rigid bodies, traced as one tree."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arrays import library_of, to_array
from ._errors import SceneError
from ._scene import Scene


class MeshScene(Scene):
    """Meshes with a transform each, in one tree.

    Triangles are numbered through all meshes; split_ids() has the mesh and the number there.
    """

    def __init__(
        self, meshes: Sequence[tuple[Any, Any]], *, transforms: Any = None, **options: Any
    ) -> None:
        """Copies the meshes and builds the tree.

        meshes: (vertices, triangles) each, as of Scene, all arrays of one library.
        transforms: (M, 4, 4) or (M, 3, 4) numbers: a matrix per mesh, by which its vertices are
        multiplied as columns; None: the meshes stay. options: those of Scene but `stream`.
        """
        if "stream" in options:
            raise TypeError("stream: a MeshScene joins arrays in their library's current stream")
        vertices = [to_array("vertices", v, None, 3) for v, _ in meshes]
        triangles = [to_array("triangles", t, None, 3, whole=True) for _, t in meshes]
        if not vertices:
            raise ValueError("meshes: there are none: expected at least one")
        self._lock = threading.Lock()  # of move() and update()
        self._begins = np.cumsum([0, *map(len, vertices)])
        self._first_triangles = np.cumsum([0, *map(len, triangles)])
        self._transforms = np.tile(np.eye(3, 4), (len(vertices), 1, 1))
        if transforms is not None:
            self._transforms = self._checked(transforms)
        xp, _ = library_of(vertices[0])
        self._before = xp.concatenate(vertices)  # vertices before they are placed
        shifted = []
        for mesh, (t, begin, end) in enumerate(zip(triangles, self._begins, self._begins[1:])):
            t = xp.asarray(t, dtype=xp.int64)
            if len(t) and not (int(xp.amin(t)) >= 0 and int(xp.amax(t)) < end - begin):
                raise SceneError(
                    f"triangles: those of mesh {mesh} refer to vertices {int(xp.amin(t))} to"
                    f" {int(xp.amax(t))}, but there are {end - begin}"
                )
            shifted.append(t + int(begin))
        super().__init__(self._before, xp.concatenate(shifted), **options)

    def __reduce__(self) -> tuple[Any, ...]:
        vertices, triangles = _to_host(self._before), self.triangles.astype(np.int64)
        meshes = [
            (vertices[v:end], triangles[t:last] - v)
            for v, end, t, last in zip(
                self._begins, self._begins[1:], self._first_triangles, self._first_triangles[1:]
            )
        ]
        return _restored, (meshes, self._transforms, self._options)

    def move(self, transforms: Any) -> None:
        """Places the meshes and builds a new tree. transforms: as of MeshScene, on any device."""
        matrices = self._checked(transforms)
        with self._lock:
            last, self._transforms = self._transforms, matrices
            try:
                super().update(self._before)
            except Exception:
                self._transforms = last
                raise

    def update(self, vertices: Any, *, stream: int | None = None) -> None:
        """Replaces the vertices of all meshes, before they are placed, and builds a new tree."""
        with self._lock:
            super().update(vertices, stream=stream)
            given = to_array("vertices", vertices, stream, 3)
            self._before = library_of(given)[0].concatenate([given])

    def split_ids(self, primitive_ids: Any) -> tuple[Any, Any]:
        """The mesh of each triangle, and the triangle's number there; -1 where there is none."""
        ids = primitive_ids if hasattr(primitive_ids, "shape") else np.asarray(primitive_ids)
        xp, device = library_of(ids)
        ids = xp.asarray(ids, dtype=xp.int64)
        found = (ids >= 0) & (ids < self.triangle_count)
        table = np.repeat(np.arange(len(self._begins) - 1), np.diff(self._first_triangles))
        meshes = xp.asarray(table, **device)[xp.where(found, ids, 0)]
        first = xp.asarray(self._first_triangles, **device)[meshes]
        return xp.where(found, meshes, -1), xp.where(found, ids - first, -1)

    def _checked(self, transforms: Any) -> np.ndarray:
        """A copy of the caller's transforms, (M, 3, 4) float64."""
        matrices, count = _to_host(to_array("transforms", transforms, None)), len(self._transforms)
        if matrices.shape not in ((count, 4, 4), (count, 3, 4)):
            raise ValueError(
                f"transforms: shape {matrices.shape}: expected ({count}, 4, 4) or ({count}, 3, 4)"
            )
        return np.array(matrices[:, :3], np.float64)

    def _poses(self) -> np.ndarray:
        return np.column_stack([self._begins[:-1], self._transforms.reshape(-1, 12)])


def _restored(meshes: Any, transforms: np.ndarray, options: dict[str, Any]) -> MeshScene:
    return MeshScene(meshes, transforms=transforms, **options)


def _to_host(array: Any) -> np.ndarray:
    for name in ("get", "cpu"):  # CuPy, PyTorch
        if hasattr(array, name):
            array = getattr(array, name)()
    return np.asarray(array)
