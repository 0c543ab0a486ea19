# SPDX-License-Identifier: MIT
"""Wrong arguments raise exceptions that name the argument and what is expected."""

import subprocess
import sys

import numpy as np
import pytest
from meshes import cube, random_rays

import heapwood as hw


@pytest.fixture(scope="module")
def scene() -> hw.Scene:
    return hw.Scene(*cube(), device="cpu")


def test_exceptions_are_also_those_of_python():
    assert issubclass(hw.SceneError, (hw.Error, ValueError))
    assert issubclass(hw.SceneError, ValueError)
    assert issubclass(hw.DeviceError, hw.Error) and issubclass(hw.DeviceError, RuntimeError)
    assert issubclass(hw.OutOfMemory, hw.Error) and issubclass(hw.OutOfMemory, MemoryError)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_vertices_must_be_finite(dtype, value):
    vertices, triangles = cube()
    vertices[5, 1] = value
    with pytest.raises(hw.SceneError, match=r"vertices: vertex 5 is not finite .*\("):
        hw.Scene(vertices.astype(dtype), triangles, device="cpu")


def test_vertices_without_triangles_may_have_any_coordinates():
    vertices, triangles = cube()
    more = np.concatenate([vertices, [[np.nan, 0, 0], [0, 1e300, 0], [0, 0, np.inf]]])
    for dtype in np.float64, np.float32:
        with np.errstate(over="ignore"):
            given = more.astype(dtype)
        scene = hw.Scene(given, triangles, device="cpu")
        np.testing.assert_array_equal(scene.bounds, [[-0.5] * 3, [0.5] * 3])
        scene.update(given)
        assert scene.cast_rays([0.1, 0.2, -2, 0, 0, 1.0]).t_hit == pytest.approx(1.5)
    more[3, 1] = np.nan
    with pytest.raises(hw.SceneError, match="vertices: vertex 3 is not finite"):
        hw.Scene(more, triangles, device="cpu")


def test_vertices_must_be_in_single_precision():
    vertices, triangles = cube()
    vertices[2, 0] = 1e60
    with pytest.raises(hw.SceneError, match="vertices: vertex 2 is not finite in single"):
        hw.Scene(vertices, triangles, device="cpu")


@pytest.mark.parametrize("index, dtype", [(-1, np.int32), (8, np.int64), (2**40, np.int64)])
def test_indices_must_be_in_range(index, dtype):
    vertices, triangles = cube()
    triangles = triangles.astype(dtype)
    triangles[3, 2] = index
    with pytest.raises(hw.SceneError, match=f"triangle 3 refers to vertex {index}, but .* 8"):
        hw.Scene(vertices, triangles, device="cpu")


@pytest.mark.parametrize(
    "vertices, triangles, error, match",
    [
        (np.zeros((8, 2)), cube()[1], ValueError, r"vertices: shape \(8, 2\): expected \(V, 3\)"),
        (np.zeros(24), cube()[1], ValueError, r"vertices: shape \(24,\): expected"),
        (cube()[0], np.zeros((4, 4), np.int32), ValueError, r"triangles: shape \(4, 4\)"),
        (cube()[0], cube()[1].astype(float), TypeError, "triangles: float64: expected whole"),
        (cube()[0].astype(complex), cube()[1], TypeError, "vertices: complex128: expected real"),
        (cube()[0].astype(str), cube()[1], TypeError, "vertices: <U.*: expected real numbers"),
    ],
)
def test_shapes_and_types_of_meshes(vertices, triangles, error, match):
    with pytest.raises(error, match=match):
        hw.Scene(vertices, triangles, device="cpu")


@pytest.mark.parametrize(
    "rays, error, match",
    [
        (np.zeros((4, 5)), ValueError, r"rays: shape \(4, 5\): expected \(..., 6\)"),
        (np.zeros(()), ValueError, r"rays: shape \(\): expected"),
    ],
)
@pytest.mark.parametrize("query", ["cast_rays", "test_occlusions", "count_intersections"])
def test_shapes_and_types_of_rays(scene, query, rays, error, match):
    with pytest.raises(error, match=match):
        getattr(scene, query)(rays)


class Dataset:  # as of h5py: converted by a copy
    shape, dtype = (4,), np.dtype(np.uint32)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.zeros(4, np.uint32)


RAYS = random_rays(4)
FLOATS, READ_ONLY = np.empty(8, np.float32), np.empty(4, np.float32)
READ_ONLY.flags.writeable = False


def into(**arrays):
    return lambda scene: scene.cast_rays(RAYS, out=hw.RayHits(**arrays))


def cast(*arrays, **ends):
    return lambda scene: scene.cast_rays(*(arrays or (RAYS,)), **ends)


def render(*size, **options):
    return lambda scene: scene.render(*(size or (8, 8)), **options)


def made(**options):
    return lambda scene: hw.Scene(*cube(), **{"device": "cpu", **options})


