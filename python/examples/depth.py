# SPDX-License-Identifier: MIT
"""Depth cameras in several worlds, each with its own boxes, in one call; on a GPU by PyTorch.

Colours are depths, from yellow, 4 m, to blue, 14 m. What is in the shadow of the sun is darker.

    python python/examples/depth.py [depth.png]
"""

import sys

import numpy as np
from city import boxes, ground, join
from picture import colours, save_png

import heapwood as hw

try:
    import torch
except ImportError:
    torch = None

COUNT, WIDTH, HEIGHT, BOXES = 12, 256, 192, 40
INTRINSICS = np.array([[220.0, 0, WIDTH / 2], [0, 220, HEIGHT / 2], [0, 0, 1]])
SUN = np.array([0.5, 0.3, 0.8])


def main() -> None:
    random, scenes = np.random.default_rng(1), []
    for _ in range(COUNT):
        centres = np.c_[random.uniform(-5, 5, (BOXES, 2)), np.zeros(BOXES)]
        stack = boxes(centres, random.uniform(0.3, 2, (BOXES, 3)))
        scenes.append(hw.Scene(*join(ground(30), stack)))
    batch = hw.SceneBatch(scenes)
    # Directions of pixels: x to the right, y down and 1 forward, so that distances are depths.
    u, v = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    pixels = np.stack([u, v, np.ones_like(u)], -1) @ np.linalg.inv(INTRINSICS).T
    # The cameras look at the middle from a circle around it.
    around = np.linspace(0, 2 * np.pi, COUNT, endpoint=False)
    origins = np.stack([8 * np.cos(around), 8 * np.sin(around), np.full(COUNT, 4.0)], -1)
    forward = -origins / np.linalg.norm(origins, axis=-1, keepdims=True)
    right = np.stack([-np.sin(around), np.cos(around), np.zeros(COUNT)], -1)
    directions = pixels @ np.stack([right, np.cross(forward, right), forward], 1)[:, None]
    worlds, origins, sun = np.arange(COUNT)[:, None, None], origins[:, None, None], SUN
    if torch and "cuda" in batch.device:  # arrays on the scenes' device are not copied
        worlds, origins, directions, sun = (
            torch.as_tensor(a, device=batch.device) for a in (worlds, origins, directions, SUN)
        )
    depth = batch.cast_rays(worlds, origins, directions).t_hit
    points = origins + 0.999 * depth[..., None] * directions
    shadow = batch.test_occlusions(worlds, points, sun)
    depth, shadow = (a.cpu().numpy() if hasattr(a, "cpu") else a for a in (depth, shadow))
    print(f"{batch.device}: {COUNT} worlds, {depth.size} rays: {np.isfinite(depth).mean():.0%} hit,"
          f" {shadow.mean():.0%} in the shadow; median depth {np.median(depth):.1f} m")
    picture = colours(-depth, -14, -4) * np.where(shadow, 0.4, 1)[..., None]
    rows = picture.reshape(3, 4, HEIGHT, WIDTH, 3).swapaxes(1, 2).reshape(3 * HEIGHT, -1, 3)
    save_png(sys.argv[1] if len(sys.argv) > 1 else "depth.png", rows.astype(np.uint8))


if __name__ == "__main__":
    main()
