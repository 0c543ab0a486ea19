# SPDX-License-Identifier: MIT
# The extension module (python/core/module.cpp).
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

class RayInput:
    @overload
    def __init__(
        self,
        origins: Any,
        directions: Any | None,
        t_min: Any | None,
        t_max: Any | None,
        all_t_min: float,
        all_t_max: float,
    ) -> None: ...
    @overload
    def __init__(self, points: Any, max_distance: Any | None, all_max_distance: float) -> None: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def count(self) -> int: ...
    @property
    def is_double(self) -> bool: ...

class GpuHeap:
    def handle(self) -> bytes: ...
    def address(self) -> int: ...
    def stats(self) -> list[tuple[str, int]]: ...
    def reset(self, stream: int) -> None: ...
    def make_room(self, bytes: int) -> bool: ...
    def shrink(self) -> None: ...

def make_heap(device: str, bytes: int, max_bytes: int) -> GpuHeap: ...

class Scene:
    def __init__(
        self,
        vertices: Any,
        triangles: Any,
        device: str,
        threads: int,
        watertight: bool,
        allocator: str,
        prefer: str,
        batch_bytes: int,
        streams: Sequence[int],
    ) -> None: ...
    def update(self, vertices: Any, streams: Sequence[int]) -> None: ...
    def cast(
        self,
        rays: RayInput,
        streams: Sequence[int],
        t_hit: Any | None,
        primitive_ids: Any | None,
        primitive_uvs: Any | None,
        primitive_normals: Any | None,
    ) -> None: ...
    def find_any(self, rays: RayInput, streams: Sequence[int], out: Any) -> None: ...
    def closest(
        self,
        points: RayInput,
        streams: Sequence[int],
        signed: bool,
        distance: Any | None,
        at: Any | None,
        primitive_ids: Any | None,
        primitive_uvs: Any | None,
        primitive_normals: Any | None,
    ) -> None: ...
    def contains(self, points: RayInput, streams: Sequence[int], out: Any) -> None: ...
    def count(self, rays: RayInput, streams: Sequence[int], unique: bool, out: Any) -> None: ...
    def list(
        self,
        rays: RayInput,
        streams: Sequence[int],
        unique: bool,
        allocate: Callable[[int], Sequence[Any]],
    ) -> Sequence[Any]: ...
    def render(
        self,
        picture: np.ndarray,
        mode: str,
        view: tuple[tuple[float, float, float], tuple[float, float, float]] | None,
        up: str,
        fov: float,
        spp: int,
        seed: int,
    ) -> None: ...
    def stats(self) -> dict[str, Any]: ...
    def mesh(self) -> tuple[np.ndarray, np.ndarray]: ...
    @property
    def bounds(self) -> tuple[tuple[float, float, float], tuple[float, float, float]]: ...
    @property
    def device(self) -> str: ...
    @property
    def watertight(self) -> bool: ...
    @property
    def vertices(self) -> int: ...
    @property
    def triangles(self) -> int: ...

def load_mesh(source: str) -> tuple[np.ndarray, np.ndarray]: ...
def wrap_gpu_array(pointer: int, shape: Sequence[int], dtype: str, gpu: int, owner: Any) -> Any: ...
def new_gpu_array(shape: Sequence[int], dtype: str, gpu: int) -> Any: ...
