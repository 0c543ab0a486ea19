# SPDX-License-Identifier: MIT
"""Scenes on a GPU, and arrays of PyTorch, CuPy and JAX. Skipped without a GPU or the library."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from meshes import cube, needs_gpu, random_rays, rays_inside, slats, soup, sphere

import heapwood as hw

# JAX would take most of the memory of the GPU when it starts.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

CENTRE = (0.5, 0.5, 0.5)


pytestmark = needs_gpu


def library(name: str):
    return pytest.fixture(scope="module", name=name)(lambda: pytest.importorskip(name))


torch, cupy, jax = library("torch"), library("cupy"), library("jax")


@pytest.fixture(scope="module")
def gpu() -> hw.Scene:
    return hw.Scene(*soup(3000), device="cuda", prefer="update")


# With prefer="update" trees on CPU threads are those of a GPU.
@pytest.fixture(scope="module")
def cpu() -> hw.Scene:
    return hw.Scene(*soup(3000), device="cpu", prefer="update")


def rays_of(count: int, dtype=np.float32, seed: int = 2) -> np.ndarray:
    return random_rays(count, centre=CENTRE, seed=seed).astype(dtype)


def host(array) -> np.ndarray:
    if type(array).__module__.startswith("torch"):
        return array.cpu().numpy()
    return array.get() if hasattr(array, "get") else np.asarray(array)


def assert_same_hits(hits, expected) -> None:
    """Equal, but for rays that graze an edge."""
    ids = host(hits.primitive_ids).view(np.uint32)
    same = ids == expected.primitive_ids
    assert same.mean() > 0.9995
    assert (ids != hw.INVALID_ID).any()
    np.testing.assert_allclose(host(hits.t_hit)[same], expected.t_hit[same], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(host(hits.primitive_uvs)[same], expected.primitive_uvs[same],
                               atol=2e-3)
    np.testing.assert_allclose(host(hits.primitive_normals)[same], expected.primitive_normals[same],
                               atol=1e-5)


def test_many_rays_in_a_room_are_blocked_where_they_hit(cupy):
    """So many that a trial chooses the order of children: in a room, far ones first."""
    (inner, a), (room, b) = soup(3000), cube()
    corners = np.concatenate([inner, (room - room.mean(axis=0)) * 20])
    scene = hw.Scene(*map(cupy.asarray, (corners, np.concatenate([a, b + len(inner)]))))
    rays = cupy.asarray(rays_of(1 << 22))
    for t_max in 0.3, np.inf:
        blocked = host(scene.test_occlusions(rays, t_max=t_max))
        found = np.isfinite(host(scene.cast_rays(rays, t_max=t_max).t_hit))
        assert np.mean(blocked != found) < 1e-6
        assert blocked.any() and (t_max < 1) != blocked.all()


# NumPy arrays, a scene on the GPU


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch_bytes", [256 << 20, 1])  # 1: batches of 4096 rays
def test_queries_are_those_of_the_cpu(cpu, dtype, batch_bytes):
    scene = hw.Scene(*soup(3000), device="cuda", batch_bytes=batch_bytes, prefer="update")
    assert scene.device == "cuda:0"
    assert scene.tree.hash == cpu.tree.hash
    rays = rays_of(20000, dtype)
    assert_same_hits(scene.cast_rays(rays), cpu.cast_rays(rays))
    assert np.mean(scene.test_occlusions(rays) != cpu.test_occlusions(rays)) < 5e-4
    counts, expected = scene.count_intersections(rays), cpu.count_intersections(rays)
    assert np.mean(counts != expected) < 5e-4
    lists = scene.list_intersections(rays)
    np.testing.assert_array_equal(np.diff(lists.ray_splits), counts)
    np.testing.assert_array_equal(lists.ray_ids, np.repeat(np.arange(len(rays)), counts))
    for i in range(0, len(rays), 997):
        assert np.all(np.diff(lists.t_hit[lists.ray_splits[i] : lists.ray_splits[i + 1]]) >= 0)


@pytest.mark.parametrize("unique", [False, True])
def test_counts_and_lists_are_those_of_the_cpu_for_long_thin_triangles(unique):
    vertices, triangles = slats()
    rays = rays_inside(vertices, 100000)
    gpu, cpu = (hw.Scene(vertices, triangles, device=device) for device in ("cuda", "cpu"))
    counts = gpu.count_intersections(rays, unique=unique)
    expected = cpu.count_intersections(rays, unique=unique)
    assert np.count_nonzero(counts != expected) <= 3
    lists = gpu.list_intersections(rays, unique=unique)
    np.testing.assert_array_equal(np.diff(lists.ray_splits), counts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count, batch_bytes", [(10000, 1 << 28), (10000, 1), (300001, 1 << 28)])
def test_queries_with_points_are_those_of_the_cpu(dtype, count, batch_bytes):
    scene = hw.Scene(*sphere(24), device="cuda", batch_bytes=batch_bytes)
    expected = hw.Scene(*sphere(24), device="cpu")
    points = rays_of(count, dtype)[:, :3]
    points[::101] *= 100
    points[::103], points[::107] = 1.5 * sphere(24)[0][300], np.nan
    limit = np.random.default_rng(1).random(len(points)).astype(dtype)
    for limits in ({}, {"max_distance": limit}):
        closest = scene.closest_points(points, **limits)
        others = expected.closest_points(points, **limits)
        # Of triangles that share the closest edge, rounding decides.
        same = closest.primitive_ids == others.primitive_ids
        assert np.mean(same) > 0.9
        for name, values in dict(others).items():
            compared = np.ones_like(same) if name in ("distance", "points") else same
            np.testing.assert_allclose(closest[name][compared], values[compared], rtol=1e-6,
                                       atol=1e-6)
        signed = expected.signed_distance(points, **limits)
        np.testing.assert_allclose(scene.signed_distance(points, **limits), signed, atol=1e-6)
    np.testing.assert_array_equal(scene.contains(points), expected.contains(points))


def test_scenes_can_be_copied_and_pickled():
    scene = hw.Scene(*soup(3000), device="cuda")
    scene.update(soup(3000)[0] * 2)
    other = pickle.loads(pickle.dumps(scene))
    assert other.device == scene.device and other.tree.hash == scene.tree.hash


def test_watertight_scenes_and_invalid_rays():
    rays = rays_of(20000)
    rays[::7, 3:] = 0
    rays[1::7, 0] = np.nan
    gpu = hw.Scene(*sphere(), device="cuda", watertight=True)
    cpu = hw.Scene(*sphere(), device="cpu", watertight=True)
    assert_same_hits(gpu.cast_rays(rays), cpu.cast_rays(rays))
    assert not gpu.test_occlusions(rays)[::7].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("far", [[0, 0, 0], [4e6, -3e6, 10]])
def test_meshes_are_loaded_as_on_the_cpu(dtype, index, far):
    vertices, triangles = sphere(32)
    vertices = (np.vstack([vertices, [[np.nan] * 3]]) + far).astype(dtype)
    gpu, cpu = (
        hw.Scene(vertices, triangles.astype(index), device=device, prefer="update")
        for device in ("cuda", "cpu")
    )
    assert gpu.tree.hash == cpu.tree.hash
    np.testing.assert_array_equal(gpu.bounds, cpu.bounds)


@pytest.mark.parametrize("keep", [True, False])
def test_updates_and_facts_about_the_tree(keep):
    vertices, triangles = sphere(32)
    gpu = hw.Scene(vertices, triangles, device="cuda", keep_workspace=keep, prefer="update")
    cpu = hw.Scene(vertices, triangles, device="cpu", prefer="update")
    assert gpu.tree.builder_bytes == 0, "a scene that does not move keeps no memory for builds"
    rays = random_rays(20000, 3)
    for scale in (1.1, 0.8):
        moved = vertices * [scale, 1, 1]
        for scene in (gpu, cpu):
            scene.update(moved)
        assert gpu.tree.hash == cpu.tree.hash
        assert gpu.tree.complete and (gpu.tree.builder_bytes > 0) == keep
        assert_same_hits(gpu.cast_rays(rays), cpu.cast_rays(rays))
    with pytest.raises(hw.SceneError, match="vertices: vertex 600 is not finite"):
        vertices[600] = np.nan
        gpu.update(vertices)
    assert gpu.tree.hash == cpu.tree.hash


def test_an_import_opens_no_gpu():
    code = (
        "import os, heapwood\n"
        "maps = open('/proc/self/maps').read()\n"
        "files = [os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')"
        " if os.path.exists(f'/proc/self/fd/{fd}')]\n"
        "assert 'libcuda.so' not in maps, 'the driver is loaded'\n"
        "assert not [f for f in files if 'nvidia' in f], files\n"
        "heapwood.Scene([[0., 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]], device='cuda')\n"
        "assert 'libcuda.so' in open('/proc/self/maps').read()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# PyTorch


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_torch_arrays(torch, gpu, cpu, dtype):
    rays = rays_of(20000, dtype)
    resident = torch.from_numpy(rays).cuda()
    hits = gpu.cast_rays(resident)
    for array, number in (
        (hits.t_hit, torch.float32), (hits.primitive_ids, torch.int32),
        (hits.primitive_uvs, torch.float32), (hits.primitive_normals, torch.float32),
    ):
        assert array.device == resident.device and array.dtype == number
    assert_same_hits(hits, cpu.cast_rays(rays))
    assert bool((hits.primitive_ids[torch.isinf(hits.t_hit)] == -1).all())
    occluded = gpu.test_occlusions(resident)
    assert occluded.dtype == torch.bool
    assert np.mean(host(occluded) != cpu.test_occlusions(rays)) < 5e-4
    counts = gpu.count_intersections(resident)
    assert np.mean(host(counts) != cpu.count_intersections(rays)) < 5e-4
    lists = gpu.list_intersections(resident)
    assert lists.ray_splits.dtype == torch.int64 and lists.t_hit.is_cuda
    assert torch.equal(torch.diff(lists.ray_splits).int(), counts)
    none = torch.empty((0, 6), device="cuda")
    assert gpu.cast_rays(none).primitive_normals.shape == (0, 3)
    assert gpu.list_intersections(none).ray_splits.tolist() == [0]


@pytest.mark.parametrize("one_origin", [False, True])
def test_torch_origins_and_directions(torch, gpu, cpu, one_origin):
    directions = torch.from_numpy(rays_of(50000)[:, 3:].copy()).cuda()
    origins = torch.from_numpy(rays_of(50000)[:, :3].copy()).cuda()
    if one_origin:
        origins = origins[0].contiguous()
    assert_same_queries(gpu, cpu, origins, directions)


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_points_on_the_gpu(name, request, gpu, cpu):
    xp = request.getfixturevalue(name)
    to = (lambda a: xp.as_tensor(a).cuda()) if name == "torch" else xp.asarray
    points, values = rays_of(5000)[:, :3].copy(), np.arange(3.0 * cpu.vertex_count).reshape(-1, 3)
    closest, expected = gpu.closest_points(to(points)), cpu.closest_points(points)
    np.testing.assert_allclose(host(closest.points), expected.points, atol=1e-6)
    found = host(gpu.interpolate(closest, to(values)))
    np.testing.assert_allclose(found, cpu.interpolate(expected, values), rtol=1e-5)
    hits = gpu.cast_rays(to(rays_of(5000)))
    missed = host(gpu.interpolate(hits, to(values)))[np.isinf(host(hits.t_hit))]
    assert len(missed) > 0 and not missed.any()


def test_many_points_on_a_stream(torch, gpu, cpu):
    source, side = torch.from_numpy(rays_of(300001)[:, :3].copy()).cuda(), torch.cuda.Stream()
    distance = torch.zeros(300001, device="cuda")
    with torch.cuda.stream(side):
        torch.cuda._sleep(DELAY_CYCLES)
        points = source.clone()
    gpu.closest_points(points, out={"distance": distance}, stream=side.cuda_stream)
    np.testing.assert_allclose(host(distance), cpu.closest_points(host(source)).distance, atol=1e-6)


def test_torch_slices_and_shapes_that_broadcast(torch, gpu, cpu):
    resident = torch.from_numpy(rays_of(4000)).cuda()
    assert_same_queries(gpu, cpu, resident[:, :3], resident[:, 3:])
    assert_same_queries(gpu, cpu, resident[::2, :3], resident[0, 3:])
    assert_same_queries(gpu, cpu, resident[:50, None, :3], resident[None, :40, 3:])
    rays = host(resident)
    hits = gpu.cast_rays(resident, t_max=torch.tensor(1.0), t_min=torch.zeros(1).cuda())
    assert_same_hits(hits, cpu.cast_rays(rays, t_max=1.0))


def assert_same_queries(gpu, cpu, origins, directions) -> None:
    for call in ("cast_rays", "test_occlusions", "count_intersections"):
        expected = getattr(cpu, call)(host(origins), host(directions))
        found = getattr(gpu, call)(origins, directions)
        if call == "cast_rays":
            assert_same_hits(found, expected)
        else:
            assert np.mean(host(found) != expected) < 5e-4


def test_torch_origins_directions_and_intervals(torch, gpu, cpu):
    rays = rays_of(6000).reshape(20, 300, 6)
    directions = np.ascontiguousarray(rays[..., 3:])
    origin = np.array([0.5, 0.5, -2], np.float32)
    low = np.linspace(0, 1, 6000, dtype=np.float32).reshape(20, 300)
    high = (low + 1).astype(np.float64)
    expected = cpu.cast_rays(origin, directions, t_min=low, t_max=high)
    hits = gpu.cast_rays(
        *(torch.from_numpy(a).cuda() for a in (origin, directions)),
        t_min=torch.from_numpy(low).cuda(), t_max=torch.from_numpy(high).cuda(),
    )
    assert hits.t_hit.shape == (20, 300) and hits.primitive_uvs.shape == (20, 300, 2)
    assert_same_hits(hits, expected)


def test_a_part_of_a_tensor_that_is_not_aligned(torch, gpu, cpu):
    rays = rays_of(1000)
    memory = torch.empty(6001, device="cuda")
    memory[1:] = torch.from_numpy(rays).cuda().reshape(-1)
    part = memory[1:].reshape(1000, 6)
    assert_same_hits(gpu.cast_rays(part), cpu.cast_rays(rays))


def test_resident_arrays_are_not_copied(torch):
    scene = hw.Scene(*cube(), device="cuda")
    rays = torch.from_numpy(rays_of(1000)).cuda().repeat(8000, 1)  # 192 MB
    out = hw.RayHits(
        t_hit=torch.zeros(len(rays), device="cuda"),
        primitive_uvs=torch.zeros((len(rays), 2), device="cuda"),
    )
    scene.cast_rays(rays[:1000])
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0]
    hits = scene.cast_rays(rays, out=out)
    # A scene keeps the memory of its copies for the next query.
    assert before - torch.cuda.mem_get_info()[0] < 16 << 20
    assert hits.t_hit is out.t_hit and hits.primitive_ids is None
    assert bool(torch.isfinite(out.t_hit).any()) and bool((out.primitive_uvs > 0).any())


def test_torch_out(torch, gpu, cpu):
    rays = rays_of(5000)
    resident = torch.from_numpy(rays).cuda()
    ids = torch.zeros(5000, dtype=torch.int32, device="cuda")
    hits = gpu.cast_rays(resident, out=hw.RayHits(primitive_ids=ids))
    assert hits.primitive_ids is ids
    assert np.mean(host(ids).view(np.uint32) != cpu.cast_rays(rays).primitive_ids) < 5e-4
    # Not aligned to the eight bytes of a pair.
    uvs = torch.zeros(10001, device="cuda")[1:].reshape(5000, 2)
    assert gpu.cast_rays(resident, out=hw.RayHits(primitive_uvs=uvs)).primitive_uvs is uvs
    assert torch.equal(uvs, gpu.cast_rays(resident).primitive_uvs)
    any_hit = torch.zeros(5000, dtype=torch.bool, device="cuda")
    assert gpu.test_occlusions(resident, out=any_hit) is any_hit and bool(any_hit.any())
    counts = torch.zeros(5000, dtype=torch.uint32, device="cuda")
    assert gpu.count_intersections(resident, out=counts) is counts
    assert torch.equal(counts.view(torch.int32) > 0, any_hit)


def test_torch_tensors_in_host_memory(torch, gpu, cpu):
    rays = rays_of(1000)
    out = torch.zeros(1000)
    for scene in (gpu, cpu):
        assert_same_hits(scene.cast_rays(torch.from_numpy(rays)), cpu.cast_rays(rays))
        scene.cast_rays(torch.from_numpy(rays), out=hw.RayHits(t_hit=out))
        np.testing.assert_allclose(out.numpy(), cpu.cast_rays(rays).t_hit, rtol=1e-4)
        out.zero_()


def test_meshes_on_the_gpu(torch):
    vertices, triangles = sphere(32)
    resident = torch.from_numpy(vertices).cuda()
    scene = hw.Scene(resident, torch.from_numpy(triangles).cuda(), prefer="update")
    cpu = hw.Scene(vertices, triangles, device="cpu", prefer="update")
    assert scene.device == "cuda:0" and scene.tree.hash == cpu.tree.hash  # auto takes the GPU
    resident *= 1.25
    scene.update(resident)
    cpu.update(vertices * 1.25)
    assert scene.tree.hash == cpu.tree.hash
    scene.update(resident.float())
    resident[900, 1] = float("inf")
    with pytest.raises(hw.SceneError, match="vertices: vertex 900 is not finite"):
        scene.update(resident)
    broken = torch.from_numpy(triangles).cuda()
    broken[3, 1] = 10**6
    with pytest.raises(hw.SceneError, match="triangle 3 refers to vertex 1000000"):
        hw.Scene(torch.from_numpy(vertices).cuda(), broken)


# Streams. A delay of about 50 ms lets work that is not waited for come too late.

DELAY_CYCLES = 80_000_000


def cast_filled(scene, resident, fill, stream, number, given) -> hw.RayHits:
    """Casts rays that fill() writes on a stream: the library's current one, or given by number."""
    with stream:
        fill()
        if not given:
            return scene.cast_rays(resident)
    return scene.cast_rays(resident, stream=number)


