# SPDX-License-Identifier: MIT
"""The rays of `heapwood trace` (render/ray_sets.hpp) as arrays of PyTorch, (N, 6) float32."""

from __future__ import annotations

import math

import torch


def _normalized(v: torch.Tensor) -> torch.Tensor:
    return v / torch.linalg.vector_norm(v, dim=-1, keepdim=True)


def _pixels(width: int, height: int) -> tuple[torch.Tensor, torch.Tensor]:
    """x and y of all pixels, in tiles of 8 x 4."""
    i = torch.arange(width * height, device="cuda")
    tile, columns = i // 32, width // 8
    return tile % columns * 8 + i % 8, tile // columns * 4 + i // 8 % 4


def camera_rays(camera: str, up: str, width: int, height: int) -> torch.Tensor:
    """Rays through pixel centres. camera: ex,ey,ez,tx,ty,tz,fov; up: x, y or z."""
    numbers = torch.tensor([float(x) for x in camera.split(",")], dtype=torch.float64)
    eye, target, fov = numbers[:3].cuda(), numbers[3:6].cuda(), math.radians(numbers[6].item())
    axis = torch.eye(3, dtype=torch.float64, device="cuda")["xyz".index(up)]
    forward = _normalized(target - eye)
    right = _normalized(torch.linalg.cross(forward, axis))
    upward = torch.linalg.cross(right, forward)
    scale = math.tan(fov / 2)
    x, y = _pixels(width, height)
    u = (2 * (x + 0.5) / width - 1) * scale * width / height
    v = (1 - 2 * (y + 0.5) / height) * scale
    directions = _normalized(forward + u[:, None] * right + v[:, None] * upward)
    return torch.cat([eye.expand_as(directions), directions], 1).float()


def _pcg(s: torch.Tensor) -> torch.Tensor:
    """The hash of Jarzynski and Olano 2020 of 32-bit numbers, in int64."""
    mask = 0xFFFFFFFF
    s = (s * 747796405 + 2891336453) & mask
    word = (((s >> ((s >> 28) + 4)) ^ s) * 277803737) & mask
    return (word >> 22) ^ word


def _unit_interval(h: torch.Tensor) -> torch.Tensor:
    return (h >> 8).double() / 2**24


def diffuse_rays(primary: torch.Tensor, hits, width: int, bounds) -> torch.Tensor:
    """One ray per hit of camera_rays(), cosine-weighted around the normal on the ray's side."""
    sources = torch.nonzero(hits.primitive_ids != -1).squeeze(1)
    rays, normal = primary[sources].double(), hits.primitive_normals[sources].double()
    origin, direction = rays[:, :3], rays[:, 3:]
    normal = torch.where((normal * direction).sum(1, keepdim=True) > 0, -normal, normal)
    x, y = _pixels(width, len(primary) // width)
    h1 = _pcg((y * width + x)[sources])
    u, phi = _unit_interval(h1), 2 * math.pi * _unit_interval(_pcg(h1))
    # The basis of Duff et al. 2017.
    nx, ny, nz = normal.unbind(1)
    sign = torch.where(nz >= 0, 1.0, -1.0)
    a = -1 / (sign + nz)
    b = nx * ny * a
    s = torch.stack([1 + sign * nx * nx * a, sign * b, -sign * nx], 1)
    t = torch.stack([b, sign + ny * ny * a, -ny], 1)
    radius = u.sqrt()
    along = (s * (radius * phi.cos())[:, None] + t * (radius * phi.sin())[:, None]
             + normal * (1 - u).sqrt()[:, None])
    offset = 1e-4 * math.dist(*bounds)
    at = origin + direction * hits.t_hit[sources].double()[:, None] + normal * offset
    return torch.cat([at, along], 1).float()
