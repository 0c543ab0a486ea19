# SPDX-License-Identifier: MIT
"""Rays of several scenes in one call, and masks of triangles and rays."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from meshes import brute_force, cube, devices, needs_gpu, random_rays, soup, sphere

import heapwood as hw

MESHES = [sphere(), soup(50), cube(), soup(400), sphere(5)]
SIZES = np.array([1, 1, 1e6, 1e-3, 100])
CENTRES = np.array([[0, 0, 0], [1e6, 0, 0], [3e6, -1e6, 0], [0, 0, 0], [0, 0, 1e6]])


def scenes_on(device: str, **options) -> list[hw.Scene]:
    """MESHES in several sizes, some far away; the first is there twice."""
    scenes = [
        hw.Scene(v * size + centre, t, device=device, **options)
        for (v, t), size, centre in zip(MESHES, SIZES, CENTRES)
    ]
    return [*scenes, scenes[0]]


def rays_in_worlds(count: int) -> tuple[np.ndarray, np.ndarray]:
    worlds = np.random.default_rng(4).integers(0, 6, count)
    rays = random_rays(count)
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
    assert_each_is_of_its_scene(scenes, worlds.astype(np.uint32), rays, t_max=3 * SIZES.max())
    assert_each_is_of_its_scene(scenes, worlds.astype(np.int16), rays, cull="back", masks=1)


@devices
@pytest.mark.parametrize("watertight", [False, True])
def test_masks_choose_triangles(device, watertight):
    random, rays = np.random.default_rng(5), random_rays(2000, centre=(0.5, 0.5, 0.5))
    bits, worlds = random.integers(-1, 8, 2000), random.integers(0, 2, 2000)
    scenes, t = [], np.empty((2000, 300))
    for number in 0, 1:
        vertices, triangles = soup(300, seed=number)
        masks = random.integers(-1, 8, 300)
        scenes.append(hw.Scene(vertices, triangles, masks=masks, device=device,
                               watertight=watertight))
        scenes[-1].update(vertices)
        a, b, c = (vertices[triangles[:, k]] for k in range(3))
        from_back = rays[:, 3:] @ np.cross(b - a, c - a).T > 0
        counts = from_back & ((masks & bits[:, None]) != 0)
        everything = np.where(counts, brute_force(vertices, triangles, rays), np.inf)
        t[worlds == number] = everything[worlds == number]
    batch, options = hw.SceneBatch(scenes), {"masks": bits, "cull": "front"}
    hits = batch.cast_rays(worlds, rays, cull="back", masks=bits)
    hits = batch.cast_rays(worlds, rays, **{**options, "cull": "front"})
    same = hits.primitive_ids == np.where(np.isfinite(t.min(1)), t.argmin(1), hw.INVALID_ID)
    assert same.mean() > 0.998 and 0.1 < np.isfinite(hits.t_hit).mean() < 0.9
    assert np.mean(batch.test_occlusions(worlds, rays, **options) == np.isfinite(t.min(1))) > 0.998
    for again in copy.copy(scenes[0]), pickle.loads(pickle.dumps(scenes[0])):
        np.testing.assert_array_equal(again.cast_rays(rays, **options).t_hit[worlds == 0],
                                      hits.t_hit[worlds == 0])
    no_rays = batch.cast_rays([], np.empty((0, 6)))
    assert no_rays.t_hit.shape == (0,)