@pytest.mark.parametrize("given", [False, True])
def test_a_query_waits_for_the_stream_of_its_rays(torch, gpu, cpu, given):
    rays = rays_of(20000)
    source = torch.from_numpy(rays).cuda()
    resident = torch.zeros_like(source)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()

    def fill() -> None:
        torch.cuda._sleep(DELAY_CYCLES)
        resident.copy_(source)

    stream = torch.cuda.stream(side)
    hits = cast_filled(gpu, resident, fill, stream, side.cuda_stream, given)
    assert_same_hits(hits, cpu.cast_rays(rays))


def test_a_query_waits_for_readers_of_out(torch, gpu):
    rays = torch.from_numpy(rays_of(20000)).cuda()
    out = torch.full((20000,), 7.0, device="cuda")
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(DELAY_CYCLES)
        before = out.clone()
        gpu.cast_rays(rays, out=hw.RayHits(t_hit=out))
    assert bool((before == 7).all()) and not bool((out == 7).all())


def test_results_are_complete_on_return(torch, gpu, cpu):
    rays = rays_of(200000)
    resident = torch.from_numpy(rays).cuda()
    out = torch.zeros(200000, device="cuda")
    copy = torch.zeros(200000, pin_memory=True)
    torch.cuda.synchronize()
    gpu.cast_rays(resident, out=hw.RayHits(t_hit=out))
    with torch.cuda.stream(torch.cuda.Stream()):  # does not wait for other streams
        copy.copy_(out, non_blocking=True)
        torch.cuda.current_stream().synchronize()
    same = np.isclose(copy.numpy(), cpu.cast_rays(rays).t_hit, rtol=1e-4, atol=1e-5)
    assert same.mean() > 0.9995