@pytest.mark.parametrize(
    "call, error, match",
    [
        (cast(t_min=-1.0), ValueError, "t_min: -1.0: must be at least 0"),
        (cast(t_max=float("nan")), ValueError, "t_max: not a number"),
        (cast(t_max=np.zeros(3)), ValueError, r"t_max: shape \(3,\): expected a number, or"),
        (cast(t_min=np.zeros(4, complex)), TypeError, "t_min: complex128: expected real numbers"),
        (cast(np.zeros((5, 3)), RAYS[:, :3]), ValueError, r"origins: shape \(5, 3\): expected \(4"),
        (cast(RAYS[:, :3], RAYS), ValueError, r"directions: shape \(4, 6\): expected \(..., 3\)"),
        (into(t_hit=FLOATS[:5]), ValueError, r"t_hit: shape \(5,\): expected \(4,\)"),
        (into(t_hit=np.empty(4)), TypeError, "t_hit: float64: expected float32"),
        (into(primitive_uvs=FLOATS[:4]), ValueError, r"uvs: shape \(4,\): expected \(4, 2\)"),
        (into(t_hit=FLOATS[::2]), ValueError, "t_hit: not contiguous"),
        (into(t_hit=READ_ONLY), ValueError, "t_hit: read-only"),
        (lambda s: s.test_occlusions(RAYS, out=FLOATS[:4]), TypeError, "out: float32: expected"),
        (lambda s: s.count_intersections(RAYS, out=[0] * 4), TypeError, "out: list: expected an"),
        (lambda s: s.count_intersections(RAYS, out=Dataset()), TypeError, "out: Dataset: expected"),
        (made(device="gpu"), ValueError, "device 'gpu': expected auto, cpu, cuda or cuda:N"),
        (made(device="cuda:99"), hw.DeviceError, "device 'cuda:99'"),
        (made(allocator="best"), ValueError, "allocator 'best': expected one of .*heapwood"),
        (made(prefer="speed"), ValueError, "'speed': expected one of balanced, build, trace,"),
        (made(batch_bytes=0), ValueError, "batch_bytes"),
        (render(eye=(0, 0, 3)), ValueError, "eye and target: give both or none"),
        (render(0, 8), ValueError, "0 x 8: each side must be 1 to 16384"),
        (render(mode="pretty"), ValueError, "mode 'pretty': expected one of shaded"),
        (render(up="w"), ValueError, "up 'w': expected x, y or z"),
        *(
            (render(eye=eye, target=(0, 0, 0)), ValueError, "eye: .*: expected three finite")
            for eye in ((0, 0), "near", 3)
        ),
    ],
)
def test_arguments_are_refused_by_name(scene, call, error, match):
    with pytest.raises(error, match=match):
        call(scene)


def test_too_many_rays(scene):
    rays = np.broadcast_to(np.zeros(6, np.float32), (2**31, 6))
    with pytest.raises(ValueError, match="rays: 2147483648 rays: at most 2147483647 in one call"):
        scene.test_occlusions(rays, out=np.empty(0, bool))
    with pytest.raises(ValueError, match="at most 2147483647 in one call"):
        scene.list_intersections(rays)


class OnGpu:
    """An array that says it is on a GPU."""

    shape = (4, 6)

    def __init__(self, gpu: int = 0) -> None:
        self.__cuda_array_interface__ = {
            "shape": self.shape,
            "typestr": "<f4",
            "data": (4096, False),
            "strides": None,
            "version": 3,
        }


def test_arrays_on_another_device(scene):
    with pytest.raises(hw.DeviceError, match="rays: on cuda:0, but the scene is on cpu"):
        scene.test_occlusions(OnGpu(), out=np.empty(4, bool))
    with pytest.raises(hw.DeviceError, match="t_max: on cuda:0, but the rays are on cpu"):
        on_gpu = OnGpu()
        on_gpu.__cuda_array_interface__["shape"] = (4,)
        scene.test_occlusions(random_rays(4), t_max=on_gpu)
    strided = OnGpu()
    strided.__cuda_array_interface__["strides"] = (48, 8)
    with pytest.raises(ValueError, match="rays: not contiguous"):
        scene.test_occlusions(strided, out=np.empty(4, bool))


def test_exhausted_memory():
    code = """
import resource
import numpy as np
import heapwood as hw

vertices = np.random.default_rng(1).random((600000, 3))
triangles = np.arange(600000, dtype=np.int32).reshape(-1, 3)
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (32 << 20),) * 2)
try:
    hw.Scene(vertices, triangles, device="cpu", threads=1)
except hw.OutOfMemory as error:
    assert "--pool" not in str(error)
    print("out of memory:", error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("out of memory: cpu: ")


def test_update_rejects_what_a_scene_rejects(scene):
    vertices, triangles = cube()
    moving = hw.Scene(vertices, triangles, device="cpu")
    rays = random_rays(500)
    before = moving.cast_rays(rays).t_hit
    with pytest.raises(ValueError, match="vertices: 7: expected 8, as many as the scene has"):
        moving.update(vertices[:7])
    vertices[6, 0] = np.nan
    with pytest.raises(hw.SceneError, match="vertices: vertex 6 is not finite"):
        moving.update(vertices)
    np.testing.assert_array_equal(moving.cast_rays(rays).t_hit, before)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(hw.SceneError, match="nothing.obj"):
        hw.load_mesh(str(tmp_path / "nothing.obj"))
    broken = tmp_path / "broken.ply"
    broken.write_text("ply\nformat ascii 1.0\nelement vertex 1\n")
    with pytest.raises(hw.SceneError, match="broken.ply"):
        hw.load_mesh(str(broken))
