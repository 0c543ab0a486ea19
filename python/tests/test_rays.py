# SPDX-License-Identifier: MIT
"""What queries find: closest hits, occlusions, counts and lists."""

import numpy as np
import pytest
from meshes import brute_force, cube, layers, random_rays, rays_inside, slats, soup, sphere

import heapwood as hw

MESHES = {"cube": cube(), "sphere": sphere(), "soup": soup(200), "layers": layers(5)}


def scene_of(mesh, **options) -> hw.Scene:
    return hw.Scene(*mesh, device="cpu", **options)


@pytest.mark.parametrize("watertight", [False, True])
@pytest.mark.parametrize("name", MESHES)
def test_closest_hits_are_those_of_brute_force(name, watertight):
    vertices, triangles = MESHES[name]
    rays = random_rays(1000, scale=np.ptp(vertices, axis=0).max(), centre=vertices.mean(axis=0))
    hits = scene_of((vertices, triangles), watertight=watertight).cast_rays(rays)
    expected = brute_force(vertices, triangles, rays)
    nearest = expected.min(axis=1)
    hit = np.isfinite(nearest)
    # A ray that grazes an edge may fall on either side of it.
    assert np.mean(np.isfinite(hits.t_hit) != hit) < 2e-3
    both = hit & np.isfinite(hits.t_hit)
    np.testing.assert_allclose(hits.t_hit[both], nearest[both], rtol=2e-4, atol=1e-5)
    of_triangle = expected[np.arange(len(rays)), np.where(both, hits.primitive_ids, 0)]
    assert np.mean(np.abs(of_triangle[both] - nearest[both]) < 1e-4) > 0.999
    # Weights of the corners give the point of the hit.
    corners = vertices[triangles[hits.primitive_ids[both]]]
    u, v = hits.primitive_uvs[both].T[:, :, None].astype(float)
    points = (1 - u - v) * corners[:, 0] + u * corners[:, 1] + v * corners[:, 2]
    along = rays[both, :3] + hits.t_hit[both, None] * rays[both, 3:]
    np.testing.assert_allclose(points, along, atol=5e-4)


def test_a_miss_has_no_hit():
    hits = scene_of(cube()).cast_rays(np.array([[0, 0, 5, 0, 0, 1.0]]))
    assert hits.t_hit[0] == np.inf
    assert hits.primitive_ids[0] == hw.INVALID_ID
    assert not hits.primitive_uvs.any() and not hits.primitive_normals.any()


def test_normals_follow_the_order_of_corners():
    scene = scene_of(cube())
    along = np.concatenate([np.eye(3), -np.eye(3)])
    outside = scene.cast_rays(-3 * along + [0.1, 0.2, 0.15], along)
    np.testing.assert_allclose(outside.primitive_normals, -along, atol=1e-6)
    inside = scene.cast_rays(np.array([0.1, 0.2, 0.15]), along)
    np.testing.assert_allclose(inside.primitive_normals, along, atol=1e-6)


def test_distances_are_in_units_of_the_direction():
    hits = scene_of(cube()).cast_rays(np.array([[0, 0.1, -3, 0, 0, 2.0]]))
    assert hits.t_hit[0] == pytest.approx(1.25)


def test_intervals_limit_hits():
    scene = scene_of(layers(3))
    origins, along = np.tile([0.3, 0.1, -1], (6, 1)), np.tile([0, 0, 1.0], (6, 1))
    t_min, t_max = np.array([0, 1.5, 2.5, 3.5, 0, 0.0]), np.array([np.inf] * 4 + [1.0, 1.5])
    t = scene.cast_rays(origins, along, t_min=t_min, t_max=t_max).t_hit
    np.testing.assert_allclose(t, [1, 2, 3, np.inf, np.inf, 1])
    any_hit = scene.test_occlusions(origins, along, t_min=t_min, t_max=t_max)
    np.testing.assert_array_equal(any_hit, np.isfinite(t))
    counts = scene.count_intersections(origins, along, t_min=t_min, t_max=t_max)
    np.testing.assert_array_equal(counts, [3, 2, 1, 0, 0, 1])
    assert scene.cast_rays(origins[:1], along[:1], t_min=1.25).t_hit[0] == 2
    assert scene.cast_rays(origins[:1], along[:1], t_max=0.5).t_hit[0] == np.inf


def test_occlusions_are_where_closest_hits_are():
    for watertight in (False, True):
        scene = scene_of(soup(500), watertight=watertight)
        rays = random_rays(20000, centre=(0.5, 0.5, 0.5)).astype(np.float32)
        hits = scene.cast_rays(rays)
        np.testing.assert_array_equal(scene.test_occlusions(rays),
                                      hits.primitive_ids != hw.INVALID_ID)


