# SPDX-License-Identifier: MIT
"""Scene: a triangle mesh, its k-d tree, and ray queries. docs/python.md describes the arrays."""

from __future__ import annotations

import functools
import math
import numbers
import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from . import _core
from ._arrays import GivenOutput, Imported, Output, Shared, import_array, import_value
from ._arrays import interpolate, shape_of, spread, streams_of, to_array, to_host, to_int32

# The primitive id of a ray without a hit.
INVALID_ID = 0xFFFFFFFF


class _Named:
    """Base of results: arrays as attributes or items; dict(hits) has those that were computed."""

    def keys(self) -> list[str]:
        fields: dict[str, Any] = self.__dataclass_fields__  # type: ignore[attr-defined]
        return [name for name in fields if getattr(self, name) is not None]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __getitem__(self, name: str) -> Any:
        if name not in self.__dataclass_fields__:  # type: ignore[attr-defined]
            raise KeyError(name)
        return getattr(self, name)


@dataclass(frozen=True)
class RayHits(_Named):
    """Closest hits; `hits.t_hit` and `hits["t_hit"]` are the same array.

    As `out=`, an array that is None is not computed.
    """

    t_hit: Any = None  # (...) float32: distance in units of the direction; inf: no hit
    primitive_ids: Any = None  # (...) uint32: the triangle; INVALID_ID: no hit
    primitive_uvs: Any = None  # (..., 2) float32: weights of the second and third corner
    primitive_normals: Any = None  # (..., 3) float32: unit normal by the order of the corners


@dataclass(frozen=True)
class ClosestPoints(_Named):
    """Closest points of a mesh. As `out=`, an array that is None is not computed."""

    distance: Any = None  # (...) float32; inf: no triangle closer than max_distance
    points: Any = None  # (..., 3), of the type of the query's points; NaN: none
    primitive_ids: Any = None  # (...) uint32: the triangle; INVALID_ID: none
    primitive_uvs: Any = None  # (..., 2) float32: weights of the second and third corner
    primitive_normals: Any = None  # (..., 3) float32: unit normal by the order of the corners


@dataclass(frozen=True)
class RayLists(_Named):
    """All hits: those of ray i are entries ray_splits[i] to ray_splits[i + 1]."""

    ray_splits: Any  # (N + 1,) int64
    ray_ids: Any  # (M,) uint32
    t_hit: Any  # (M,) float32, ascending for each ray
    primitive_ids: Any  # (M,) uint32
    primitive_uvs: Any  # (M, 2) float32


@dataclass(frozen=True)
class Tree:
    """Facts about a scene's k-d tree."""

    nodes: int
    leaves: int
    empty_leaves: int
    references: int  # triangles in leaves; one that straddles planes counts several times
    largest_leaf: int  # references
    depth: int
    sah_cost: float  # of a random ray, with 1 per node and 1 per triangle
    hash: int  # of the structure: the same on every GPU, and on any number of CPU threads
    complete: bool  # False: memory was exhausted and some leaves are large
    build_ms: float  # of the last build, without copies
    tree_bytes: int
    record_bytes: int  # triangles as rays read them
    mesh_bytes: int
    builder_bytes: int  # memory that is kept for the next update(), on a GPU after the first

    @property
    def memory_bytes(self) -> int:
        """Bytes of device memory of the whole scene."""
        return self.tree_bytes + self.record_bytes + self.mesh_bytes + self.builder_bytes


# The types and the last axes of results.
_FIELDS: dict[str, tuple[str, tuple[int, ...]]] = {
    "t_hit": ("float32", ()),
    "distance": ("float32", ()),
    "points": ("", (3,)),  # of the type of the query's points
    "primitive_ids": ("uint32", ()),
    "primitive_uvs": ("float32", (2,)),
    "primitive_normals": ("float32", (3,)),
}
_Result = TypeVar("_Result", RayHits, ClosestPoints)
# What a query takes: rays or points, the checked input, and the streams to wait for.
_Given = tuple[Imported, _core.RayInput, list[int]]


