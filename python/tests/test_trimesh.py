# SPDX-License-Identifier: MIT
"""heapwood.trimesh.RayMeshIntersector, with a mesh that only looks like trimesh's. More tests:
trimesh_suite.py."""

import copy
import pickle

import numpy as np
import pytest
from meshes import cube, cut_cube, layers

from heapwood.trimesh import RayMeshIntersector


class Mesh:
    def __init__(self, vertices, faces) -> None:
        self.vertices, self.faces = vertices, faces

    def __hash__(self) -> int:
        return hash((self.vertices.tobytes(), self.faces.tobytes()))


def intersector(mesh) -> RayMeshIntersector:
    return RayMeshIntersector(Mesh(*mesh), device="cpu")


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
    points, rays, triangles = ray.intersects_location([[0.3, 0.1, -1], [9, 9, 9], [0.1, 0.3, 5]],
                                                      [[0, 0, 1], [0, 0, 1], [0, 0, -2]])
    assert rays.tolist() == [0, 0, 0, 2, 2, 2]
    np.testing.assert_allclose(points[:, 2], [0, 1, 2, 2, 1, 0], atol=1e-6)
    np.testing.assert_allclose(points[:3, :2], [[0.3, 0.1]] * 3, atol=1e-6)
    assert triangles.shape == (6,)


@pytest.mark.parametrize("along", [[0, 0, -1.0], [1, 1, 0.0], [0.3, -0.5, 0.1]])
def test_all_functions_find_rays_through_edges_and_corners(along):
    mesh = Mesh(*cut_cube(4, 40))
    ray = RayMeshIntersector(mesh, device="cpu")
    origins = mesh.vertices - 100 * np.array(along)
    directions = np.tile(along, (len(origins), 1))
    found = ray.intersects_any(origins, directions)
    if along[2] in (-1, 0):  # without rounding
        assert found.all()
    np.testing.assert_array_equal(ray.intersects_first(origins, directions) >= 0, found)
    for multiple in (False, True):
        rays = ray.intersects_id(origins, directions, multiple_hits=multiple)[1]
        np.testing.assert_array_equal(np.unique(rays), np.flatnonzero(found))


def test_locations_are_unique():
    ray = intersector(cube())
    origins, along = [[0, 0, 5.0], [0, 0, 0.0], [0.5, 0.1, 5]], [[0, 0, -1.0]] * 3
    points, rays, triangles = ray.intersects_location(origins, along)
    assert rays.tolist() == [0, 0, 1, 2, 2]
    np.testing.assert_array_equal(points[:, 2], [0.5, -0.5, -0.5, 0.5, -0.5])
    assert ray.intersects_id(origins, along)[0].tolist() == triangles.tolist()


def test_locations_lie_on_the_ray_and_the_plane():
    count = 400  # long thin triangles
    around = 2 * np.pi * np.arange(count) / count
    ring = np.c_[np.cos(around), np.sin(around)]
    vertices = np.concatenate([np.c_[ring, np.full(count, z)] for z in (-25.0, 25.0)])
    i = np.arange(count)
    k = (i + 1) % count
    faces = np.concatenate([np.c_[i, k, i + count], np.c_[k, k + count, i + count]])
    random = np.random.default_rng(1)
    origins = random.normal(size=(5000, 3)) * [3, 3, 30]
    along = random.normal(size=(5000, 3)) * [1, 1, 3] - origins
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    ray = intersector((vertices, faces))
    for multiple in (False, True):
        points, rays, hit = ray.intersects_location(origins, along, multiple_hits=multiple)
        assert len(points) > 3000
        beside = np.linalg.norm(np.cross(points - origins[rays], along[rays]), axis=1)
        assert beside.max() < 1e-12
        corners = vertices[faces[hit]]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        height = np.abs(np.einsum("ij,ij->i", points - corners[:, 0], normals))
        assert np.quantile(height, 0.99) < 1e-12 and height.max() < 1e-5


def test_the_number_of_hits_is_limited():
    ray = intersector(layers(30))
    origins, along = [[0.3, 0.1, -1]] * 2, [[0, 0, 1]] * 2
    assert len(ray.intersects_id(origins, along)[0]) == 60
    assert len(ray.intersects_id(origins, along, max_hits=20)[0]) == 40
    triangles, rays = ray.intersects_id(origins, along, max_hits=2)
    assert rays.tolist() == [0, 0, 1, 1] and (triangles < 4).all()


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
