# SPDX-License-Identifier: MIT
"""Queries with points: closest points, signed distances, points inside; values at points."""

import numpy as np
import pytest
from meshes import cube, cut_cube, layers, random_rays, slats, soup, sphere

import heapwood as hw

MESHES = {"cube": cube(), "sphere": sphere(), "soup": soup(300), "slats": slats(3)}


def of_segments(p, a, b) -> np.ndarray:
    along, length = b - a, ((b - a) ** 2).sum(-1)
    w = ((p - a) * along).sum(-1) / np.where(length > 0, length, 1)
    return np.linalg.norm(p - a - np.clip(w, 0, 1)[..., None] * along, axis=-1)


def brute_force(vertices, triangles, points) -> np.ndarray:
    """Distances of all triangles from all points, (points, triangles)."""
    p = points[:, None, :].astype(float)
    a, b, c = (np.asarray(vertices, float)[triangles[:, k]][None] for k in range(3))
    distance = np.minimum(
        np.minimum(of_segments(p, a, b), of_segments(p, b, c)), of_segments(p, c, a)
    )
    normal = np.cross(b - a, c - a)
    sides = [((np.cross(t - s, p - s)) * normal).sum(-1) for s, t in ((a, b), (b, c), (c, a))]
    area = np.linalg.norm(normal, axis=-1)
    within = (np.minimum.reduce(sides) >= 0) & (area > 0)
    height = np.abs(((p - a) * normal).sum(-1)) / np.where(area > 0, area, 1)
    return np.where(within, np.minimum(height, distance), distance)


def points_around(vertices, count: int, seed: int = 3) -> np.ndarray:
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    return low + (np.random.default_rng(seed).random((count, 3)) * 3 - 1) * (high - low)


def check(vertices, triangles, points, closest, atol=1e-6) -> None:
    """Distances are those of brute force, and points, weights and triangles give them."""
    expected = brute_force(vertices, triangles, points)
    size = np.ptp(vertices, axis=0).max()
    at = np.arange(len(points)), closest.primitive_ids
    np.testing.assert_allclose(closest.distance, expected.min(axis=1), rtol=1e-6, atol=atol * size)
    np.testing.assert_allclose(expected[at], expected.min(axis=1), rtol=1e-6, atol=atol * size)
    np.testing.assert_allclose(
        np.linalg.norm(points - closest.points, axis=1),
        closest.distance,
        rtol=1e-5,
        atol=atol * size,
    )
    u, v = closest.primitive_uvs.T
    assert (u >= 0).all() and (v >= 0).all() and (u + v <= 1 + 1e-6).all()
    a, b, c = (np.asarray(vertices, float)[triangles[closest.primitive_ids, k]] for k in range(3))
    weighted = a * (1 - u - v)[:, None] + b * u[:, None] + c * v[:, None]
    np.testing.assert_allclose(weighted, closest.points, atol=max(atol, 4e-7) * size)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("watertight", [False, True])
@pytest.mark.parametrize("name", MESHES)
def test_closest_points_are_those_of_brute_force(name, watertight, threads):
    vertices, triangles = MESHES[name]
    scene = hw.Scene(vertices, triangles, device="cpu", watertight=watertight, threads=threads)
    points = points_around(vertices, 1500)
    check(vertices, triangles, points, scene.closest_points(points))


def test_closest_points_after_an_update():
    vertices, triangles = sphere()
    scene = hw.Scene(vertices, triangles, device="cpu")
    scene.update(vertices * [1, 2, 0.5] + 3)
    points = points_around(vertices, 500) + 2
    check(vertices * [1, 2, 0.5] + 3, triangles, points, scene.closest_points(points))


def test_triangles_without_area_are_found():
    vertices = np.array(
        [[0, 0, 0], [1, 0, 0], [3, 0, 0], [5, 5, 5], [9, 9, 9], [9, 9, 8], [9, 8, 9]]
    )
    triangles = np.array([[0, 1, 2], [3, 3, 3], [4, 5, 6]])
    closest = hw.Scene(vertices, triangles, device="cpu").closest_points([[2, 1, 0], [5, 5, 7.0]])
    np.testing.assert_allclose(closest.distance, [1, 2])
    np.testing.assert_allclose(closest.points, [[2, 0, 0], [5, 5, 5]], atol=1e-6)
    assert closest.primitive_ids.tolist() == [0, 1] and not closest.primitive_normals.any()