class RayCaster:
    """Base of what traces rays: checks arguments, allocates results."""

    _core: _core.Scene

    @property
    def device(self) -> str:
        """ "cpu" or "cuda:N"."""
        return self._core.device

    @property
    def watertight(self) -> bool:
        """Whether cast_rays() and test_occlusions() use the watertight test."""
        return self._core.watertight

    @property
    def _gpu(self) -> int:
        return int(self._core.device.partition(":")[2] or 0)

    def _rays(
        self, rays: Any, directions: Any, stream: int | None, t_min: Any = 0.0,
        t_max: Any = math.inf, cull: str | None = None, masks: Any = None, worlds: Any = None,
    ) -> _Given:
        if directions is None:
            first = import_value("rays", rays, stream, self._gpu, 6)
            second, shape = None, first.shape[:-1]
        else:
            origins = to_array("origins", rays, stream, 3)
            along = to_array("directions", directions, stream, 3)
            origins, along, shape = _spread_rays(origins, along)
            second = import_array("origins", origins, stream, self._gpu)
            first = import_array("directions", along, stream, self._gpu)
        low, all_low = self._each("t_min", t_min, 0.0, shape, stream, 0)
        high, all_high = self._each("t_max", t_max, math.inf, shape, stream)
        world, all_worlds = self._each("worlds", worlds, 0, shape, stream, 0, whole=True)
        bits, all_bits = self._each("masks", masks, -1, shape, stream, whole=True)
        arrays = [second or first, first if second else None, low, high, world, bits]
        for_all = all_low, all_high, min(all_worlds, INVALID_ID), all_bits & 0xFFFFFFFF, _side(cull)
        input_ = _core.RayInput([a.core if a else None for a in arrays], *for_all, False)
        return first, input_, streams_of(*arrays)

    def _points(self, points: Any, max_distance: Any, stream: int | None) -> _Given:
        first = import_value("points", points, stream, self._gpu, 3)
        shape = first.shape[:-1]
        limit, for_all = self._each("max_distance", max_distance, math.inf, shape, stream, 0)
        arrays = [first.core, None, None, limit.core if limit else None]
        input_ = _core.RayInput(arrays, 0.0, for_all, 0, 0, 0, True)
        return first, input_, streams_of(first, limit)

    def _run(
        self, query: Any, kind: type[_Result], given: _Given, out: Any, stream: int | None
    ) -> _Result:
        """Results of `kind`, in new arrays or in those of the caller's `out`."""
        first, input_, streams = given
        fields = list(kind.__dataclass_fields__)
        if isinstance(out, Mapping):
            unknown = [name for name in out if name not in fields]
            if unknown:
                raise ValueError(f"out: '{unknown[0]}': expected {', '.join(fields)}")
            out = kind(**out)
        elif not (out is None or isinstance(out, kind)):
            raise TypeError(f"out: {type(out).__name__}: expected {kind.__name__} or a dict")
        outputs: list[Output | None] = []
        for name in fields:
            dtype, more = _FIELDS[name]
            given_output = None if out is None else getattr(out, name)
            if out is None:
                number = dtype or ("float64" if input_.is_double else "float32")
                outputs.append(Output(first, input_.shape + more, number))
            elif given_output is None:
                outputs.append(None)
            else:
                outputs.append(GivenOutput(name, given_output, stream, self._gpu))
        query(input_, streams + streams_of(*outputs), [o.core if o else None for o in outputs])
        return kind(*(o.finish() if o else None for o in outputs))

    def _run_one(
        self, query: Any, dtype: str, given: _Given, out: Any, stream: int | None, *more: Any
    ) -> Any:
        """The one array of results, new or the caller's `out`."""
        first, input_, streams = given
        if out is None:
            output = Output(first, input_.shape, dtype)
        else:
            output = GivenOutput("out", out, stream, self._gpu)
        query(input_, streams + streams_of(output), output.core, *more)
        return output.finish()

    def _each(
        self, name: str, value: Any, default: Any, shape: tuple[int, ...], stream: int | None,
        lowest: float = -math.inf, *, whole: bool = False,
    ) -> tuple[Imported | None, Any]:
        """An array with a number per ray, or None; and one for all rays."""
        if value is None:
            return None, default
        if isinstance(value, numbers.Real) or getattr(value, "shape", None) == ():
            number = _whole(name, value, lowest) if whole else _number(name, value)
            if math.isnan(number):
                raise ValueError(f"{name}: not a number")
            if number < lowest:
                raise ValueError(f"{name}: {number}: must be at least {lowest}")
            return None, number
        array = to_array(name, value, stream, whole=whole)
        if whole and (stream is None or isinstance(array, np.ndarray)):
            array = to_int32(array)
        if _common_shape(shape_of(array), shape) == shape:
            array = spread(name, array, shape)
        return import_array(name, array, stream, self._gpu), 0


