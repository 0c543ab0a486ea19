# SPDX-License-Identifier: MIT
"""Arguments as users of NumPy pass them: slices, lists, other types, shapes that broadcast."""

import copy
import pathlib
import pickle

import numpy as np
import pytest
from meshes import cube, layers, random_rays

import heapwood as hw

VERTICES = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]])
TRIANGLES = np.array([[0, 1, 2]])
RAYS = np.array([[0.2, 0.2, 1, 0, 0, -1], [5, 5, 1, 0, 0, -1.0]])
T_HIT = [1, np.inf]


@pytest.fixture(scope="module")
def scene() -> hw.Scene:
    return hw.Scene(VERTICES, TRIANGLES, device="cpu")


@pytest.mark.parametrize(
    "rays",
    [
        np.repeat(RAYS, 2, axis=0)[::2], np.repeat(RAYS, 2, axis=1)[:, ::2],
        np.asfortranarray(RAYS), RAYS.astype(">f8"), RAYS.astype(np.longdouble),
        RAYS.astype(np.float16), RAYS.tolist(),
    ],
)
def test_rays_are_copied_where_they_have_to_be(scene, rays):
    np.testing.assert_allclose(scene.cast_rays(rays).t_hit, T_HIT, atol=1e-3)


def test_whole_numbers_are_coordinates(scene):
    assert scene.cast_rays([[0, 0, 1, 0, 0, -1]]).t_hit.tolist() == [1]
    assert scene.cast_rays(np.array([[0, 0, 1, 0, 0, -1]])).t_hit.tolist() == [1]
    whole = hw.Scene([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], device="cpu")
    np.testing.assert_array_equal(whole.cast_rays(RAYS).t_hit, T_HIT)
    whole.update([[0, 0, 0], [9, 0, 0], [0, 9, 0]])
    np.testing.assert_array_equal(whole.bounds[1], [9, 9, 0])


@pytest.mark.parametrize("index", ["u1", "i1", "u2", "i2", "i4", "i8", "u4", "u8", ">u4", ">i8"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_indices_have_any_type_of_whole_numbers(dtype, index):
    scene = hw.Scene(VERTICES.astype(dtype), TRIANGLES.astype(index), device="cpu")
    np.testing.assert_array_equal(scene.cast_rays(RAYS.astype(dtype)).t_hit, T_HIT)


def test_meshes_are_copied_where_they_have_to_be():
    vertices, triangles = cube()
    vertices.flags.writeable = False
    reference = hw.Scene(vertices, triangles, device="cpu").cast_rays(random_rays(500))
    scene = hw.Scene(np.asfortranarray(vertices), np.c_[triangles, triangles][:, :3], device="cpu")
    np.testing.assert_array_equal(scene.cast_rays(random_rays(500)).t_hit, reference.t_hit)
    scene.update(np.repeat(vertices, 2, axis=0)[::2])
    np.testing.assert_array_equal(scene.cast_rays(random_rays(500)).t_hit, reference.t_hit)


def test_origins_and_directions_broadcast(scene):
    origins, down = RAYS[:, :3], np.array([0, 0, -1.0])
    for first, second in [(origins, RAYS[:, 3:]), (origins, down), (origins, [down]),
                          (origins, [0, 0, -1])]:
        np.testing.assert_array_equal(scene.cast_rays(first, second).t_hit, T_HIT)
    assert scene.cast_rays(origins[:1], RAYS[:, 3:]).t_hit.tolist() == [1, 1]
    assert scene.cast_rays(origins[0], RAYS[:, 3:]).t_hit.tolist() == [1, 1]
    assert scene.cast_rays(origins[0], down).t_hit.shape == ()
    grid = scene.cast_rays(origins[:, None], np.array([[down, -down, down]]))
    np.testing.assert_array_equal(grid.t_hit, [[1, np.inf, 1], [np.inf] * 3])
    assert scene.count_intersections(origins, down).tolist() == [1, 0]
    assert scene.list_intersections(origins, down).ray_ids.tolist() == [0]


@pytest.mark.parametrize("none", [[], (), np.empty((0, 6)), np.empty((0, 6), np.int8)])
def test_no_rays(scene, none):
    assert scene.cast_rays(none).primitive_uvs.shape == (0, 2)
    assert scene.count_intersections(none).shape == (0,)
    assert scene.test_occlusions(none).shape == (0,)
    lists = scene.list_intersections(none)
    assert lists.ray_splits.tolist() == [0] and lists.t_hit.shape == (0,)


def test_no_origins_and_no_mesh(scene):
    assert scene.test_occlusions([], []).shape == (0,)
    for vertices, triangles in (([], []), (VERTICES, np.empty((0, 3), np.int32))):
        with pytest.raises(hw.SceneError, match="triangles: there are none"):
            hw.Scene(vertices, triangles, device="cpu")


@pytest.mark.parametrize(
    "t_max, expected",
    [
        (None, T_HIT), (np.array(2.0), T_HIT), (np.array(2), T_HIT),
        (np.float32(0.5), [np.inf, np.inf]), (1, [np.inf, np.inf]), (np.array([2, 2]), T_HIT),
        ([2, 2], T_HIT), (np.array([2.0]), T_HIT), (np.array([2, 9, 2, 9])[::2], T_HIT),
    ],
)
def test_ends_of_intervals(scene, t_max, expected):
    np.testing.assert_array_equal(scene.cast_rays(RAYS, t_max=t_max, t_min=None).t_hit, expected)
    np.testing.assert_array_equal(scene.test_occlusions(RAYS, t_max=t_max, t_min=0),
                                  np.isfinite(expected))


def test_devices_have_several_forms():
    class Device:  # as torch.device
        def __str__(self) -> str:
            return "cpu"

    assert hw.Scene(VERTICES, TRIANGLES, device=Device()).device == "cpu"
    assert hw.Scene(VERTICES, TRIANGLES, device=None).triangle_count == 1


def test_results_can_go_into_a_dict(scene):
    out = {"t_hit": np.empty(2, np.float32)}
    hits = scene.cast_rays(RAYS, out=out)
    assert hits.t_hit is out["t_hit"] and hits.primitive_ids is None
    assert list(dict(hits)) == ["t_hit"] and "t_hit" in hits and "primitive_ids" not in hits
    everything = dict(scene.cast_rays(RAYS))
    assert list(everything) == ["t_hit", "primitive_ids", "primitive_uvs", "primitive_normals"]
    assert dict(scene.list_intersections(RAYS))["ray_ids"].tolist() == [0]
    with pytest.raises(ValueError, match="out: 'distance': expected t_hit"):
        scene.cast_rays(RAYS, out={"distance": np.empty(2, np.float32)})
    with pytest.raises(TypeError, match="out: tuple: expected RayHits or a dict"):
        scene.cast_rays(RAYS, out=())


def test_paths_name_files(tmp_path):
    path = pathlib.Path(tmp_path) / "one.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    assert hw.load_mesh(path)[1].tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda scene: pickle.loads(pickle.dumps(scene))])
def test_copies_and_pickles_keep_mesh_and_options(copied):
    vertices, triangles = cube(2, (4.5e6, 0, 1))
    options = {"watertight": True, "prefer": "build", "allocator": "atomic", "threads": 1}
    scene = hw.Scene(vertices, triangles, device="cpu", **options)
    moved = np.array([4.5e6, 2, 3])
    scene.update(vertices + moved - [4.5e6, 0, 0])
    other = copied(scene)
    assert (other.vertex_count, other.triangle_count, other.watertight) == (8, 12, True)
    assert other.tree.hash == scene.tree.hash
    np.testing.assert_array_equal(other.bounds, scene.bounds)
    rays = random_rays(500, 2, moved)
    np.testing.assert_array_equal(other.cast_rays(rays).t_hit, scene.cast_rays(rays).t_hit)


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e-12, 1e-6, 1, 1e6, 1e12, 1e15, 1e20, 1e37])
@pytest.mark.parametrize("watertight", [False, True])
def test_extreme_units_hit_or_are_refused(scale, watertight):
    vertices, triangles = layers(3)
    directions = np.tile([0.1, 0.2, 1.0], (50, 1))
    origins = np.c_[np.random.default_rng(1).random((50, 2)) / 2, np.full(50, -0.5)]
    unit = hw.Scene(vertices, triangles, device="cpu").count_intersections(origins, directions)
    try:
        scene = hw.Scene(vertices * scale, triangles, device="cpu", watertight=watertight)
    except hw.SceneError as error:
        assert "long: expected 1e-12 to 1e+15; scale it" in str(error)
        assert not 1e-12 < scale < 1e15
        return
    assert scene.test_occlusions(origins * scale, directions).all()
    np.testing.assert_array_equal(scene.count_intersections(origins * scale, directions), unit)


