# SPDX-License-Identifier: MIT
"""Queries with points: closest points, signed distances, points inside; values at points."""

import numpy as np
import pytest
from meshes import cube, cut_cube, random_rays, slats, soup, sphere

import heapwood as hw

MESHES = {"cube": cube(), "sphere": sphere(), "soup": soup(300), "slats": slats(3)}


def scene_of(mesh, **options) -> hw.Scene:
    return hw.Scene(*mesh, device="cpu", **options)


def of_segments(p, a, b) -> np.ndarray:
    along, length = b - a, ((b - a) ** 2).sum(-1)
    w = ((p - a) * along).sum(-1) / np.where(length > 0, length, 1)
    return np.linalg.norm(p - a - np.clip(w, 0, 1)[..., None] * along, axis=-1)


def brute_force(mesh, points) -> np.ndarray:
    """Distances of all triangles from all points, (points, triangles)."""
    p, corners = points[:, None, :].astype(float), np.asarray(mesh[0], float)[mesh[1]][None]
    a, b, c = (corners[:, :, k] for k in range(3))
    edges = (a, b), (b, c), (c, a)
    distance = np.minimum.reduce([of_segments(p, s, t) for s, t in edges])
    normal = np.cross(b - a, c - a)
    area = np.linalg.norm(normal, axis=-1)
    sides = [(np.cross(t - s, p - s) * normal).sum(-1) for s, t in edges]
    within = (np.minimum.reduce(sides) >= 0) & (area > 0)
    height = np.abs(((p - a) * normal).sum(-1)) / np.where(area > 0, area, 1)
    return np.where(within, np.minimum(height, distance), distance)


def points_around(mesh, count: int = 1000) -> np.ndarray:
    low, high = mesh[0].min(axis=0), mesh[0].max(axis=0)
    return low + (np.random.default_rng(3).random((count, 3)) * 3 - 1) * (high - low)


@pytest.mark.parametrize("options", [{"threads": 3}, {"watertight": True}])
@pytest.mark.parametrize("name", MESHES)
def test_closest_points_are_those_of_brute_force(name, options):
    vertices, triangles = MESHES[name]
    scene = scene_of((vertices, triangles), **options)
    for vertices in (vertices, vertices * [1, 2, 0.5] + 3):
        points = points_around((vertices, triangles))
        scene.update(vertices)
        closest, expected = scene.closest_points(points), brute_force((vertices, triangles), points)
        of_triangle = expected[np.arange(len(points)), closest.primitive_ids]
        precision = {"rtol": 2e-6, "atol": 1e-6 * np.ptp(vertices, axis=0).max()}
        for distance in (of_triangle, np.linalg.norm(points - closest.points, axis=1)):
            np.testing.assert_allclose(distance, expected.min(axis=1), **precision)
        np.testing.assert_allclose(closest.distance, expected.min(axis=1), **precision)
        np.testing.assert_allclose(scene.interpolate(closest, vertices), closest.points,
                                   **precision)
        u, v = closest.primitive_uvs.T
        assert (u >= 0).all() and (v >= 0).all() and (u + v <= 1 + 1e-6).all()


def test_triangles_without_area_and_needles_are_found():
    vertices = np.array(
        [[0, 0, 0], [1, 0, 0], [3, 0, 0], [5, 5, 5], [9, 9, 9], [9, 9, 8], [9, 8, 9]]
    )
    scene = scene_of((vertices, [[0, 1, 2], [3, 3, 3], [4, 5, 6]]))
    closest = scene.closest_points([[2, 1, 0], [5, 5, 7.0]])
    np.testing.assert_allclose(closest.distance, [1, 2])
    np.testing.assert_allclose(closest.points, [[2, 0, 0], [5, 5, 5]], atol=1e-6)
    assert closest.primitive_ids.tolist() == [0, 1] and not closest.primitive_normals.any()
    a, along, across = np.random.default_rng(5).normal(size=(3, 400, 3))
    corners = np.stack([a, a + along, a + 0.7 * along + 1e-6 * across], 1).astype(np.float32)
    needles = corners.reshape(-1, 3), np.arange(1200).reshape(-1, 3)
    points = points_around(needles)
    expected = brute_force(needles, points).min(axis=1)
    np.testing.assert_allclose(scene_of(needles).closest_points(points).distance, expected,
                               rtol=1e-6)


def test_large_coordinates_distances_and_scenes():
    vertices, triangles = cube()
    far = np.array([4e6, -7e6, 5e5])
    closest = scene_of((vertices + far, triangles)).closest_points(far + [2.25, 0.1, 0.2])
    assert closest.points.dtype == np.float64 and closest.distance == 1.75
    np.testing.assert_allclose(closest.points - far, [0.5, 0.1, 0.2], atol=1e-7)
    for size in (1e-9, 1.0, 1e12):
        scene = scene_of((vertices * size, triangles))
        for away in (1.0, 1e3, 1e9):
            distance = scene.closest_points([size * away, 0.1 * size, 0]).distance
            np.testing.assert_allclose(distance, size * (away - 0.5), rtol=1e-6)


