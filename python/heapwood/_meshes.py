# SPDX-License-Identifier: MIT
"""MeshScene: several meshes that move as rigid bodies, traced as one tree. SceneBatch: several
scenes, traced in one call."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from ._arrays import Shared, library_of, to_array, to_host
from ._errors import SceneError
from ._scene import RayCaster, RayHits, Scene, mask_bits


class MeshScene(Scene):
    """Meshes with a transform each, in one tree.

    Triangles are numbered through all meshes; split_ids() has the mesh and the number there.
    """

    def __init__(
        self, meshes: Sequence[tuple[Any, Any]], *, transforms: Any = None, masks: Any = None,
        **options: Any,
    ) -> None:
        """Copies the meshes and builds the tree.

        meshes: (vertices, triangles) each, as of Scene, all arrays of one library.
        transforms: (M, 4, 4) or (M, 3, 4) numbers: a matrix per mesh, by which its vertices are
        multiplied as columns; None: the meshes stay. masks: (M,) whole numbers, the masks of their
        triangles. options: the others of Scene but `stream`.
        """
        if "stream" in options:
            raise TypeError("stream: a MeshScene joins arrays in their library's current stream")
        vertices = [to_array("vertices", v, None, 3) for v, _ in meshes]
        triangles = [to_array("triangles", t, None, 3, whole=True) for _, t in meshes]
        if not vertices:
            raise ValueError("meshes: there are none: expected at least one")
        self._lock = threading.Lock()  # of move() and update()
        self._begins = np.cumsum([0, *map(len, vertices)])
        self._firsts = Shared(np.cumsum([0, *map(len, triangles)]))  # triangles
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
        counts = np.diff(self._firsts.array)
        self._meshes = Shared(np.repeat(np.arange(len(counts)), counts))
        self._masks = mask_bits(masks, counts.shape, "mesh")
        if self._masks is not None:
            masks = self._masks[self._meshes.array]
        super().__init__(self._before, xp.concatenate(shifted), masks=masks, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        vertices, triangles = to_host(self._before), self.triangles.astype(np.int64)
        begins, firsts = self._begins, self._firsts.array
        ends = zip(begins, begins[1:], firsts, firsts[1:])
        meshes = [(vertices[v:end], triangles[t:last] - v) for v, end, t, last in ends]
        options = {**self._options, "transforms": self._transforms, "masks": self._masks}
        return functools.partial(MeshScene, **options), (meshes,)

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
        xp, _ = library_of(ids)
        ids = xp.asarray(ids, dtype=xp.int64)
        found = (ids >= 0) & (ids < self.triangle_count)
        meshes = self._meshes.like(ids)[xp.where(found, ids, 0)]
        first = self._firsts.like(ids)[meshes]
        return xp.where(found, meshes, -1), xp.where(found, ids - first, -1)

    def _checked(self, transforms: Any) -> np.ndarray:
        """A copy of the caller's transforms, (M, 3, 4) float64."""
        matrices, count = to_host(to_array("transforms", transforms, None)), len(self._transforms)
        if matrices.shape not in ((count, 4, 4), (count, 3, 4)):
            raise ValueError(
                f"transforms: shape {matrices.shape}: expected ({count}, 4, 4) or ({count}, 3, 4)"
            )
        return np.array(matrices[:, :3], np.float64)

    def _poses(self) -> np.ndarray:
        return np.column_stack([self._begins[:-1], self._transforms.reshape(-1, 12)])


class SceneBatch(RayCaster):
    """Scenes on one device, with the same `watertight`, whose rays are traced in one call. They are
    not copied, and may be updated at any time."""

    def __init__(self, scenes: Sequence[Scene]) -> None:
        self.scenes = tuple(scenes)
        if not self.scenes:
            raise ValueError("scenes: there are none: expected at least one")
        for name in "device", "watertight":
            found = {getattr(scene, name) for scene in self.scenes}
            if len(found) > 1:
                raise ValueError(f"scenes: {name}: {found}: expected the same in all of them")
        self._core = _core.Scene([scene._core for scene in self.scenes])

    def __reduce__(self) -> tuple[Any, ...]:
        return SceneBatch, (self.scenes,)

    def cast_rays(
        self, worlds: Any, rays: Any, directions: Any = None, *, out: Any = None,
        stream: int | None = None, **options: Any,
    ) -> RayHits:
        """The closest hit of each ray, in the scene whose number it has in `worlds`.

        worlds: a whole number, or an array with one per ray, which broadcasts. options: those of
        Scene.cast_rays().
        """
        given = self._rays(rays, directions, stream, worlds=worlds, **options)
        return self._run(self._core.cast, RayHits, given, out, stream)

    def test_occlusions(
        self, worlds: Any, rays: Any, directions: Any = None, *, out: Any = None,
        stream: int | None = None, **options: Any,
    ) -> Any:
        """Whether each ray hits anything: (...) bool. Arguments as of cast_rays()."""
        given = self._rays(rays, directions, stream, worlds=worlds, **options)
        return self._run_one(self._core.find_any, "bool", given, out, stream)