def test_an_update_to_extreme_units_changes_nothing():
    vertices, triangles = cube()
    scene = hw.Scene(vertices, triangles, device="cpu")
    before = scene.cast_rays(random_rays(500)).t_hit
    with pytest.raises(hw.SceneError, match=r"the scene is 1e\+30 long"):
        scene.update(vertices * 1e30)
    np.testing.assert_array_equal(scene.cast_rays(random_rays(500)).t_hit, before)


@pytest.mark.parametrize(
    "options, error, match",
    [
        ({"threads": 1.5}, TypeError, "threads: 1.5: expected a whole number"),
        ({"threads": -1}, ValueError, "threads: -1: must be at least 0"),
        ({"batch_bytes": "1M"}, TypeError, "batch_bytes: '1M': expected a whole number"),
        ({"allocator": None}, ValueError, "allocator 'None': expected one of"),
        ({"prefer": 3}, ValueError, "prefer '3': expected one of"),
        ({"device": 0}, ValueError, "device '0': expected auto, cpu, cuda or cuda:N"),
    ],
)
def test_options_are_refused_by_name(options, error, match):
    with pytest.raises(error, match=match):
        hw.Scene(VERTICES, TRIANGLES, **{"device": "cpu", **options})


@pytest.mark.parametrize(
    "rays, match",
    [
        ([[0, 0, 1, 0, 0], [1]], "rays: not an array of numbers"),
        ([["a"] * 6], "rays: <U1: expected real numbers"),
        (np.zeros((2, 6), complex), "rays: complex128: expected real numbers"),
        (np.zeros((2, 6), bool), "rays: bool: expected real numbers"),
        (None, "rays: object: expected real numbers"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(scene, rays, match):
    with pytest.raises(TypeError, match=match):
        scene.cast_rays(rays)


@pytest.mark.parametrize(
    "options, match",
    [
        ({"width": 8.5}, "width: 8.5: expected a whole number"),
        ({"spp": "many"}, "spp: 'many': expected a whole number"),
        ({"fov": "wide"}, "fov: 'wide': expected a number"),
    ],
)
def test_options_of_pictures_are_refused_by_name(scene, options, match):
    with pytest.raises(TypeError, match=match):
        scene.render(**{"width": 8, "height": 8, **options})