def test_an_update_waits_for_its_vertices(torch):
    vertices, triangles = sphere(32)
    scene = hw.Scene(vertices, triangles, device="cuda")
    source = torch.from_numpy(vertices * 2).cuda()
    resident = torch.zeros_like(source)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(DELAY_CYCLES)
        resident.copy_(source)
        scene.update(resident)
    np.testing.assert_allclose(scene.bounds, [[-2, -2, -2], [2, 2, 2]], atol=1e-5)


def test_threads_with_streams_of_their_own(torch, gpu, cpu):
    def work(seed: int) -> None:
        rays = rays_of(5000, seed=seed)
        expected = cpu.cast_rays(rays)
        with torch.cuda.stream(torch.cuda.Stream()):
            resident = torch.from_numpy(rays).cuda()
            for _ in range(20):
                assert_same_hits(gpu.cast_rays(resident), expected)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))  # raises what a thread raised


# Other libraries


def test_cupy_arrays(cupy, gpu, cpu):
    rays = rays_of(20000)
    resident = cupy.asarray(rays)
    hits = gpu.cast_rays(resident)
    assert isinstance(hits.t_hit, cupy.ndarray) and hits.primitive_ids.dtype == np.uint32
    assert_same_hits(hits, cpu.cast_rays(rays))
    out = cupy.zeros(20000, bool)
    assert gpu.test_occlusions(resident, out=out) is out and bool(out.any())
    assert gpu.count_intersections(resident).dtype == np.uint32
    lists = gpu.list_intersections(resident)
    assert lists.ray_splits.dtype == np.int64
    scene = hw.Scene(*map(cupy.asarray, soup(3000)), prefer="update")
    assert scene.tree.hash == cpu.tree.hash


