# SPDX-License-Identifier: MIT
"""A heap for the kernels that a Python program compiles: malloc and free in device code."""

import ctypes
from pathlib import Path
from typing import Any, NamedTuple

from . import _core
from ._errors import DeviceError


class HeapStats(NamedTuple):
    """heapwood::heap_stats (docs/library.md). Sizes are in bytes."""

    bytes: int
    max_request: int
    full: int
    too_large: int
    first_refused_bytes: int
    used: int
    free: int
    held: int
    metadata: int
    largest_hole: int


class Heap:
    """`bytes` bytes of a GPU's memory, from which kernels allocate. With `max_bytes` the heap grows
    between kernels. It must outlive its blocks and the kernels that use it."""

    def __init__(self, bytes: int, *, max_bytes: int | None = None, device: str = "cuda") -> None:
        if bytes <= 0 or (max_bytes is not None and max_bytes < bytes):
            raise ValueError(f"a heap of {bytes} bytes, at most {max_bytes}")
        self._core: _core.GpuHeap | None = _core.make_heap(device, bytes, max_bytes or 0)

    def _open(self) -> _core.GpuHeap:
        if self._core is None:
            raise DeviceError("the heap is closed")
        return self._core

    @property
    def handle(self) -> bytes:
        """The bytes of a `heapwood::heap_handle`, which kernels take by value."""
        return self._open().handle()

    @property
    def address(self) -> int:
        """Where a copy of the handle is in the GPU's memory."""
        return self._open().address()

    def select(self, module: Any) -> None:
        """A cupy.RawModule that includes heapwood/malloc.hpp allocates from this heap."""
        handle = ctypes.create_string_buffer(self.handle, len(self.handle))
        module.get_global("heapwood_device_heap").copy_from_host(ctypes.addressof(handle),
                                                                 len(handle))

    def stats(self) -> HeapStats:
        """Waits for the GPU."""
        return HeapStats(*self._open().stats())

    def reset(self, stream: int = 0) -> None:
        """Frees all blocks, in the order of the stream (a cudaStream_t)."""
        self._open().reset(stream)

    def make_room(self, bytes: int) -> bool:
        """Maps memory until blocks of `bytes` bytes fit. No kernel may use the heap meanwhile."""
        return self._open().make_room(bytes)

    def shrink(self) -> None:
        """Gives back the memory behind the last block, but not the initial memory."""
        self._open().shrink()

    def close(self) -> None:
        """Waits for the GPU and frees the memory."""
        self._core = None

    def __enter__(self) -> "Heap":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def include_dir() -> str:
    """The folder of the library's headers: `nvcc -I`, or an option of NVRTC."""
    return str(Path(__file__).parent / "include")
