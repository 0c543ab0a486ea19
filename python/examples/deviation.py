# SPDX-License-Identifier: MIT
"""Deviation of a simplified mesh: a knot coloured by its distance from a coarser one.

Colours run from dark blue, 2% of the tube's radius inside the coarser knot, to light yellow, 6%
outside.

    python python/examples/deviation.py [deviation.png]
"""

import sys

import numpy as np
from knot import knot
from picture import colours, save_png

import heapwood as hw

PIXELS, RADIUS = 512, 0.6


def main() -> None:
    vertices, triangles = knot(3000, 240, RADIUS)
    scene, coarse = hw.Scene(vertices, triangles), hw.Scene(*knot(90, 12, RADIUS))
    deviation = coarse.signed_distance(vertices) / RADIUS
    print(
        f"{scene.device}: {len(vertices)} vertices; deviation {deviation.min():.2%} to"
        f" {deviation.max():.2%} of the radius"
    )
    x, y = np.meshgrid(*2 * [(np.arange(PIXELS) + 0.5) * 8 / PIXELS - 4])
    eyes = np.stack([x, -y, np.full_like(x, 9)], -1)
    hits = scene.cast_rays(eyes, [0, 0, -1.0])
    picture = colours(scene.interpolate(hits, deviation), -0.02, 0.06)
    picture = picture * (0.3 + 0.7 * hits.primitive_normals[..., 2:])
    picture[hits.primitive_ids == hw.INVALID_ID] = 255
    save_png(sys.argv[1] if len(sys.argv) > 1 else "deviation.png", picture.astype(np.uint8))


if __name__ == "__main__":
    main()