@pytest.mark.parametrize("given", [False, True])
def test_a_query_waits_for_a_stream_of_cupy(cupy, gpu, cpu, given):
    rays = rays_of(20000)
    source, resident = cupy.asarray(rays), cupy.zeros((20000, 6), np.float32)
    delay = cupy.RawKernel(
        'extern "C" __global__ void delay(long long cycles) {'
        " for (long long begin = clock64(); clock64() - begin < cycles;); }",
        "delay",
    )
    delay((1,), (1,), (1000,))
    cupy.cuda.Device().synchronize()
    side = cupy.cuda.Stream(non_blocking=True)

    def fill() -> None:
        delay((1,), (1,), (DELAY_CYCLES,))
        resident[...] = source

    hits = cast_filled(gpu, resident, fill, side, side.ptr, given)
    assert_same_hits(hits, cpu.cast_rays(rays))


def test_jax_arrays(jax, gpu, cpu):
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    rays = rays_of(20000)
    resident = jax.numpy.asarray(rays)
    hits = gpu.cast_rays(resident)
    assert isinstance(hits.t_hit, jax.Array) and hits.t_hit.devices() == resident.devices()
    assert hits.primitive_ids.dtype == np.uint32
    assert_same_hits(hits, cpu.cast_rays(rays))
    assert np.mean(host(gpu.test_occlusions(resident)) != cpu.test_occlusions(rays)) < 5e-4
    np.testing.assert_array_equal(
        host(gpu.list_intersections(resident).ray_splits)[-1],
        host(gpu.count_intersections(resident)).sum(),
    )