def test_counts_and_lists_are_those_of_brute_force():
    vertices, triangles = soup(400)
    scene = scene_of((vertices, triangles))
    rays = random_rays(2000, centre=(0.5, 0.5, 0.5))
    expected = brute_force(vertices, triangles, rays)
    counts = scene.count_intersections(rays)
    assert np.mean(counts != np.isfinite(expected).sum(axis=1)) < 2e-3
    lists = scene.list_intersections(rays)
    np.testing.assert_array_equal(np.diff(lists.ray_splits), counts)
    np.testing.assert_array_equal(lists.ray_ids, np.repeat(np.arange(len(rays)), counts))
    for i in range(0, len(rays), 50):
        mine = slice(lists.ray_splits[i], lists.ray_splits[i + 1])
        t = lists.t_hit[mine]
        assert np.all(np.diff(t) >= 0)
        assert len(set(lists.primitive_ids[mine])) == len(t)
        if len(t) == np.isfinite(expected[i]).sum():
            np.testing.assert_allclose(t, np.sort(expected[i])[: len(t)], rtol=1e-4)


def test_triangles_at_one_distance_are_all_counted():
    vertices, triangles = layers(1)
    scene = scene_of((vertices, np.repeat(triangles, 7, axis=0)))
    on_the_diagonal = np.array([[0.25, 0.25, -1, 0, 0, 1.0], [0.5, -0.25, -1, 0, 0, 1.0]])
    np.testing.assert_array_equal(scene.count_intersections(on_the_diagonal), [14, 7])
    lists = scene.list_intersections(on_the_diagonal)
    np.testing.assert_array_equal(lists.primitive_ids[:14], np.arange(14))
    np.testing.assert_array_equal(lists.primitive_ids[14:], np.arange(7))


def test_no_hit_of_a_long_thin_triangle_is_lost():
    vertices, triangles = slats()
    rays = rays_inside(vertices, 50000)
    expected = [
        np.isfinite(brute_force(vertices, triangles, part)).sum(axis=1)
        for part in np.split(rays, 50)
    ]
    counts = scene_of((vertices, triangles)).count_intersections(rays)
    assert np.count_nonzero(counts < np.concatenate(expected)) == 0


def test_hits_at_one_distance_count_once_if_asked_for():
    vertices, triangles = cube()
    scene = scene_of((vertices, np.concatenate([triangles, triangles])))
    rays = np.array(
        [
            [0.0, 0.0, -1.5, 0, 0, 1],  # the diagonals of two sides
            [0.0, 0.0, 0.0, 0, 0, 1],
            [0.1, 0.2, -1.5, 0, 0, 4],
            [-1.5, -1.5, -1.5, 1, 1, 1],  # two corners
            [10, 10, 10, 1, 0, 0],
        ]
    )
    assert scene.count_intersections(rays).tolist()[:3] == [8, 4, 4]
    assert scene.count_intersections(rays, unique=True).tolist() == [2, 1, 2, 2, 0]
    lists = scene.list_intersections(rays, unique=True)
    np.testing.assert_allclose(lists.t_hit, [1, 2, 0.5, 0.25, 0.5, 1, 2], rtol=1e-6)
    assert lists.ray_ids.tolist() == [0, 0, 1, 2, 2, 3, 3]
    every = scene.list_intersections(rays)
    for ray in range(5):
        mine = lists.primitive_ids[lists.ray_splits[ray] : lists.ray_splits[ray + 1]]
        among = every.primitive_ids[every.ray_splits[ray] : every.ray_splits[ray + 1]]
        assert set(mine) <= set(among) and (mine[:1] == among[:1]).all()


def test_hits_apart_stay_apart():
    vertices, triangles = layers(100)
    scene = scene_of((vertices * [1, 1, 0.01], triangles))
    rays = np.array([[0.3, 0.1, -1, 0, 0, 1.0], [0.3, 0.1, -1000, 0, 0, 1.0]])
    assert scene.count_intersections(rays, unique=True).tolist() == [100, 100]


def test_rays_with_more_hits_than_one_search_collects():
    vertices, triangles = layers(700)
    scene = scene_of((vertices, np.repeat(triangles, 3, axis=0)))
    rays = np.array([[0.3, 0.1, -1, 0, 0, 1.0], [0.25, 0.25, -1, 0, 0, 1.0]])
    assert scene.count_intersections(rays).tolist() == [2100, 4200]
    assert scene.count_intersections(rays, unique=True).tolist() == [700, 700]
    lists = scene.list_intersections(rays)
    np.testing.assert_allclose(lists.t_hit[:2100], np.repeat(np.arange(1, 701), 3), rtol=1e-6)
    np.testing.assert_array_equal(np.sort(lists.primitive_ids[2100:]), np.arange(4200))
    assert np.all(np.diff(lists.t_hit[2100:]) >= 0)


