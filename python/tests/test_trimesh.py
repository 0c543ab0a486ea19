# SPDX-License-Identifier: MIT
"""heapwood.trimesh.RayMeshIntersector, with a mesh that only looks like trimesh's."""

import copy
import pickle

import numpy as np
import pytest
from meshes import cube, layers, random_rays, sphere

from heapwood.trimesh import RayMeshIntersector


class Mesh:
    def __init__(self, vertices, faces) -> None:
        self.vertices, self.faces = vertices, faces

    def __hash__(self) -> int:
        return hash((self.vertices.tobytes(), self.faces.tobytes()))


def intersector(mesh) -> RayMeshIntersector:
    return RayMeshIntersector(Mesh(*mesh), device="cpu")


def test_first_and_any():
    ray = intersector(cube())
    origins, along = [[0.1, 0.2, -3], [5, 5, 5]], [[0, 0, 1], [0, 0, 1]]
    first = ray.intersects_first(origins, along)
    assert first.dtype == np.int64 and first[0] >= 0 and first[1] == -1
    assert ray.intersects_any(origins, along).tolist() == [True, False]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda ray: pickle.loads(pickle.dumps(ray))])
def test_copies_build_their_own_scene(copied):
    ray = intersector(cube())
    query = [[0.1, 0.2, -3]], [[0, 0, 1]]
    assert ray.intersects_any(*query).all()
    other = copied(ray)
    other.mesh.vertices = other.mesh.vertices + [10, 0, 0]
    assert not other.intersects_any(*query).any()
    assert ray.intersects_any(*query).all()


def test_locations_of_all_hits():
    ray = intersector(layers(3))
    points, rays, triangles = ray.intersects_location(
        [[0.3, 0.1, -1], [9, 9, 9], [0.1, 0.3, 5]], [[0, 0, 1], [0, 0, 1], [0, 0, -2]]
    )
    assert rays.tolist() == [0, 0, 0, 2, 2, 2]
    np.testing.assert_allclose(points[:, 2], [0, 1, 2, 2, 1, 0], atol=1e-6)
    np.testing.assert_allclose(points[:3, :2], [[0.3, 0.1]] * 3, atol=1e-6)
    assert triangles.shape == (6,)


def test_locations_of_first_hits():
    points, rays, _ = intersector(layers(3)).intersects_location(
        [[0.3, 0.1, -1], [9, 9, 9]], [[0, 0, 1], [0, 0, 1]], multiple_hits=False
    )
    assert rays.tolist() == [0]
    np.testing.assert_allclose(points, [[0.3, 0.1, 0]], atol=1e-6)


def test_the_number_of_hits_is_limited():
    ray = intersector(layers(30))
    origins, along = [[0.3, 0.1, -1]] * 2, [[0, 0, 1]] * 2
    assert len(ray.intersects_id(origins, along)[0]) == 40
    assert len(ray.intersects_id(origins, along, max_hits=None)[0]) == 60
    triangles, rays = ray.intersects_id(origins, along, max_hits=2)
    assert rays.tolist() == [0, 0, 1, 1] and (triangles < 4).all()


def test_no_rays_and_no_hits():
    ray = intersector(cube())
    points, rays, triangles = ray.intersects_location(np.empty((0, 3)), np.empty((0, 3)))
    assert points.shape == (0, 3) and rays.shape == (0,) and triangles.shape == (0,)
    points, _, _ = ray.intersects_location([[9, 9, 9]], [[0, 0, 1]])
    assert points.shape == (0, 3)


def test_rows_of_other_lengths_are_refused():
    ray = intersector(cube())
    pairs = np.zeros((3, 2))
    with pytest.raises(ValueError, match=r"ray_origins: expected \(n, 3\), got \(3, 2\)"):
        ray.intersects_any(pairs, [[0, 0, 1]] * 2)
    with pytest.raises(ValueError, match="ray_directions"):
        ray.intersects_first([[0, 0, -3]] * 2, pairs)
    with pytest.raises(ValueError, match="points"):
        ray.contains_points(pairs)
    assert ray.contains_points([0.0, 0.1, 0.2]).tolist() == [True]


def test_a_changed_mesh_is_built_again():
    ray = intersector(cube())
    origins, along = [[0, 0.1, -9]], [[0, 0, 1]]
    assert ray.intersects_any(origins, along).all()
    before = ray.scene
    assert ray.scene is before
    ray.mesh.vertices = ray.mesh.vertices + [5, 0, 0]
    assert not ray.intersects_any(origins, along).any()
    assert ray.scene is not before


@pytest.mark.parametrize("mesh, inside", [(cube(2), "cube"), (sphere(24), "sphere")])
def test_points_inside(mesh, inside):
    points = random_rays(3000, 1)[:, :3]
    contained = intersector(mesh).contains_points(points)
    if inside == "cube":
        expected = np.abs(points).max(axis=1) < 1
        np.testing.assert_array_equal(contained, expected)
    else:
        distance = np.linalg.norm(points, axis=1)
        assert contained[distance < 0.95].all() and not contained[distance > 1].any()