class OnlyDlpack:
    def __init__(self, array) -> None:
        self._array, self.shape = array, array.shape

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class OnlyInterface:
    def __init__(self, array) -> None:
        self.__cuda_array_interface__, self._array = array.__cuda_array_interface__, array
        self.shape = array.shape


@pytest.mark.parametrize("wrap", [OnlyDlpack, OnlyInterface])
def test_arrays_of_unknown_libraries(torch, gpu, cpu, wrap):
    rays = rays_of(5000)
    resident = torch.from_numpy(rays).cuda()
    hits = gpu.cast_rays(wrap(resident))
    t_hit = torch.from_dlpack(hits.t_hit)
    assert t_hit.is_cuda
    np.testing.assert_allclose(host(t_hit), cpu.cast_rays(rays).t_hit, rtol=1e-4, atol=1e-5)
    out = torch.zeros(5000, device="cuda")
    gpu.cast_rays(resident, out=hw.RayHits(t_hit=wrap(out)))
    assert torch.equal(out, t_hit)


# Errors


def test_arrays_on_the_wrong_device(torch, gpu, cpu):
    rays = rays_of(100)
    resident = torch.from_numpy(rays).cuda()
    with pytest.raises(hw.DeviceError, match="rays: on cuda:0, but the scene is on cpu"):
        cpu.cast_rays(resident)
    with pytest.raises(hw.DeviceError, match="t_hit: on cpu, but the rays are on cuda:0"):
        gpu.cast_rays(resident, out=hw.RayHits(t_hit=np.zeros(100, np.float32)))
    with pytest.raises(hw.DeviceError, match="out: on cuda:0, but the rays are on cpu"):
        gpu.test_occlusions(rays, out=torch.zeros(100, dtype=torch.bool, device="cuda"))
    with pytest.raises(hw.DeviceError, match="origins: on cpu, but the rays are on cuda:0"):
        gpu.cast_rays(rays[:, :3].copy(), resident[:, 3:].contiguous())
    with pytest.raises(hw.DeviceError, match="vertices: on cuda:0, but the scene is on cpu"):
        hw.Scene(torch.zeros((3, 3), device="cuda"), [[0, 1, 2]], device="cpu")


