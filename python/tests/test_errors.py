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


def test_a_scene_needs_triangles():
    with pytest.raises(hw.SceneError, match="triangles: there are none"):
        hw.Scene(cube()[0], np.empty((0, 3), np.int32), device="cpu")


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
        (np.zeros((4, 6), complex), TypeError, "rays: complex128"),
    ],
)
@pytest.mark.parametrize("query", ["cast_rays", "test_occlusions", "count_intersections"])
def test_shapes_and_types_of_rays(scene, query, rays, error, match):
    with pytest.raises(error, match=match):
        getattr(scene, query)(rays)


def test_origins_and_directions_must_agree(scene):
    along = np.zeros((4, 3))
    with pytest.raises(ValueError, match=r"origins: shape \(5, 3\): expected \(4, 3\)"):
        scene.cast_rays(np.zeros((5, 3)), along)
    with pytest.raises(ValueError, match=r"directions: shape \(4, 6\): expected \(..., 3\)"):
        scene.cast_rays(np.zeros((4, 3)), np.zeros((4, 6)))


def test_ends_of_intervals(scene):
    rays = random_rays(4)
    with pytest.raises(ValueError, match="t_min: -1.0: must be at least 0"):
        scene.cast_rays(rays, t_min=-1.0)
    with pytest.raises(ValueError, match="t_max: not a number"):
        scene.cast_rays(rays, t_max=float("nan"))
    with pytest.raises(ValueError, match=r"t_max: shape \(3,\): expected a number, or \(4,\)"):
        scene.cast_rays(rays, t_max=np.zeros(3))
    with pytest.raises(TypeError, match="t_min: complex128: expected real numbers"):
        scene.cast_rays(rays, t_min=np.zeros(4, complex))


def test_too_many_rays(scene):
    rays = np.broadcast_to(np.zeros(6, np.float32), (2**31, 6))
    with pytest.raises(ValueError, match="rays: 2147483648 rays: at most 2147483647 in one call"):
        scene.test_occlusions(rays, out=np.empty(0, bool))
    with pytest.raises(ValueError, match="at most 2147483647 in one call"):
        scene.list_intersections(rays)


def test_output_arrays(scene):
    rays = random_rays(4)
    with pytest.raises(ValueError, match=r"t_hit: shape \(5,\): expected \(4,\)"):
        scene.cast_rays(rays, out=hw.RayHits(t_hit=np.empty(5, np.float32)))
    with pytest.raises(TypeError, match="t_hit: float64: expected float32"):
        scene.cast_rays(rays, out=hw.RayHits(t_hit=np.empty(4)))
    with pytest.raises(ValueError, match=r"primitive_uvs: shape \(4,\): expected \(4, 2\)"):
        scene.cast_rays(rays, out=hw.RayHits(primitive_uvs=np.empty(4, np.float32)))
    with pytest.raises(ValueError, match="t_hit: not contiguous"):
        scene.cast_rays(rays, out=hw.RayHits(t_hit=np.empty(8, np.float32)[::2]))
    with pytest.raises(TypeError, match="out: uint8: expected bool"):
        scene.test_occlusions(rays, out=np.empty(4, np.uint8))
    with pytest.raises(TypeError, match="out: list: expected an array"):
        scene.count_intersections(rays, out=[0] * 4)

    class Dataset:  # as of h5py: converted by a copy
        shape, dtype = (4,), np.dtype(np.uint32)

        def __array__(self, dtype=None, copy=None) -> np.ndarray:
            return np.zeros(4, np.uint32)

    with pytest.raises(TypeError, match="out: Dataset: expected an array"):
        scene.count_intersections(rays, out=Dataset())
    read_only = np.empty(4, np.float32)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="t_hit: read-only"):
        scene.cast_rays(rays, out=hw.RayHits(t_hit=read_only))


def test_devices():
    with pytest.raises(ValueError, match="device 'gpu': expected auto, cpu or cuda:N"):
        hw.Scene(*cube(), device="gpu")
    with pytest.raises(hw.DeviceError, match="device 'cuda:99'"):
        hw.Scene(*cube(), device="cuda:99")


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


def test_options():
    with pytest.raises(ValueError, match="allocator 'best': expected one of .*heapwood"):
        hw.Scene(*cube(), device="cpu", allocator="best")
    with pytest.raises(ValueError, match="prefer 'speed': expected one of balanced, build, trace"):
        hw.Scene(*cube(), device="cpu", prefer="speed")
    with pytest.raises(ValueError, match="batch_bytes"):
        hw.Scene(*cube(), device="cpu", batch_bytes=0)


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


def test_render_arguments(scene):
    with pytest.raises(ValueError, match="eye and target: give both or none"):
        scene.render(8, 8, eye=(0, 0, 3))
    with pytest.raises(ValueError, match="0 x 8: each side must be 1 to 16384"):
        scene.render(0, 8)
    with pytest.raises(ValueError, match="mode 'pretty': expected one of shaded"):
        scene.render(8, 8, mode="pretty")
    with pytest.raises(ValueError, match="up 'w': expected x, y or z"):
        scene.render(8, 8, up="w")
    for eye in (0, 0), "near", 3:
        with pytest.raises(ValueError, match="eye: .*: expected three finite numbers"):
            scene.render(8, 8, eye=eye, target=(0, 0, 0))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(hw.SceneError, match="nothing.obj"):
        hw.load_mesh(str(tmp_path / "nothing.obj"))
    broken = tmp_path / "broken.ply"
    broken.write_text("ply\nformat ascii 1.0\nelement vertex 1\n")
    with pytest.raises(hw.SceneError, match="broken.ply"):
        hw.load_mesh(str(broken))
