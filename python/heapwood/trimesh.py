# SPDX-License-Identifier: MIT
"""RayMeshIntersector: Heapwood behind the functions of trimesh's `mesh.ray`.

    mesh.ray = heapwood.trimesh.RayMeshIntersector(mesh)

Needs no trimesh itself: a mesh is anything with `vertices` and `faces`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._scene import INVALID_ID, RayLists, Scene


class RayMeshIntersector:
    """Ray queries for a trimesh.Trimesh. All arrays are NumPy's.

    The tree is built at the first query, and again after the mesh has changed. All functions find
    the same hits, by the watertight test: a ray hits every edge and corner that it meets, and hits
    at one distance, as at an edge, are one.
    """

    def __init__(self, geometry: Any, scale_to_box: bool = True, **options: Any) -> None:
        """options: those of heapwood.Scene. `scale_to_box` is ignored: no scaling is needed."""
        del scale_to_box
        self.mesh = geometry
        self._options = {"watertight": True, **options}
        self._scene: Scene | None = None
        self._key: Any = None

    def __getstate__(self) -> dict[str, Any]:
        """The state without the scene, which a copy builds again: a mesh that has this as
        `mesh.ray` can be copied and pickled."""
        return {**self.__dict__, "_scene": None, "_key": None}

    @property
    def scene(self) -> Scene:
        """The scene of the mesh as it is now."""
        key = hash(self.mesh)
        if self._scene is None or key != self._key:
            vertices = np.ascontiguousarray(self.mesh.vertices, np.float64)
            faces = np.ascontiguousarray(self.mesh.faces, np.int64)
            self._scene = Scene(vertices, faces, **self._options)
            self._key = key
        return self._scene

    def intersects_location(
        self, ray_origins: Any, ray_directions: Any, multiple_hits: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the points of hits (m, 3), their rays (m,) and triangles (m,).

        Points lie on their rays, at the plane of the triangle, in double precision.
        """
        triangles, rays, points = self.intersects_id(
            ray_origins, ray_directions, multiple_hits=multiple_hits, return_locations=True
        )
        return points, rays, triangles

    def intersects_id(
        self, ray_origins: Any, ray_directions: Any, multiple_hits: bool = True,
        max_hits: int | None = None, return_locations: bool = False,
    ) -> tuple[np.ndarray, ...]:
        """Returns triangles (m,), rays (m,) and, if wanted, the points of hits (m, 3).

        Hits are in the order of rays and, for each ray, of distance; at most `max_hits` per ray.
        """
        origins, directions = _rays(ray_origins, ray_directions)
        if multiple_hits:
            lists = self.scene.list_intersections(origins, directions, unique=True)
            wanted = _first_of_each(lists, max_hits)
            rays, triangles, t = lists.ray_ids, lists.primitive_ids, lists.t_hit
            rays, triangles, t = rays[wanted], triangles[wanted], t[wanted]
        else:
            hits = self.scene.cast_rays(origins, directions)
            (rays,) = np.nonzero(hits.primitive_ids != INVALID_ID)
            triangles, t = hits.primitive_ids[rays], hits.t_hit[rays]
        result = (triangles.astype(np.int64), rays.astype(np.int64))
        if not return_locations:
            return result
        return (*result, self._points(origins[rays], directions[rays], triangles, t))

    def intersects_first(self, ray_origins: Any, ray_directions: Any) -> np.ndarray:
        """The first triangle that each ray hits, (n,) int64; -1: none."""
        ids = self.scene.cast_rays(*_rays(ray_origins, ray_directions)).primitive_ids
        return np.where(ids == INVALID_ID, -1, ids.astype(np.int64))

    def intersects_any(self, ray_origins: Any, ray_directions: Any) -> np.ndarray:
        """Whether each ray hits anything, (n,) bool."""
        return np.asarray(self.scene.test_occlusions(*_rays(ray_origins, ray_directions)))

    def contains_points(self, points: Any) -> np.ndarray:
        """Whether each point is inside the mesh, which must be closed: (n,) bool."""
        return np.asarray(self.scene.contains(_rows("points", points)))

    def _points(
        self, origins: np.ndarray, directions: np.ndarray, triangles: np.ndarray, t: np.ndarray
    ) -> np.ndarray:
        """The points where the rays meet the planes of the triangles; t: approximate distances."""
        corners = np.asarray(self.mesh.vertices, np.float64)[np.asarray(self.mesh.faces)[triangles]]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        height = np.einsum("ij,ij->i", corners[:, 0] - origins, normals)
        with np.errstate(divide="ignore", invalid="ignore"):
            exact = height / np.einsum("ij,ij->i", directions, normals)
        # The plane says little about a ray that is nearly parallel to it.
        reach = np.abs(corners - origins[:, None]).max(axis=(1, 2))
        near = np.abs(exact - t) * np.abs(directions).max(axis=1) <= 1e-2 * reach
        return np.asarray(origins + np.where(near, exact, t)[:, None] * directions, np.float64)


def _rows(name: str, array: Any) -> np.ndarray:
    rows = np.ascontiguousarray(array, np.float64)
    if rows.size > 0 and rows.shape[-1] != 3:
        raise ValueError(f"{name}: expected (n, 3), got {rows.shape}")
    return rows.reshape(-1, 3)


def _rays(origins: Any, directions: Any) -> tuple[np.ndarray, np.ndarray]:
    return _rows("ray_origins", origins), _rows("ray_directions", directions)


def _first_of_each(lists: RayLists, max_hits: int | None) -> Any:
    if max_hits is None:
        return slice(None)
    return np.arange(len(lists.ray_ids)) - lists.ray_splits[lists.ray_ids] < max_hits