class Scene(RayCaster):
    """A triangle mesh with a k-d tree on one device."""

    def __init__(
        self, vertices: Any, triangles: Any, *, device: Any = "auto", threads: int = 0,
        watertight: bool = False, allocator: str = "heapwood", prefer: str = "balanced",
        batch_bytes: int = 256 << 20, keep_workspace: bool = True, masks: Any = None,
        stream: int | None = None,
    ) -> None:
        """Copies the mesh and builds the tree.

        vertices: (V, 3) numbers, any unit. triangles: (T, 3) whole numbers: indices of vertices.
        device: "auto" or None (the vertices' GPU, else the first usable one, else the CPU), "cpu",
        "cuda", "cuda:1", or a torch.device. threads: of the CPU; 0: one per hardware thread.
        watertight: an intersection test that lets no ray through an edge; slower.
        allocator, prefer: of the build, as on the command line.
        batch_bytes: limit of the memory for copies of rays and results during one query.
        keep_workspace: whether a GPU's memory for builds is kept from the first update() on. If
        not, an update takes longer and its tree is traced faster, like the first one.
        masks: (T,) whole numbers of 32 bits: rays hit a triangle if its mask has a bit of theirs.
        stream: a CUDA stream, as a number, that has produced the arrays; None: as their library
        says.

        Raises SceneError for vertices that are not finite, indices out of range and a mesh without
        triangles; DeviceError; OutOfMemory; ValueError and TypeError for other shapes and types.
        """
        options: dict[str, Any] = {
            "device": "auto" if device is None else str(device),
            "threads": _whole("threads", threads, 0),
            "watertight": bool(watertight),
            "allocator": str(allocator),
            "prefer": str(prefer),
            "batch_bytes": _whole("batch_bytes", batch_bytes, 1),
            "keep_workspace": bool(keep_workspace),
        }
        self._options = options
        self._corners: Shared | None = None
        number = options["device"].removeprefix("cuda:")
        gpu = int(number) if number.isdigit() else 0
        corners = import_value("vertices", vertices, stream, gpu, 3)
        indices = import_value("triangles", triangles, stream, gpu, 3, whole=True)
        options["masks"] = mask_bits(masks, indices.shape[:1], "triangle")
        bits = np.empty(0, np.uint32) if options["masks"] is None else options["masks"]
        streams, arguments = streams_of(corners, indices), [*options.values()][:-1]
        self._core = _core.Scene(corners.core, indices.core, *arguments, streams, self._poses(),
                                 bits)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles mesh and options; a copy or an unpickled scene builds its own tree."""
        return functools.partial(Scene, **self._options), self._core.mesh()

    @property
    def vertex_count(self) -> int:
        return self._core.vertices

    @property
    def triangle_count(self) -> int:
        return self._core.triangles

    @property
    def vertices(self) -> np.ndarray:
        """(V, 3) float64: where the vertices are, as far as single precision tells."""
        return self._core.mesh()[0]

    @property
    def triangles(self) -> np.ndarray:
        """(T, 3) uint32: the vertices of each triangle."""
        return self._shared_triangles.array.astype(np.uint32)

    @property
    def _shared_triangles(self) -> Shared:
        if self._corners is None:
            self._corners = Shared(self._core.mesh()[1])  # they never change
        return self._corners

    @property
    def bounds(self) -> np.ndarray:
        """(2, 3) float64: the lowest and highest coordinates."""
        return np.array(self._core.bounds)

    @property
    def tree(self) -> Tree:
        """Facts about the tree; computed once per build, in time proportional to the tree."""
        return Tree(*self._core.stats())

    def update(self, vertices: Any, *, stream: int | None = None) -> None:
        """Replaces all vertices and builds a new tree.

        vertices: as many as before, with the same triangles. Waits for queries of other threads.
        If a vertex is not finite (SceneError) the scene stays as it is.
        """
        corners = import_value("vertices", vertices, stream, self._gpu, 3)
        self._core.update(corners.core, streams_of(corners), self._poses())

    def cast_rays(
        self, rays: Any, directions: Any = None, *, t_min: Any = 0.0, t_max: Any = math.inf,
        cull: str | None = None, masks: Any = None,
        out: RayHits | Mapping[str, Any] | None = None, stream: int | None = None,
    ) -> RayHits:
        """Finds the closest hit of each ray.

        rays: (..., 6) numbers: origin and direction. Or origins and directions, (..., 3) each, of
        shapes that broadcast; directions need not have unit length.
        t_min, t_max: a number, or an array with one per ray, which broadcasts: hits with
        t_min <= t < t_max count. None: no limit.
        cull: "back" or "front": triangles seen from that side are not hit. The front is the side
        from which the corners are counter-clockwise.
        masks: a whole number of 32 bits, or an array with one per ray, which broadcasts: triangles
        whose mask has a bit of the ray's are hit. None: all bits, as for triangles.
        out: arrays for the results, contiguous, of the right types. Those that are None or absent
        are not computed.
        stream: a CUDA stream, as a number, that has produced the arrays; None: as their library
        says. Results are complete on return.

        A ray with a number that is not finite, without a direction, or with an empty interval has
        no hit.
        """
        given = self._rays(rays, directions, stream, t_min, t_max, cull, masks)
        return self._run(self._core.cast, RayHits, given, out, stream)

    def test_occlusions(
        self, rays: Any, directions: Any = None, *, t_min: Any = 0.0, t_max: Any = math.inf,
        cull: str | None = None, masks: Any = None, out: Any = None, stream: int | None = None,
    ) -> Any:
        """Whether each ray hits anything: (...) bool. Arguments as of cast_rays()."""
        given = self._rays(rays, directions, stream, t_min, t_max, cull, masks)
        return self._run_one(self._core.find_any, "bool", given, out, stream)

    def count_intersections(
        self, rays: Any, directions: Any = None, *, t_min: Any = 0.0, t_max: Any = math.inf,
        unique: bool = False, out: Any = None, stream: int | None = None,
    ) -> Any:
        """The number of triangles that each ray hits: (...) uint32. Arguments as of cast_rays().

        Always with the watertight test. A ray through an edge or a corner hits each triangle there.
        unique: hits at one distance, within a millionth of the scene's size, count once.
        """
        given = self._rays(rays, directions, stream, t_min, t_max)
        return self._run_one(self._core.count, "uint32", given, out, stream, bool(unique))

    def list_intersections(
        self, rays: Any, directions: Any = None, *, t_min: Any = 0.0, t_max: Any = math.inf,
        unique: bool = False, stream: int | None = None,
    ) -> RayLists:
        """All hits of each ray, by distance. Arguments as of cast_rays().

        The hits that count_intersections() counts. Rays are numbered in the order of their
        array, whatever its shape.
        """
        first, input_, streams = self._rays(rays, directions, stream, t_min, t_max)
        outputs: list[Output] = []

        def allocate(entries: int) -> list[Any]:
            outputs.append(Output(first, (input_.count + 1,), "int64"))
            for dtype, more in ("uint32", ()), ("float32", ()), ("uint32", ()), ("float32", (2,)):
                outputs.append(Output(first, (entries, *more), dtype))
            return [output.core for output in outputs]

        # Earlier work on the outputs' stream may still use the memory that allocate() returns.
        streams += streams_of(Output(first, (0,), "int64"))
        self._core.list(input_, streams, bool(unique), allocate)
        return RayLists(*(output.finish() for output in outputs))

    def closest_points(
        self, points: Any, *, max_distance: Any = math.inf,
        out: ClosestPoints | Mapping[str, Any] | None = None, stream: int | None = None,
    ) -> ClosestPoints:
        """Finds the closest point of the mesh to each point, in double precision.

        points: (..., 3) numbers. max_distance: a number, or one per point: only triangles closer
        than that are found, which is faster. out, stream: as of cast_rays().
        Triangles without area count. A point that is not finite has no closest point.
        """
        given = self._points(points, max_distance, stream)
        return self._run(self._core.closest, ClosestPoints, given, out, stream)

    def signed_distance(
        self, points: Any, *, max_distance: Any = math.inf, out: Any = None,
        stream: int | None = None,
    ) -> Any:
        """The distance of each point from the mesh, negative inside (see contains()): (...)
        float32. Arguments as of closest_points()."""
        given = self._points(points, max_distance, stream)
        return self._run_one(self._core.signed_distance, "float32", given, out, stream)

    def contains(self, points: Any, *, out: Any = None, stream: int | None = None) -> Any:
        """Whether each point is inside the mesh, which should be closed: (...) bool.

        Inside, two opposite rays hit an odd number of triangles. If they disagree, at an edge or a
        hole, two more pairs are tried; then the point is outside.
        """
        given = self._points(points, None, stream)
        return self._run_one(self._core.contains, "bool", given, out, stream)

    def interpolate(self, hits: RayHits | RayLists | ClosestPoints, values: Any) -> Any:
        """Values of all vertices, (V, ...), at the points of a query's results; 0 where there is no
        triangle. The vertices themselves give the points of hits."""
        ids, uvs = hits.primitive_ids, hits.primitive_uvs
        if ids is None or uvs is None:
            raise ValueError("hits: expected primitive_ids and primitive_uvs")
        if not hasattr(values, "shape"):
            values = np.asarray(values)
        shape, count = tuple(values.shape), self.vertex_count
        if shape[:1] != (count,):
            raise ValueError(f"values: shape {shape}: expected ({count}, ...)")
        return interpolate(values, self._shared_triangles, ids, uvs)

    def render(
        self, width: int = 640, height: int = 480, *, eye: Sequence[float] | None = None,
        target: Sequence[float] | None = None, up: str = "y", fov: float = 40.0,
        mode: str = "shaded", spp: int = 16, seed: int = 1,
    ) -> np.ndarray:
        """A picture: (height, width, 3) uint8, sRGB, rows from the top.

        eye, target: the camera, both or none; without them it is chosen. up: "x", "y" or "z".
        fov: vertical, degrees. mode: shaded, path, ao, normals, depth, heatmap, leaves, albedo.
        spp: samples per pixel. Copies the scene first.
        """
        if (eye is None) != (target is None):
            raise ValueError("eye and target: give both or none")
        width, height = _whole("width", width, 0), _whole("height", height, 0)
        if not (1 <= width <= 16384 and 1 <= height <= 16384):
            raise ValueError(f"{width} x {height}: each side must be 1 to 16384 pixels")
        view = None
        if eye is not None and target is not None:
            view = (_three("eye", eye), _three("target", target))
        picture = np.zeros((height, width, 3), np.uint8)
        spp, seed = _whole("spp", spp, 0), _whole("seed", seed, 0)
        self._core.render(picture, str(mode), view, str(up), _number("fov", fov), spp, seed)
        return picture

    def _poses(self) -> np.ndarray:
        """How the extension module places the vertices (MeshScene)."""
        return np.empty(0)


def load_mesh(source: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray]:
    """Reads an OBJ, PLY or glTF file, or makes a procedural scene such as "atrium:10k".

    Returns vertices, (V, 3) float64 in the file's coordinates, and triangles, (T, 3) uint32.
    """
    return _core.load_mesh(os.fsdecode(source))


def _common_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


def _spread_rays(origins: Any, along: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """Returns origins and directions of one shape, or one as a single row; and the rays' shape."""
    first, second = shape_of(origins), shape_of(along)
    if first in (second, (3,)):
        return origins, along, second[:-1]
    if second == (3,):
        return origins, along, first[:-1]
    shape = _common_shape(first[:-1], second[:-1])
    if shape is None or first[-1:] != (3,) or second[-1:] != (3,):
        return origins, along, second[:-1]  # the extension module says what is wrong
    return spread("origins", origins, (*shape, 3)), spread("directions", along, (*shape, 3)), shape


def _whole(name: str, value: Any, lowest: float) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: {value!r}: expected a whole number") from None
    if number < lowest:
        raise ValueError(f"{name}: {number}: must be at least {lowest}")
    return number


def mask_bits(masks: Any, shape: tuple[int, ...], each: str) -> np.ndarray | None:
    """A copy of masks as uint32, in host memory."""
    if masks is None:
        return None
    bits = to_host(to_array("masks", masks, None, whole=True))
    if bits.shape != shape:
        raise ValueError(f"masks: shape {bits.shape}: expected {shape}, one per {each}")
    return bits.astype(np.uint32)


def _side(cull: str | None) -> int:
    if cull not in (None, "back", "front"):
        raise ValueError(f"cull: {cull!r}: expected 'back', 'front' or None")
    return {"back": 1, "front": -1}.get(cull or "", 0)


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: {value!r}: expected a number") from None


def _three(name: str, numbers: Sequence[float]) -> tuple[float, float, float]:
    try:
        values = [float(x) for x in numbers]
    except (TypeError, ValueError):
        values = []
    if len(values) != 3 or not all(math.isfinite(x) for x in values):
        raise ValueError(f"{name}: {numbers}: expected three finite numbers")
    return values[0], values[1], values[2]
