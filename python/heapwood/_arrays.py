# SPDX-License-Identifier: MIT
"""Arrays of NumPy and of GPU libraries, on their way into the extension module and out of it.

Host memory is NumPy's. An array on a GPU comes by DLPack or by `__cuda_array_interface__` and is
used where it is; results for it are arrays of the same library.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core

_HOST_DEVICES = (1, 3)  # of DLPack: CPU, and page-locked memory
_READ = (np.dtype(np.float32), np.dtype(np.float64))
_LEGACY_DEFAULT_STREAM, _NO_SYNCHRONIZATION = 1, -1  # of DLPack, for CUDA


@dataclass
class Imported:
    """An array in a form that the extension module accepts."""

    core: Any  # a NumPy array, a DLPack capsule, or an object with __dlpack__
    source: Any  # the caller's array
    shape: tuple[int, ...]
    gpu: int | None  # None: host memory
    stream: int | None  # to wait for


def to_array(
    name: str, value: Any, stream: int | None, columns: int = 0, *, whole: bool = False
) -> Any:
    """The caller's value as an array that the extension module can read.

    Host memory becomes a NumPy array, contiguous, of float32 or float64, or of whole numbers with
    `whole`; it is a copy only where it has to be. `columns` is the last axis of an empty list. An
    array on a GPU is returned as it is, or as a contiguous copy by its library, which knows no
    `stream` of the caller.
    """
    if type(value) is np.ndarray and value.dtype in _READ and value.flags.c_contiguous:
        if not whole and value.size > 0:
            return value  # the usual case, without further checks
    if _on_gpu(value):
        return _contiguous_on_gpu(value) if stream is None else value
    try:
        if hasattr(value, "__dlpack_device__") and not isinstance(value, np.ndarray):
            array = np.from_dlpack(value)
        else:
            array = np.asarray(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(f"{name}: not an array of numbers: {error}") from error
    if array.size == 0:
        array = array.astype(np.int32 if whole else np.float64)
        if array.ndim == 1 and columns:
            array = array.reshape(0, columns)
    kinds = "iu" if whole else "iuf"
    if array.dtype.kind not in kinds:
        expected = "whole numbers" if whole else "real numbers"
        raise TypeError(f"{name}: {array.dtype}: expected {expected}")
    if whole and array.dtype.itemsize < 4:
        array = array.astype(np.int32)
    elif not whole and array.dtype not in _READ:
        array = array.astype(np.float64)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    # The extension module refuses more rays than this.
    too_many = columns and array.size // columns >= 1 << 31
    return array if too_many else np.asarray(array, order="C")


def shape_of(array: Any) -> tuple[int, ...]:
    if hasattr(array, "shape"):
        return tuple(array.shape)
    return tuple(array.__cuda_array_interface__["shape"])


def spread(name: str, array: Any, shape: tuple[int, ...]) -> Any:
    """The array broadcast to `shape`, to which it can be broadcast."""
    if shape_of(array) == shape:
        return array
    if isinstance(array, np.ndarray):
        return np.ascontiguousarray(np.broadcast_to(array, shape))
    xp, _ = library_of(array)
    if not hasattr(xp, "broadcast_to"):
        raise ValueError(f"{name}: shape {shape_of(array)}: expected {shape}")
    return _contiguous_on_gpu(xp.broadcast_to(array, shape))


def import_array(name: str, array: Any, stream: int | None, gpu_hint: int = 0) -> Imported:
    """`array`: of to_array(), or for results. `stream`: where the caller has produced it; None: the
    library says."""
    if isinstance(array, np.ndarray):
        return Imported(array, array, array.shape, None, None)
    if _library(array) == "torch" and array.is_cuda and not array.requires_grad:
        return _import_torch(array, stream)
    if hasattr(array, "__dlpack_device__"):
        kind, index = array.__dlpack_device__()
        if int(kind) in _HOST_DEVICES:
            host = np.from_dlpack(array)
            return Imported(host, host, host.shape, None, None)
        wanted = _LEGACY_DEFAULT_STREAM if stream is None else _NO_SYNCHRONIZATION
        capsule = array.__dlpack__(stream=wanted)
        return Imported(capsule, array, tuple(array.shape), int(index), stream)
    return _import_interface(name, array, stream, gpu_hint)


def import_value(
    name: str, value: Any, stream: int | None, gpu: int, columns: int, *, whole: bool = False
) -> Imported:
    return import_array(name, to_array(name, value, stream, columns, whole=whole), stream, gpu)


def _on_gpu(value: Any) -> bool:
    if isinstance(value, (np.ndarray, list, tuple)):
        return False
    if _library(value) == "torch":
        return bool(value.is_cuda)
    if hasattr(value, "__dlpack_device__"):
        return int(value.__dlpack_device__()[0]) not in _HOST_DEVICES
    return hasattr(value, "__cuda_array_interface__")


def _contiguous_on_gpu(array: Any) -> Any:
    library = _library(array)
    if library == "torch":
        return array.contiguous()
    if library == "cupy":
        return importlib.import_module("cupy").ascontiguousarray(array)
    return array


def _import_torch(array: Any, stream: int | None) -> Imported:
    """As by `__dlpack__`, in a tenth of the time; the query waits for the stream."""
    torch = sys.modules["torch"]
    index = array.get_device()
    if stream is None:
        # What Triton calls; the public function takes 5 us longer.
        current = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        stream = current(index) if current else torch.cuda.current_stream(index).cuda_stream
    return Imported(torch.utils.dlpack.to_dlpack(array), array, array.shape, index, stream)


def _import_interface(name: str, array: Any, stream: int | None, gpu: int) -> Imported:
    facts = array.__cuda_array_interface__
    dtype, shape = np.dtype(facts["typestr"]), tuple(facts["shape"])
    strides = facts.get("strides")
    step = dtype.itemsize
    for extent, stride in zip(reversed(shape), reversed(strides or ())):
        if extent > 1 and stride != step:
            raise ValueError(f"{name}: not contiguous in C order; pass a contiguous copy")
        step *= extent
    core = _core.wrap_gpu_array(facts["data"][0], list(shape), dtype.name, gpu, array)
    return Imported(core, array, shape, gpu, stream if stream is not None else facts.get("stream"))


class Shared:
    """Whole numbers that never change, as int64, with copies for libraries and devices."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array.astype(np.int64)
        self._copies: dict[Any, Any] = {}

    def like(self, array: Any) -> Any:
        """The numbers in an array's library, on its device."""
        xp, device = library_of(array)
        # Other libraries copy nothing, or might keep an array of a function that is traced (JAX).
        if _library(array) not in ("torch", "cupy"):
            return xp.asarray(self.array)
        key = _library(array), str(array.device)
        if key not in self._copies:
            self._copies[key] = xp.asarray(self.array, **device)
        return self._copies[key]