def test_triangles_in_many_leaves_count_once():
    # Long triangles among many small ones lie in many leaves of the tree.
    small, ids = soup(3000)
    vertices = np.concatenate([small, [[-1, -1, 0.5], [3, -1, 0.5], [-1, 3, 0.5]]])
    triangles = np.concatenate([ids, [[9000, 9001, 9002]]])
    random = np.random.default_rng(3)
    origins = np.c_[random.random((2000, 2)), np.full(2000, -2.0)]
    lists = scene_of((vertices, triangles)).list_intersections(origins,
                                                               np.tile([0, 0, 1.0], (2000, 1)))
    assert np.count_nonzero(lists.primitive_ids == 3000) == 2000


def test_a_closed_mesh_has_an_even_number_of_hits():
    scene = scene_of(sphere(20))
    rays = random_rays(5000)
    rays[:, :3] *= 3 / np.linalg.norm(rays[:, :3], axis=1, keepdims=True)
    assert not (scene.count_intersections(rays) % 2).any()


def test_double_precision_far_from_the_origin():
    centre = np.array([4.5e6, 0, 5.2e6])
    scene = scene_of(cube(2, centre))
    near = scene_of(cube(2))
    rays = random_rays(2000, 2)
    far = rays.copy()
    far[:, :3] += centre
    np.testing.assert_allclose(scene.cast_rays(far).t_hit, near.cast_rays(rays).t_hit, rtol=1e-5,
                               atol=1e-5)
    np.testing.assert_allclose(scene.bounds, [centre - 1, centre + 1])


def test_shapes_of_results_follow_the_rays():
    scene = scene_of(cube())
    rays = random_rays(24).reshape(2, 3, 4, 6)
    hits = scene.cast_rays(rays)
    assert hits.t_hit.shape == (2, 3, 4) and hits.primitive_ids.shape == (2, 3, 4)
    assert hits.primitive_uvs.shape == (2, 3, 4, 2)
    assert hits.primitive_normals.shape == (2, 3, 4, 3)
    flat = scene.cast_rays(rays.reshape(-1, 6))
    np.testing.assert_array_equal(hits.t_hit.ravel(), flat.t_hit)
    assert scene.cast_rays(rays[0, 0, 0]).t_hit.shape == ()
    parts = scene.cast_rays(np.ascontiguousarray(rays[..., :3]),
                            np.ascontiguousarray(rays[..., 3:]))
    np.testing.assert_array_equal(hits.t_hit, parts.t_hit)


def test_results_can_be_written_into_arrays():
    scene = scene_of(cube())
    rays = random_rays(100)
    hits = scene.cast_rays(rays)
    out = hw.RayHits(t_hit=np.empty(100, np.float32), primitive_ids=np.empty(100, np.uint32))
    given = scene.cast_rays(rays, out=out)
    assert given.t_hit is out.t_hit and given.primitive_normals is None
    np.testing.assert_array_equal(out.t_hit, hits["t_hit"])
    np.testing.assert_array_equal(out.primitive_ids, hits["primitive_ids"])
    # Not aligned to the eight bytes of a pair.
    uvs = np.empty(201, np.float32)[1:].reshape(100, 2)
    scene.cast_rays(rays, out=hw.RayHits(primitive_uvs=uvs))
    np.testing.assert_array_equal(uvs, hits.primitive_uvs)
    flags, counts = np.empty(100, bool), np.empty(100, np.uint32)
    assert scene.test_occlusions(rays, out=flags) is flags
    np.testing.assert_array_equal(flags, np.isfinite(hits.t_hit))
    assert scene.count_intersections(rays, out=counts) is counts
    np.testing.assert_array_equal(counts, scene.count_intersections(rays))
    with pytest.raises(KeyError):
        hits["distance"]


def test_batches_change_no_result():
    rays = random_rays(20000)
    whole, parts = scene_of(soup(200)), scene_of(soup(200), batch_bytes=1)
    np.testing.assert_array_equal(whole.cast_rays(rays).t_hit, parts.cast_rays(rays).t_hit)
    mine, other = whole.list_intersections(rays), parts.list_intersections(rays)
    for name in ("ray_splits", "ray_ids", "primitive_ids"):
        np.testing.assert_array_equal(mine[name], other[name])


