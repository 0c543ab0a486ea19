# SPDX-License-Identifier: MIT
"""Hits with gradients for PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ._scene import RayHits, Scene


def cast_rays(
    scene: Scene, vertices: Any, origins: Any, directions: Any, **options: Any
) -> RayHits:
    """Scene.cast_rays() whose t_hit and primitive_uvs have gradients for vertices and rays.

    vertices: (V, 3) floats, those of the scene. origins, directions: (..., 3), of shapes that
    broadcast. options: those of Scene.cast_rays() but `out`. Which triangle a ray hits is constant.
    """
    hits = scene.cast_rays(origins.detach(), directions.detach(), **options)
    ids = hits.primitive_ids
    ids = ids.long() if torch.is_tensor(ids) else torch.from_numpy(ids.astype(np.int64))
    found = (ids >= 0) & (ids < scene.triangle_count)
    triangles = scene._shared_triangles.like(ids)
    a, b, c = vertices[triangles[torch.where(found, ids, 0)]].unbind(-2)
    # Moeller and Trumbore 1997, "Fast, minimum storage ray/triangle intersection".
    ab, ac, start = b - a, c - a, origins - a
    p, q = torch.linalg.cross(directions, ac), torch.linalg.cross(start, ab)
    determinant = torch.where(found, (ab * p).sum(-1), 1)
    t = torch.where(found, (ac * q).sum(-1) / determinant, torch.inf)
    uvs = torch.stack([(start * p).sum(-1), (directions * q).sum(-1)], -1) / determinant[..., None]
    return RayHits(t, ids, torch.where(found[..., None], uvs, 0), hits.primitive_normals)
