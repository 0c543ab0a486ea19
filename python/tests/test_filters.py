# SPDX-License-Identifier: MIT
"""Rays of several scenes in one call, one-sided triangles, masks of triangles and rays."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from meshes import brute_force, cube, devices, needs_gpu, random_rays, soup, sphere

import heapwood as hw

SIZES = np.array([1, 1, 1e6, 1e-3, 100])
CENTRES = np.array([[0, 0, 0], [1e6, 0, 0], [3e6, -1e6, 0], [0, 0, 0], [0, 0, 1e6]])


def scenes_on(device: str, **options) -> list[hw.Scene]:
    """Scenes in several sizes, some far away; the first is there twice."""
    meshes = zip([sphere(), soup(50), cube(), soup(400), sphere(5)], SIZES, CENTRES)
    scenes = [hw.Scene(v * a + b, t, device=device, **options) for (v, t), a, b in meshes]
    return [*scenes, scenes[0]]


def rays_in_worlds(count: int) -> tuple[np.ndarray, np.ndarray]:
    worlds, rays = np.random.default_rng(4).integers(0, 6, count), random_rays(count)
    rays[:, :3] = rays[:, :3] * SIZES[worlds % 5, None] + CENTRES[worlds % 5]
    return worlds, rays


def assert_each_is_of_its_scene(scenes, worlds, rays, **options) -> None:
    batch = hw.SceneBatch(scenes)
    hits, found = (f(worlds, rays, **options) for f in (batch.cast_rays, batch.test_occlusions))
    for number, scene in enumerate(scenes):
        mine = worlds == number
        expected = scene.cast_rays(rays[mine], **options)
        assert np.isfinite(expected.t_hit).mean() > 0.02
        for name, values in dict(expected).items():
            np.testing.assert_array_equal(hits[name][mine], values)
        np.testing.assert_array_equal(found[mine], scene.test_occlusions(rays[mine], **options))


@devices
@pytest.mark.parametrize("watertight", [False, True])
def test_rays_of_a_batch_are_those_of_its_scenes(device, watertight):
    scenes = scenes_on(device, watertight=watertight, batch_bytes=1 << 18)
    worlds, rays = rays_in_worlds(9000)
    assert_each_is_of_its_scene(scenes, worlds, rays)
    scenes[0].update(scenes[0].vertices * 0.5)
    assert_each_is_of_its_scene(scenes, worlds.astype(np.uint32), rays.astype(np.float32))
    assert_each_is_of_its_scene(scenes, worlds.astype(np.int16), rays, cull="back", masks=1)


@devices
@pytest.mark.parametrize("watertight", [False, True])
@pytest.mark.parametrize("cull", ["back", "front"])
def test_sides_and_masks_choose_triangles(device, watertight, cull):
    random, rays = np.random.default_rng(5), random_rays(2000, centre=(0.5, 0.5, 0.5))
    bits, worlds = random.integers(-1, 8, 2000), random.integers(0, 2, 2000)
    scenes, t, options = [], np.empty((2000, 300)), {"device": device, "watertight": watertight}
    for number in 0, 1:
        vertices, triangles = soup(300, seed=number)
        masks = random.integers(-1, 8, 300)
        scenes.append(hw.Scene(vertices, triangles, masks=masks, **options))
        scenes[-1].update(vertices)
        a, b, c = (vertices[triangles[:, k]] for k in range(3))
        counts = (rays[:, 3:] @ np.cross(b - a, c - a).T < 0) == (cull == "back")
        counts &= (masks & bits[:, None]) != 0
        all_t = np.where(counts, brute_force(vertices, triangles, rays), np.inf)
        t[worlds == number] = all_t[worlds == number]
    batch, given = hw.SceneBatch(scenes), {"masks": bits, "cull": cull}
    hits, is_hit = batch.cast_rays(worlds, rays, **given), np.isfinite(t.min(axis=1))
    same = hits.primitive_ids == np.where(is_hit, t.argmin(axis=1), hw.INVALID_ID)
    assert same.mean() > 0.998 and 0.1 < is_hit.mean() < 0.9
    np.testing.assert_allclose(hits.t_hit[same], t.min(axis=1)[same], rtol=1e-3, atol=1e-5)
    assert np.mean(batch.test_occlusions(worlds, rays, **given) == is_hit) > 0.998
    mine, every_mask = worlds == 0, scenes[0].cast_rays(rays, masks=0xFFFFFFFF).t_hit
    for same in copy.copy(scenes[0]), pickle.loads(pickle.dumps(scenes[0])):
        np.testing.assert_array_equal(same.cast_rays(rays, **given).t_hit[mine], hits.t_hit[mine])
        # Triangles with mask 0 are never hit.
        np.testing.assert_array_equal(same.cast_rays(rays).t_hit, every_mask)
    assert not scenes[0].test_occlusions(rays, masks=0).any()


def test_meshes_have_masks():
    scene = hw.MeshScene([cube(), ([], []), cube()], masks=[1, 4, -2], device="cpu")
    moved = np.tile(np.eye(4), (3, 1, 1))
    moved[2, 2, 3] = 5
    for same in scene, copy.copy(scene), pickle.loads(pickle.dumps(scene)):
        same.move(moved)
        rays = [[0.1, 0.2, 9, 0, 0, -1]] * 3
        t = same.cast_rays(rays, masks=[1, 2, 3]).t_hit
        np.testing.assert_allclose(t, [8.5, 3.5, 3.5], rtol=1e-6)


def test_updates_of_scenes_in_a_batch():
    scenes = [hw.Scene(*cube(), device="cpu", threads=1) for _ in range(3)]
    batches = [hw.SceneBatch([scenes[k] for k in order]) for order in ((0, 1, 2), (2, 1, 0, 2))]
    rays = np.tile([0.1, 0.2, -3, 0, 0, 1], (3, 3, 1))

    def work(k):
        for step in range(50):
            if k < 3:
                scenes[k].update(cube(1 + step % 2)[0])
            else:
                assert set(batches[k % 2].cast_rays([0, 1, 2], rays).t_hit.flat) <= {2.0, 2.5}

    with ThreadPoolExecutor(7) as pool:
        list(pool.map(work, range(7)))


def test_wrong_worlds_and_masks():
    scenes = [hw.Scene(*cube(), device="cpu"), hw.MeshScene([sphere()], device="cpu")]
    batch, rays = hw.SceneBatch(scenes), random_rays(5)
    assert batch.cast_rays([], np.empty((0, 6))).t_hit.shape == (0,)
    for worlds, match in (
        *[([0, 1, 0, k, k], "that of ray 3: expected 0 to 1") for k in (2, -1)],
        *[(2, "that of ray 0: expected"), (-1, "-1: must be at least 0"), (2**40, "that of ray 0")],
        ([0, 1, 0, 1], r"shape \(4,\): expected a number, or \(5,\)"),
    ):
        for query in batch.cast_rays, batch.test_occlusions:
            with pytest.raises(ValueError, match="worlds: " + match):
                query(worlds, rays)
    for name, value in ("worlds", 0.5), ("worlds", [0.5]), ("masks", 1.0):
        with pytest.raises(TypeError, match=f"{name}: .*: expected (a )?whole number"):
            batch.cast_rays(**{"worlds": 0, "rays": rays, name: value})
    other = hw.Scene(*cube(), device="cpu", watertight=True)
    for count, make, *given in (12, hw.Scene, *cube()), (1, hw.MeshScene, [cube()]):
        with pytest.raises(ValueError, match=rf"masks: shape \(3,\): expected \({count},\)"):
            make(*given, masks=[1, 2, 3], device="cpu")
    for match, given in ("there are none", []), ("watertight: .*the same", [*scenes, other]):
        with pytest.raises(ValueError, match="scenes: " + match):
            hw.SceneBatch(given)
    with pytest.raises(ValueError, match="cull: 'both': expected"):
        batch.cast_rays(0, rays, cull="both")


@needs_gpu
@pytest.mark.parametrize("number", ["int32", "int64"])
def test_worlds_and_masks_of_torch(number):
    torch = pytest.importorskip("torch")
    scenes, (worlds, rays) = scenes_on("cuda"), rays_in_worlds(6000)
    batch, masks = hw.SceneBatch(scenes), np.arange(6000) % 3
    expected = batch.cast_rays(worlds, rays, masks=masks).t_hit
    worlds, rays, masks = (torch.tensor(a, device="cuda") for a in (worlds, rays, masks))
    given = {"worlds": worlds.to(getattr(torch, number)), "masks": masks.int()}
    for out in None, {"t_hit": torch.empty(6000, device="cuda")}:
        hits = batch.cast_rays(rays=rays, **given, out=out)
        np.testing.assert_array_equal(hits.t_hit.cpu(), expected)
    with pytest.raises(ValueError, match="worlds: that of ray 3: expected 0 to 5"):
        batch.cast_rays(torch.tensor([0, 1, 2, 6, 7], device="cuda"), rays[:5])
    with pytest.raises(hw.DeviceError, match="worlds: on cpu, but the rays are on cuda:0"):
        batch.cast_rays(np.zeros(5, np.int32), rays[:5])
    with pytest.raises(ValueError, match="scenes: device: .*: expected the same"):
        hw.SceneBatch([*scenes, hw.Scene(*cube(), device="cpu")])
