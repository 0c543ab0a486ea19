# SPDX-License-Identifier: MIT
"""Sky-view factor: the share of the sky that each point of a city's surface sees.

Weighted by the cosine to the vertical, so it is the share of a uniform sky's light that arrives.
Writes a map seen from above.

    python python/examples/sky_view.py [sky_view.png]
"""

import sys

import numpy as np
from city import city
from picture import colours, save_png

import heapwood as hw

PIXELS, DIRECTIONS = 384, 64


def hemisphere(count: int) -> np.ndarray:
    """Directions whose density is the cosine to the vertical: each is one share of the light."""
    k = np.arange(count) + 0.5
    radius, angle = np.sqrt(k / count), k * np.pi * (3 - np.sqrt(5))
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    return np.stack([x, y, np.sqrt(1 - x * x - y * y)], -1)


def main() -> None:
    (vertices, triangles), extent = city()
    scene = hw.Scene(vertices, triangles)
    # The surface as seen from above.
    at = (np.arange(PIXELS) + 0.5) / PIXELS * extent - extent / 2
    x, y = np.meshgrid(at, -at)
    above = np.stack([x, y, np.full_like(x, 500.0)], -1)
    down = np.broadcast_to([0.0, 0, -1], above.shape).copy()
    points = above + scene.cast_rays(above, down).t_hit[..., None] * down
    points[..., 2] += 0.01
    sky = np.zeros((PIXELS, PIXELS))
    for direction in hemisphere(DIRECTIONS):
        along = np.broadcast_to(direction, points.shape).copy()
        sky += ~scene.test_occlusions(points, along)
    sky /= DIRECTIONS
    streets = points[..., 2] < 0.1
    print(f"{scene.device}: mean factor {sky[streets].mean():.2f} on the ground,"
          f" {sky[~streets].mean():.2f} on roofs")
    save_png(sys.argv[1] if len(sys.argv) > 1 else "sky_view.png", colours(sky, 0, 1))


if __name__ == "__main__":
    main()