def test_needles_are_as_exact_as_other_triangles():
    random = np.random.default_rng(5)
    a, along, across = random.normal(size=(3, 400, 3))
    vertices = np.stack([a, a + along, a + 0.7 * along + 1e-6 * across], 1).reshape(-1, 3)
    vertices = vertices.astype(np.float32)
    triangles = np.arange(1200).reshape(-1, 3)
    points = points_around(vertices, 500)
    closest = hw.Scene(vertices, triangles, device="cpu").closest_points(points)
    expected = brute_force(vertices, triangles, points).min(axis=1)
    np.testing.assert_allclose(closest.distance, expected, rtol=1e-6)


def test_double_precision_is_kept_far_from_the_origin():
    vertices, triangles = cube()
    far = np.array([4e6, -7e6, 5e5])
    closest = hw.Scene(vertices + far, triangles, device="cpu").closest_points(
        far + [2.25, 0.1, 0.2]
    )
    assert closest.points.dtype == np.float64 and closest.distance == 1.75
    np.testing.assert_allclose(closest.points - far, [0.5, 0.1, 0.2], atol=1e-7)


def test_points_far_away_and_large_and_small_scenes():
    vertices, triangles = cube()
    for size in (1e-9, 1.0, 1e12):
        scene = hw.Scene(vertices * size, triangles, device="cpu")
        for away in (1.0, 1e3, 1e9):
            distance = scene.closest_points([size * away, 0.1 * size, 0]).distance
            np.testing.assert_allclose(distance, size * (away - 0.5), rtol=1e-6)


def test_distances_are_limited():
    scene = hw.Scene(*cube(), device="cpu")
    points = np.array([[1.5, 0, 0], [2.5, 0, 0]])
    assert np.isfinite(scene.closest_points(points, max_distance=1.5).distance).tolist() == [
        True,
        False,
    ]
    closest = scene.closest_points(points, max_distance=[0.9, 2.5])
    assert closest.primitive_ids[0] == hw.INVALID_ID and closest.distance.tolist() == [np.inf, 2]
    assert np.isnan(closest.points[0]).all() and not closest.primitive_uvs[0].any()
    assert np.isinf(scene.closest_points(points, max_distance=[-2, np.nan]).distance).all()
    with pytest.raises(ValueError, match="max_distance: -2.0: must be at least 0"):
        scene.signed_distance(points, max_distance=-2)


def test_points_that_are_not_finite():
    points = np.array([[np.nan, 0, 0], [np.inf, 0, 0], [0, 1e300, 0], [2, 0, 0]])
    scene = hw.Scene(*cube(), device="cpu")
    assert scene.closest_points(points).distance.tolist() == [np.inf, np.inf, np.inf, 1.5]
    assert scene.signed_distance(points).tolist() == [np.inf, np.inf, np.inf, 1.5]
    assert not scene.contains(points).any()


def test_shapes_types_and_outputs_of_points():
    scene = hw.Scene(*cube(), device="cpu")
    points = points_around(cube()[0], 24).astype(np.float32).reshape(4, 6, 3)
    closest = scene.closest_points(points)
    assert closest.points.dtype == np.float32 and closest.points.shape == (4, 6, 3)
    assert scene.contains(points[:, ::2]).shape == (4, 3)
    assert scene.closest_points([]).distance.shape == (0,)
    assert scene.signed_distance([0, 0, 2]).shape == ()
    out = np.zeros((4, 6), np.float32)
    given = scene.closest_points(points, out={"distance": out})
    assert given.distance is out and given.points is None and dict(given).keys() == {"distance"}
    np.testing.assert_array_equal(out, closest.distance)
    with pytest.raises(ValueError, match=r"points: shape \(2,\): expected \(..., 3\)"):
        scene.contains([1.0, 2.0])
    with pytest.raises(
        ValueError, match=r"max_distance: shape \(2,\): expected a number, or \(4, 6\)"
    ):
        scene.signed_distance(points, max_distance=[1, 2])
    with pytest.raises(ValueError, match="out: 't_hit': expected distance, points"):
        scene.closest_points(points, out={"t_hit": out})
    with pytest.raises(TypeError, match="points: complex128: expected real numbers"):
        scene.contains(np.zeros((2, 3), complex))