def test_limited_distances_and_points_that_are_not_finite():
    scene = scene_of(cube())
    points = np.array([[1.5, 0, 0], [2.5, 0, 0]])
    assert scene.closest_points(points, max_distance=1.5).distance.tolist() == [1, np.inf]
    closest = scene.closest_points(points, max_distance=[0.9, 2.5])
    assert closest.primitive_ids[0] == hw.INVALID_ID and closest.distance.tolist() == [np.inf, 2]
    assert np.isnan(closest.points[0]).all() and not closest.primitive_uvs[0].any()
    assert np.isinf(scene.signed_distance(points, max_distance=[-2, np.nan])).all()
    with pytest.raises(ValueError, match="max_distance: -2.0: must be at least 0"):
        scene.signed_distance(points, max_distance=-2)
    points = np.array([[np.nan, 0, 0], [np.inf, 0, 0], [0, 1e300, 0], [2, 0, 0]])
    assert scene.signed_distance(points).tolist() == [np.inf, np.inf, np.inf, 1.5]
    assert not scene.contains(points).any()


def test_shapes_types_and_outputs_of_points():
    scene = scene_of(cube())
    points = points_around(cube(), 24).astype(np.float32).reshape(4, 6, 3)
    closest = scene.closest_points(points)
    assert closest.points.dtype == np.float32 and closest.points.shape == (4, 6, 3)
    assert scene.contains(points[:, ::2]).shape == (4, 3)
    assert scene.closest_points([]).distance.shape == (0,)
    assert scene.signed_distance([0, 0, 2]).shape == ()
    out = np.zeros((4, 6), np.float32)
    given = scene.closest_points(points, out={"distance": out})
    assert given.distance is out and dict(given).keys() == {"distance"}
    np.testing.assert_array_equal(out, closest.distance)
    with pytest.raises(ValueError, match=r"points: shape \(2,\): expected \(..., 3\)"):
        scene.contains([1.0, 2.0])
    with pytest.raises(ValueError, match=r"max_distance: shape \(2,\): expected .* \(4, 6\)"):
        scene.signed_distance(points, max_distance=[1, 2])
    with pytest.raises(ValueError, match="out: 't_hit': expected distance, points"):
        scene.closest_points(points, out={"t_hit": out})


def test_signed_distances_of_a_box_and_of_shells():
    vertices, triangles = cube(2, (1, 2, 3))
    points = points_around((vertices, triangles), 3000)
    beyond = np.abs(points - [1, 2, 3]) - 1
    expected = np.linalg.norm(np.maximum(beyond, 0), axis=1) + np.minimum(beyond.max(axis=1), 0)
    for turned in (triangles, triangles[:, ::-1]):  # whatever the order of corners
        scene = scene_of((vertices, turned))
        np.testing.assert_allclose(scene.signed_distance(points), expected, atol=1e-6)
        np.testing.assert_array_equal(scene.contains(points), expected < 0)
    ball, faces = sphere(24)
    shells = (
        np.concatenate([ball, ball * 2, ball * 3]),
        np.concatenate([faces + len(ball) * k for k in range(3)]),
    )
    points = np.random.default_rng(1).normal(size=(4000, 3)) * 2
    radius = np.linalg.norm(points, axis=1)
    clear = np.abs(radius - np.rint(radius)) > 0.05
    expected = (radius < 1) | ((radius > 2) & (radius < 3))
    np.testing.assert_array_equal(scene_of(shells).contains(points)[clear], expected[clear])


def test_rays_through_edges_do_not_matter_inside():
    vertices, triangles = cut_cube(5)
    at = np.linspace(-0.65, 0.65, 14)  # in planes of the vertices
    grid = np.stack(np.meshgrid(at, at, at), -1).reshape(-1, 3)
    # Points whose first rays meet corners, and the middles of edges.
    along = np.array([0.5377, 0.3188, 0.7805], np.float32).astype(float)
    corners = vertices[triangles]
    aims = np.concatenate([corners[:, 0], (corners[:, 0] + corners[:, 1]) / 2])
    before = (aims[:, None] - np.linspace(0.05, 0.9, 9)[:, None] * along).reshape(-1, 3)
    points = np.concatenate([grid, before])
    height = np.abs(points).max(axis=1) - 0.5
    clear = np.abs(height) > 1e-5
    inside = scene_of((vertices, triangles)).contains(points)
    np.testing.assert_array_equal(inside[clear], height[clear] < 0)


def test_values_of_vertices_at_hits():
    vertices, triangles = sphere()
    scene, rays = scene_of((vertices, triangles)), random_rays(500, 2)
    hits, lists = scene.cast_rays(rays), scene.list_intersections(rays)
    points, found = scene.interpolate(hits, vertices), np.isfinite(hits.t_hit)
    along = rays[found, :3] + hits.t_hit[found, None] * rays[found, 3:]
    np.testing.assert_allclose(points[found], along, atol=1e-5)
    assert found.any() and not found.all() and not points[~found].any()
    np.testing.assert_allclose(scene.interpolate(hits, vertices[:, 0]), points[:, 0], atol=1e-6)
    at = rays[lists.ray_ids, :3] + lists.t_hit[:, None] * rays[lists.ray_ids, 3:]
    np.testing.assert_allclose(scene.interpolate(lists, vertices), at, atol=1e-5)
    with pytest.raises(ValueError, match=r"values: shape \(3,\): expected \(\d+, ...\)"):
        scene.interpolate(hits, [1, 2, 3])
    with pytest.raises(ValueError, match="primitive_uvs"):
        scene.interpolate(hw.RayHits(primitive_ids=hits.primitive_ids), vertices)
