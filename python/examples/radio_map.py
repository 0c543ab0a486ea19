# SPDX-License-Identifier: MIT
"""Radio coverage: line of sight from an antenna to every point of a city's streets.

Loss is that of free space at 3.5 GHz, plus 8 dB per wall that the line crosses. Points in line of
sight are coloured from yellow, strong, to blue; others are dimmed by their walls; houses are grey.

    python python/examples/radio_map.py [radio_map.png]
"""

import sys

import numpy as np
from city import city
from picture import colours, save_png

import heapwood as hw

PIXELS, GHZ, DB_PER_WALL = 512, 3.5, 8.0


def main() -> None:
    (vertices, triangles), extent = city()
    scene = hw.Scene(vertices, triangles)
    at = (np.arange(PIXELS) + 0.5) / PIXELS * extent - extent / 2
    x, y = np.meshgrid(at, -at)
    receivers = np.stack([x, y, np.full_like(x, 1.5)], -1)
    # The antenna stands on the roof nearest to the middle, 30 m above it.
    roof = scene.cast_rays(np.array([[12.0, 8, 500, 0, 0, -1]])).t_hit[0]
    antenna = np.array([12.0, 8, 500 - roof + 30])
    lines = receivers - antenna
    # The last millimetre is left out: the receiver itself is no obstacle.
    crossed = scene.count_intersections(antenna, lines, t_max=0.99999)
    km = np.linalg.norm(lines, axis=-1) / 1000
    loss = 32.4 + 20 * np.log10(km) + 20 * np.log10(1000 * GHZ) + DB_PER_WALL * crossed
    indoors = scene.test_occlusions(receivers, [0.0, 0, 1])
    picture = colours(-loss, -135, -75)
    picture[indoors] = 90
    in_sight = (crossed == 0) & ~indoors
    print(f"{scene.device}: {in_sight.sum() / (~indoors).sum():.0%} of the streets in line of"
          f" sight; median loss {np.median(loss[~indoors]):.0f} dB")
    save_png(sys.argv[1] if len(sys.argv) > 1 else "radio_map.png", picture)


if __name__ == "__main__":
    main()
