# SPDX-License-Identifier: MIT
"""The same hits and closest points as Open3D with Embree in it, where it is installed.

Two programs may disagree where a ray meets an edge or a corner, grazes a surface, or where
triangles overlap: such rays are a small share.
"""

import numpy as np
import pytest
from meshes import random_rays

import heapwood as hw

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered")  # inf - inf: misses

NAMES = ["atrium:20k", "statue:20k", "stadium:20k", "pipes:20k", "statue:2k", "pipes:2k"]
RAYS = 20000


def procedural(name: str):
    vertices, triangles = hw.load_mesh(name)
    return vertices, triangles.astype(np.int64)


def meshes():
    """20 meshes, by name."""
    trimesh = pytest.importorskip("trimesh")
    shapes = {
        "box": trimesh.creation.box((1, 2, 3)),
        "icosahedron": trimesh.creation.icosahedron(),
        "icosphere": trimesh.creation.icosphere(4),
        "uv_sphere": trimesh.creation.uv_sphere(count=[40, 40]),
        "cylinder": trimesh.creation.cylinder(0.5, 4, sections=100),
        "cone": trimesh.creation.cone(1, 3, sections=100),
        "capsule": trimesh.creation.capsule(2, 0.5),
        "annulus": trimesh.creation.annulus(0.5, 1, 2),
        "torus": trimesh.creation.torus(2, 0.5, 60, 30),
        "axis": trimesh.creation.axis(0.2),
        "plate": trimesh.creation.box((5, 5, 1e-3)),
        "soup": trimesh.creation.random_soup(500),
        "tiny": trimesh.creation.icosphere(3, 1e-4),
        "huge": trimesh.creation.icosphere(3, 1e5),
    }
    for name, mesh in shapes.items():
        yield name, np.asarray(mesh.vertices, float), np.asarray(mesh.faces, np.int64)
    for name in NAMES:
        yield name, *procedural(name)


def cases():
    try:
        return list(meshes())
    except pytest.skip.Exception:
        return []


CASES = cases()


def rays_of(vertices):
    size = np.linalg.norm(np.ptp(vertices, axis=0))
    rays = random_rays(RAYS, size, (vertices.max(0) + vertices.min(0)) / 2)
    rays[:, 3:] /= np.linalg.norm(rays[:, 3:], axis=1, keepdims=True)
    # Half of them start inside the box, where there is more to hit.
    rays[::2, :3] = (rays[::2, :3] + 3 * vertices.mean(axis=0)) / 4
    return rays, size


@pytest.mark.parametrize("name, vertices, triangles", CASES, ids=[case[0] for case in CASES])
def test_hits_of_open3d(name, vertices, triangles):
    o3d = pytest.importorskip("open3d", exc_type=ImportError)
    scene = o3d.t.geometry.RaycastingScene()
    scene.add_triangles(o3d.core.Tensor(vertices.astype(np.float32)),
                        o3d.core.Tensor(triangles.astype(np.uint32)))
    rays, size = rays_of(vertices)
    rays = rays.astype(np.float32)
    theirs = {key: value.numpy() for key, value in scene.cast_rays(o3d.core.Tensor(rays)).items()}
    mine = hw.Scene(vertices.astype(np.float32), triangles, device="cpu")
    hits = mine.cast_rays(rays)
    same_distance = np.abs(hits.t_hit - theirs["t_hit"]) <= 1e-4 * size
    both_miss = np.isinf(hits.t_hit) & np.isinf(theirs["t_hit"])
    assert np.mean(~(same_distance | both_miss)) <= 5e-4
    same = (hits.primitive_ids == theirs["primitive_ids"]) & ~both_miss
    np.testing.assert_allclose(hits.primitive_uvs[same], theirs["primitive_uvs"][same], atol=2e-2)
    turned = np.einsum("ij,ij->i", hits.primitive_normals, theirs["primitive_normals"])
    assert np.mean(turned[same] > 0.999) > 0.999
    occluded = scene.test_occlusions(o3d.core.Tensor(rays)).numpy()
    assert np.mean(mine.test_occlusions(rays) != occluded) <= 5e-4
    # Open3D leaves out some of several hits: for 2.7% of these rays of statue:2k, where Heapwood's
    # counts are those of brute force in double precision.
    counts = scene.count_intersections(o3d.core.Tensor(rays)).numpy()
    assert np.mean(mine.count_intersections(rays) < counts) <= 5e-4
    assert np.mean(mine.count_intersections(rays) != counts) <= 5e-2
    points = rays[:2000, :3]
    distance = scene.compute_distance(o3d.core.Tensor(points)).numpy()
    np.testing.assert_allclose(mine.closest_points(points).distance, distance, rtol=1e-4,
                               atol=1e-6 * size)
    mesh = pytest.importorskip("trimesh").Trimesh(vertices, triangles)
    if mesh.is_watertight:
        inside = scene.compute_occupancy(o3d.core.Tensor(points)).numpy() > 0
        assert np.mean(mine.contains(points) != inside) <= 2e-3
