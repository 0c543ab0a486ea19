# SPDX-License-Identifier: MIT
"""Scenes: updates, threads, facts about the tree, pictures; the command line as functions."""

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from meshes import cube, random_rays, soup, sphere

import heapwood as hw


def test_updates_give_the_scene_of_the_new_vertices():
    vertices, triangles = sphere(16)
    scene = hw.Scene(vertices, triangles, device="cpu")
    rays = random_rays(4000, 3)
    for step in range(1, 4):
        moved = vertices * [1, 1 + 0.3 * step, 1] + [0.1 * step, 0, 0]
        scene.update(moved if step % 2 else moved.astype(np.float32))
        fresh = hw.Scene(moved, triangles, device="cpu")
        hits, expected = scene.cast_rays(rays), fresh.cast_rays(rays)
        assert np.mean(hits.primitive_ids != expected.primitive_ids) < 2e-3
        both = np.isfinite(hits.t_hit) & np.isfinite(expected.t_hit)
        np.testing.assert_allclose(hits.t_hit[both], expected.t_hit[both], rtol=1e-4)
        counts = scene.count_intersections(rays)
        assert np.mean(counts != fresh.count_intersections(rays)) < 2e-3
        np.testing.assert_allclose(scene.bounds, [moved.min(0), moved.max(0)], atol=1e-6)


def test_rays_hit_after_an_update_far_away():
    vertices, triangles = cube()
    scene = hw.Scene(vertices, triangles, device="cpu")
    scene.update(vertices + [1000, 0, 0])
    assert scene.test_occlusions(np.array([[1000.1, 0.2, -3, 0, 0, 1.0]])).all()


def test_rays_hit_what_is_small_after_an_update():
    ball, faces = sphere(32)
    vertices = np.concatenate([ball, [[0, 0, 2], [1, 0, 2], [0, 1, 2]]])
    triangles = np.concatenate([faces, [[len(ball), len(ball) + 1, len(ball) + 2]]])
    scene = hw.Scene(vertices, triangles, device="cpu")
    far = 1e5  # from the triangle: the sphere is small in a large scene
    scene.update(np.concatenate([ball + [far, 0, 0], vertices[len(ball) :]]))
    along = np.random.default_rng(1).normal(size=(100000, 3))
    # Single precision moves the sphere's vertices by a tenth of its edges.
    assert np.mean(scene.test_occlusions([far, 0.0, 0.0], along)) > 0.999


@pytest.mark.parametrize("name", ["bounds", "watertight", "tree"])
def test_properties_wait_for_an_update_without_the_interpreters_lock(name):
    vertices, triangles = hw.load_mesh("statue:200k")
    scene = hw.Scene(vertices, triangles, device="cpu", threads=1)
    update = threading.Thread(target=scene.update, args=(vertices,))
    update.start()
    time.sleep(0.01)
    read = threading.Thread(target=getattr, args=(scene, name))
    read.start()
    ticks = 0
    while update.is_alive():
        ticks += 1
        time.sleep(0.001)
    read.join()
    assert ticks > 10


def test_facts_about_the_tree():
    scene = hw.Scene(*soup(2000), device="cpu", threads=2)
    tree = scene.tree
    assert tree.nodes == 2 * tree.leaves - 1
    assert tree.references >= 2000 and tree.complete and tree.depth > 5
    assert tree.sah_cost > 1 and tree.build_ms > 0
    assert tree.memory_bytes > tree.record_bytes >= 48 * tree.references
    assert scene.tree == tree
    assert (scene.device, scene.vertex_count, scene.triangle_count) == ("cpu", 6000, 2000)
    for allocator in ("atomic", "heapwood"):
        other = hw.Scene(*soup(2000), device="cpu", allocator=allocator)
        assert other.tree.hash == tree.hash
    assert hw.Scene(*soup(2000), device="cpu", prefer="build").tree.hash != tree.hash


def test_queries_of_several_threads():
    scene = hw.Scene(*soup(2000), device="cpu", threads=1)
    rays = [random_rays(20000, centre=(0.5, 0.5, 0.5), seed=k) for k in range(4)]
    alone = [scene.cast_rays(r).t_hit for r in rays]

    def query(k: int) -> None:
        for _ in range(3):
            np.testing.assert_array_equal(scene.cast_rays(rays[k]).t_hit, alone[k])
            scene.count_intersections(rays[k][:500])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(query, range(4)))  # raises what a thread raised


def test_updates_during_queries_of_another_thread():
    vertices, triangles = sphere(8)
    scene = hw.Scene(vertices, triangles, device="cpu", threads=1)
    inward = -random_rays(3000)[:, :3]
    inward /= np.linalg.norm(inward, axis=1, keepdims=True)
    done = threading.Event()

    def update() -> None:
        for step in range(40):
            scene.update(vertices * (1.0 if step % 2 else 2.0))
        done.set()

    thread = threading.Thread(target=update)
    thread.start()
    while not done.is_set():
        t = scene.cast_rays(-5 * inward, inward).t_hit
        # All rays of one query meet the same sphere.
        assert np.all((t > 3.9) & (t < 4.1)) or np.all((t > 2.9) & (t < 3.3))
    thread.join()


def test_other_threads_run_during_a_query():
    scene = hw.Scene(*soup(3000), device="cpu", threads=1)
    rays = random_rays(1000000, centre=(0.5, 0.5, 0.5))
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    before = ticks
    scene.cast_rays(rays)
    after = ticks
    done.set()
    thread.join()
    assert after > before


def test_pictures():
    scene = hw.Scene(*cube(), device="cpu")
    picture = scene.render(48, 32, spp=1)
    assert picture.shape == (32, 48, 3) and picture.dtype == np.uint8
    assert len(np.unique(picture)) > 10
    depth = scene.render(48, 32, mode="depth", spp=1, eye=(0, 0, 4), target=(0, 0, 0))
    assert (depth[16, 24] != depth[0, 0]).any()


def test_meshes_of_files_and_names(tmp_path):
    vertices, triangles = hw.load_mesh("statue:2k")
    assert vertices.dtype == np.float64 and vertices.shape[1] == 3
    assert 1000 < len(triangles) < 4000
    assert hw.Scene(vertices, triangles, device="cpu").tree.complete
    file = tmp_path / "far.obj"
    file.write_text("v 5000000 0 0\nv 5000001 0 0\nv 5000000 1.25 0\nf 1 2 3\n")
    vertices, triangles = hw.load_mesh(str(file))
    np.testing.assert_array_equal(vertices, [[5e6, 0, 0], [5e6 + 1, 0, 0], [5e6, 1.25, 0]])
    np.testing.assert_array_equal(triangles, [[0, 1, 2]])


def test_importing_starts_no_cuda():
    code = (
        "import heapwood, sys\n"
        "maps = open('/proc/self/maps').read()\n"
        "assert 'libcuda.so' not in maps, 'the driver is loaded'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_queries_on_cpu_threads_reuse_memory():
    """Freed memory is kept for the next query: new pages would take up to a fifth of its time."""
    code = """
import resource, numpy, heapwood
scene = heapwood.Scene(numpy.eye(3), [[0, 1, 2]], device="cpu", threads=1)
rays = numpy.ones((1 << 18, 6), numpy.float32)
def new_pages():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    scene.cast_rays(rays)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print([new_pages() for _ in range(5)][-1])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 500  # 3,338 of 4 KiB otherwise