def test_signed_distances_of_a_box():
    vertices, triangles = cube(2, (1, 2, 3))
    points = points_around(vertices, 3000)
    outside = np.abs(points - [1, 2, 3]) - 1
    expected = np.linalg.norm(np.maximum(outside, 0), axis=1) + np.minimum(outside.max(axis=1), 0)
    for turned in (triangles, triangles[:, ::-1]):  # whatever the order of corners
        scene = hw.Scene(vertices, turned, device="cpu")
        np.testing.assert_allclose(scene.signed_distance(points), expected, atol=1e-6)
        np.testing.assert_array_equal(scene.contains(points), expected < 0)


def test_rays_through_edges_do_not_matter_inside():
    vertices, triangles = cut_cube(5)
    scene = hw.Scene(vertices, triangles, device="cpu")
    at = np.linspace(-0.65, 0.65, 14)  # in planes of the vertices
    grid = np.stack(np.meshgrid(at, at, at), -1).reshape(-1, 3)
    # Points whose first rays meet corners, and the middles of edges.
    along = np.array([0.5377, 0.3188, 0.7805], np.float32).astype(float)
    corners = vertices[triangles].reshape(-1, 3, 3)
    aims = np.concatenate([corners[:, 0], (corners[:, 0] + corners[:, 1]) / 2])
    before = (aims[:, None] - np.linspace(0.05, 0.9, 9)[:, None] * along).reshape(-1, 3)
    points = np.concatenate([grid, before])
    height = np.abs(points).max(axis=1) - 0.5
    points, height = points[np.abs(height) > 1e-5], height[np.abs(height) > 1e-5]
    np.testing.assert_array_equal(scene.contains(points), height < 0)


def test_shells_inside_shells():
    parts = [sphere(24, r) for r in (3, 2, 1)]
    vertices = np.concatenate([p[0] for p in parts])
    triangles = np.concatenate([p[1] + len(parts[0][0]) * i for i, p in enumerate(parts)])
    points = np.random.default_rng(1).normal(size=(4000, 3)) * 2
    radius = np.linalg.norm(points, axis=1)
    points, radius = (x[np.abs(radius - np.rint(radius)) > 0.05] for x in (points, radius))
    inside = hw.Scene(vertices, triangles, device="cpu").contains(points)
    np.testing.assert_array_equal(inside, (radius < 1) | ((radius > 2) & (radius < 3)))


def test_values_of_vertices_at_hits():
    vertices, triangles = sphere()
    scene = hw.Scene(vertices, triangles, device="cpu")
    rays = random_rays(500, 2)
    hits = scene.cast_rays(rays)
    found = hits.primitive_ids != hw.INVALID_ID
    along = rays[found, :3] + hits.t_hit[found, None] * rays[found, 3:]
    points = scene.interpolate(hits, vertices)
    np.testing.assert_allclose(points[found], along, atol=1e-5)
    assert found.any() and not found.all() and not points[~found].any()
    np.testing.assert_allclose(scene.interpolate(hits, vertices[:, 0]), points[:, 0], atol=1e-6)
    lists = scene.list_intersections(rays)
    at = rays[lists.ray_ids, :3] + lists.t_hit[:, None] * rays[lists.ray_ids, 3:]
    np.testing.assert_allclose(scene.interpolate(lists, vertices), at, atol=1e-5)
    closest = scene.closest_points(rays[:, :3])
    np.testing.assert_allclose(scene.interpolate(closest, vertices), closest.points, atol=1e-6)
    with pytest.raises(ValueError, match=r"values: shape \(3,\): expected \(\d+, ...\)"):
        scene.interpolate(hits, [1, 2, 3])
    with pytest.raises(ValueError, match="primitive_uvs"):
        scene.interpolate(hw.RayHits(primitive_ids=hits.primitive_ids), vertices)


def test_rays_with_more_hits_than_one_search_collects():
    scene = hw.Scene(*layers(300), device="cpu")
    rays = np.array(
        [[0.3, 0.1, -1, 0, 0, 1], [0.3, 0.1, 400, 0, 0, -0.5], [0.3, 0.1, 100.5, 0, 0, 1]]
    )
    assert scene.count_intersections(rays).tolist() == [300, 300, 199]
    lists = scene.list_intersections(rays)
    np.testing.assert_allclose(lists.t_hit[:300], np.arange(1, 301), atol=1e-4)
    np.testing.assert_allclose(lists.t_hit[300:600], np.arange(202, 802, 2), atol=1e-3)
    assert scene.count_intersections(np.array([[0, 0, -1, 0, 0, 1.0]])).tolist() == [600]
    assert scene.count_intersections(np.array([[0, 0, -1, 0, 0, 1.0]]), unique=True).tolist() == [
        300
    ]