def interpolate(values: Any, triangles: Shared, ids: Any, uvs: Any) -> Any:
    """The values of vertices at points of triangles; 0 for invalid ids."""
    xp, device = library_of(ids)
    values = xp.asarray(values, **device)
    found = (ids >= 0) & (ids < len(triangles.array))  # torch has int32
    corners = triangles.like(ids)[xp.where(found, ids, 0)]
    shape = (*ids.shape, *(1,) * (len(values.shape) - 1))
    u, v, first = (w.reshape(shape) for w in (uvs[..., 0], uvs[..., 1], xp.where(found, 1, 0)))
    a, b, c = (values[corners[..., k]] for k in range(3))
    return (first - u - v) * a + u * b + v * c


def library_of(array: Any) -> tuple[Any, dict[str, Any]]:
    """The module with the functions of an array's library, and their argument for its device."""
    library = _library(array)
    xp = importlib.import_module({"jaxlib": "jax.numpy"}.get(library, library))
    return xp, {"device": array.device} if library == "torch" else {}


def to_int32(array: Any) -> Any:
    """Whole numbers as arrays of 32 bits, for libraries that convert them."""
    xp, _ = library_of(array)
    is_converted = hasattr(xp, "asarray") and "int32" not in str(array.dtype)
    return xp.asarray(array, dtype=xp.int32) if is_converted else array


def to_host(array: Any) -> np.ndarray:
    for name in ("get", "cpu"):  # CuPy, PyTorch
        if hasattr(array, name):
            array = getattr(array, name)()
    return np.asarray(array)


def streams_of(*arrays: Imported | Output | None) -> list[int]:
    """What a query waits for. The default stream, 0, is that of queries."""
    return sorted({array.stream for array in arrays if array is not None and array.stream})


def _library(array: Any) -> str:
    return type(array).__module__.partition(".")[0]


class Output:
    """An array for results: `core` for the extension module, then `finish()` for the caller."""

    stream: int | None = None  # to wait for

    def __init__(self, like: Imported, shape: tuple[int, ...], dtype: str) -> None:
        self._convert: Any = None
        if like.gpu is None:
            self._result = np.empty(shape, dtype)
            self.core: Any = self._result
            return
        library = _library(like.source)
        if library == "torch":
            torch = importlib.import_module("torch")
            # The bits of uint32, for which torch has few functions: -1 is INVALID_ID.
            number = getattr(torch, "int32" if dtype == "uint32" else dtype)
            self._result = torch.empty(shape, dtype=number, device=like.source.device)
        elif library == "cupy":
            cupy = importlib.import_module("cupy")
            with cupy.cuda.Device(like.gpu):
                self._result = cupy.empty(shape, dtype)
        else:
            self._result = _core.new_gpu_array(list(shape), dtype, like.gpu)
            if library in ("jax", "jaxlib"):
                self._convert = importlib.import_module("jax.dlpack").from_dlpack
            self.core = self._result
            return
        self._import("out", None, 0)

    def _import(self, name: str, stream: int | None, gpu_hint: int) -> None:
        imported = import_array(name, self._result, stream, gpu_hint)
        self.core, self.stream = imported.core, imported.stream

    def finish(self) -> Any:
        return self._convert(self._result) if self._convert else self._result


class GivenOutput(Output):
    """An array of the caller for results."""

    def __init__(self, name: str, array: Any, stream: int | None, gpu_hint: int) -> None:
        if isinstance(array, np.ndarray) and not array.flags.writeable:
            raise ValueError(f"{name}: read-only; pass an array that can be written")
        # Other objects, such as a dataset of h5py, would be converted to a copy, and results
        # written there would be lost.
        memory = ("__dlpack_device__", "__cuda_array_interface__")
        if not isinstance(array, np.ndarray) and not any(hasattr(array, m) for m in memory):
            raise TypeError(
                f"{name}: {type(array).__name__}: expected an array of NumPy, or one with DLPack or"
                " __cuda_array_interface__"
            )
        if isinstance(array, np.ndarray) and not (
            array.dtype.isnative and array.dtype.kind in "biuf" and array.itemsize <= 8
        ):
            raise TypeError(f"{name}: {array.dtype}: expected numbers in this machine's byte order")
        self._result = array
        self._convert = None
        self._import(name, stream, gpu_hint)