def test_invalid_rays_miss():
    scene = scene_of(cube(), watertight=False)
    good = [0.1, 0.2, -2, 0, 0, 1.0]
    rays = np.array([good] * 7)
    rays[1, 0] = np.nan
    rays[2, 4] = np.inf
    rays[3, 3:] = 0
    rays[4, 5] = -np.inf
    rays[5, 2] = 1e300
    hit = np.isfinite(scene.cast_rays(rays).t_hit)
    np.testing.assert_array_equal(hit, [True] + [False] * 5 + [True])
    np.testing.assert_array_equal(scene.test_occlusions(rays), hit)
    np.testing.assert_array_equal(scene.count_intersections(rays) > 0, hit)
    t_min = np.array([0, np.nan, -1, 1.5, 1.6, 3, 0.0])
    hits = scene.cast_rays(np.array([good] * 7), t_min=t_min, t_max=np.full(7, 2.5))
    np.testing.assert_allclose(hits.t_hit, [1.5, np.inf, 1.5, 1.5, np.inf, np.inf, 1.5])


def test_zero_area_triangles_keep_their_numbers():
    vertices, triangles = cube()
    flat = np.array([[0, 0, 1], [2, 2, 2]], np.int32)
    scene = scene_of((vertices, np.concatenate([flat, triangles])))
    assert scene.triangle_count == 14
    hits = scene.cast_rays(np.array([[0.1, 0.2, -2, 0, 0, 1.0]]))
    plain = scene_of(cube()).cast_rays(np.array([[0.1, 0.2, -2, 0, 0, 1.0]]))
    assert hits.primitive_ids[0] == plain.primitive_ids[0] + 2
    only_flat = scene_of((vertices, flat))
    assert not only_flat.test_occlusions(random_rays(100)).any()


def test_threads_change_no_result():
    rays = random_rays(30000, centre=(0.5, 0.5, 0.5))
    one, three = scene_of(soup(1000), threads=1), scene_of(soup(1000), threads=3)
    assert one.tree.hash == three.tree.hash
    np.testing.assert_array_equal(one.cast_rays(rays).t_hit, three.cast_rays(rays).t_hit)


def test_no_ray_from_far_away_passes_through_a_closed_mesh():
    vertices, triangles = sphere(100)
    scene = scene_of((vertices, triangles))
    random = np.random.default_rng(1)
    out = random.normal(size=(200000, 3))
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    aim = (random.random(out.shape) - 0.5) * 0.6
    for far in 1, 1e2, 1e4, 1e6:
        origins = out * 2 * far
        along = aim - origins
        along /= np.linalg.norm(along, axis=1, keepdims=True)
        true = np.linalg.norm(origins, axis=1)
        # The distance is rounded to single precision.
        t = scene.cast_rays(origins, along).t_hit
        assert np.all((t < true - 0.5 + 1e-7 * true) & (t > true - 1.01 - 1e-7 * true)), far
        assert scene.test_occlusions(origins, along, t_max=true).all()
        np.testing.assert_array_equal(
            scene.count_intersections(origins[:2000], along[:2000], unique=True), 2
        )


def test_weights_are_those_of_points_in_the_triangle():
    random = np.random.default_rng(3)
    at = random.random((4000, 1, 3)) * 3000
    small = (at + random.normal(size=(4000, 3, 3)) * 0.05).reshape(-1, 3)
    floor = np.array([[0, 0, 0], [3000, 0, 0], [3000, 3000, 0], [0, 3000, 0.0]])
    vertices = np.concatenate([small, floor])
    triangles = np.concatenate(
        [np.arange(12000).reshape(-1, 3), 12000 + np.array([[0, 1, 2], [0, 2, 3]])]
    )
    k, w = random.integers(0, 4000, 50000), random.dirichlet([1, 1, 1], 50000)
    points = np.einsum("ij,ijk->ik", w, small.reshape(-1, 3, 3)[k])
    along = random.normal(size=points.shape)
    for watertight in False, True:
        hits = scene_of((vertices, triangles), watertight=watertight).cast_rays(points - 3 * along,
                                                                                along)
        u, v = hits.primitive_uvs.astype(float).T
        assert np.all((u >= 0) & (v >= 0) & (u + v <= 1))
        assert np.mean(hits.primitive_ids == k) > 0.9


def test_rays_along_the_silhouette_of_a_box_hit_it():
    scene = scene_of(cube(1, (0.5, 0.5, 0.5)))
    places = np.array([[0, 0.5], [1, 0.5], [0.5, 0], [0.5, 1], [0, 0], [1, 1], [0, 1], [1, 0]])
    for far in 5, 5e4, 5e8:
        origins = np.c_[places, np.full(8, float(far))]
        assert scene.test_occlusions(origins, [0, 0, -1.0]).all(), far