def test_wrong_tensors(torch, gpu):
    resident = torch.from_numpy(rays_of(100)).cuda()
    with pytest.raises(ValueError, match="rays: not contiguous"):
        gpu.cast_rays(OnlyDlpack(resident[::2]))
    with pytest.raises(TypeError, match="rays: float16: expected float32 or float64"):
        gpu.cast_rays(resident.half())
    with pytest.raises(TypeError, match="t_hit: float64: expected float32"):
        out = torch.zeros(100, dtype=torch.float64, device="cuda")
        gpu.cast_rays(resident, out=hw.RayHits(t_hit=out))


def test_exhausted_memory_of_the_gpu(torch):
    vertices, triangles = sphere(600)  # 1.4 million
    torch.cuda.empty_cache()
    taken = torch.empty(torch.cuda.mem_get_info()[0] - (128 << 20), dtype=torch.uint8,
                        device="cuda")
    with pytest.raises(hw.OutOfMemory, match="cuda:0: "):
        hw.Scene(vertices, triangles, device="cuda")
    del taken
    torch.cuda.empty_cache()
    assert hw.Scene(vertices, triangles, device="cuda").test_occlusions(rays_of(1000)).any()


def test_the_current_gpu_stays_the_same(torch):
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    with torch.cuda.device(1):
        scene = hw.Scene(*cube(), device="cuda:0")
        scene.cast_rays(rays_of(100))
        assert torch.cuda.current_device() == 1
        with pytest.raises(hw.DeviceError, match="rays: on cuda:1, but the scene is on cuda:0"):
            scene.cast_rays(torch.from_numpy(rays_of(100)).cuda())
