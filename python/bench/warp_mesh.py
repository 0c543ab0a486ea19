# SPDX-License-Identifier: MIT
"""Closest hits with NVIDIA Warp's `wp.Mesh`, for comparison."""

import inspect
from collections.abc import Callable

import torch

try:
    import warp as wp
except ImportError:
    wp = None

if wp is not None:

    @wp.kernel
    def find_closest_hits(
        mesh: wp.uint64,
        rays: wp.array(dtype=wp.float32, ndim=2),
        t_hit: wp.array(dtype=wp.float32),
        ids: wp.array(dtype=wp.int32),
        uvs: wp.array(dtype=wp.vec2),
        normals: wp.array(dtype=wp.vec3),
    ):
        i = wp.tid()
        origin = wp.vec3(rays[i, 0], rays[i, 1], rays[i, 2])
        direction = wp.vec3(rays[i, 3], rays[i, 4], rays[i, 5])
        hit = wp.mesh_query_ray(mesh, origin, direction, 1.0e30)
        if hit.result:
            t_hit[i] = hit.t
            ids[i] = hit.face
            uvs[i] = wp.vec2(hit.u, hit.v)
            normals[i] = hit.normal
        else:
            t_hit[i] = wp.inf
            ids[i] = -1
            uvs[i] = wp.vec2(0.0, 0.0)
            normals[i] = wp.vec3(0.0, 0.0, 0.0)


class WarpMesh:
    """A mesh with one of Warp's bounding volume hierarchies.

    constructor: "lbvh", Warp's default on a GPU, or "sah", which its documentation recommends for
    queries; it is built on the CPU.
    """

    def __init__(self, vertices: torch.Tensor, triangles: torch.Tensor, constructor: str) -> None:
        wp.init()
        self._constructor = constructor
        self._points = wp.from_torch(vertices.float().contiguous(), dtype=wp.vec3)
        self._indices = wp.from_torch(triangles.reshape(-1).contiguous(), dtype=wp.int32)
        self._build()
        self.t = torch.empty(0, device="cuda")

    @staticmethod
    def constructors() -> tuple[str, ...]:
        """Those that this version of Warp offers; none if it is not installed."""
        if wp is None:
            return ()
        chosen = "bvh_constructor" in inspect.signature(wp.Mesh.__init__).parameters
        return ("lbvh", "sah") if chosen else ("lbvh",)

    @staticmethod
    def version() -> str:
        return wp.__version__ if wp is not None else "is not installed"

    def _build(self) -> None:
        options = {} if self._constructor == "lbvh" else {"bvh_constructor": self._constructor}
        self._mesh = wp.Mesh(self._points, self._indices, **options)

    def rebuild(self, vertices: torch.Tensor) -> None:
        self._points = wp.from_torch(vertices, dtype=wp.vec3)
        self._build()
        wp.synchronize()

    def refit(self, vertices: torch.Tensor) -> None:
        wp.copy(self._mesh.points, wp.from_torch(vertices, dtype=wp.vec3))
        self._mesh.refit()
        wp.synchronize()

    def caster(self, rays: torch.Tensor) -> Callable[[], None]:
        """A function that casts these rays; distances are put into `self.t`."""
        count = len(rays)
        self.t = torch.empty(count, device="cuda")
        ids = torch.empty(count, dtype=torch.int32, device="cuda")
        uvs = torch.empty((count, 2), device="cuda")
        normals = torch.empty((count, 3), device="cuda")
        arrays = [
            wp.from_torch(rays),
            wp.from_torch(self.t),
            wp.from_torch(ids),
            wp.from_torch(uvs, dtype=wp.vec2),
            wp.from_torch(normals, dtype=wp.vec3),
        ]

        def cast() -> None:
            wp.launch(find_closest_hits, dim=count, inputs=[self._mesh.id, *arrays])
            wp.synchronize()

        return cast
