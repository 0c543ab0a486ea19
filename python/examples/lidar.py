# SPDX-License-Identifier: MIT
"""LiDAR: a sensor drives down a street with moving cars.

In each frame the cars move, the tree is built again, and one turn of the sensor is traced. Writes
the range pictures of four frames: 128 beams from top to bottom, 360 degrees from left to right.

    python python/examples/lidar.py [lidar.png]
"""

import sys
import time

import numpy as np
from city import boxes, city
from picture import colours, save_png

import heapwood as hw

BEAMS, STEPS, MAX_RANGE = 128, 1024, 120.0
FRAMES, SECONDS_PER_FRAME = 40, 0.1


def sensor_directions() -> np.ndarray:
    """Directions of the beams, (beams, steps, 3): from 15 degrees up to 25 degrees down."""
    up = np.radians(np.linspace(15, -25, BEAMS))[:, None]
    around = np.linspace(np.pi, -np.pi, STEPS, endpoint=False)[None]
    return np.stack(
        [np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up) + 0 * around], -1
    ).astype(np.float32)


def main() -> None:
    random = np.random.default_rng(3)
    static, extent = city()
    street = 39.0  # the y of a street's middle
    count = 30
    lane = np.where(random.random(count) < 0.5, -1, 1)
    start = random.uniform(-extent / 2, extent / 2, count)
    speed = lane * random.uniform(6, 14, count)
    sizes = np.stack([random.uniform(3.8, 5.2, count), np.full(count, 1.8),
                      random.uniform(1.4, 2.4, count)], -1)

    cars = [boxes(np.zeros((1, 3)), size[None]) for size in sizes]
    scene = hw.MeshScene([static, *cars])
    poses = np.tile(np.eye(4), (1 + count, 1, 1))  # of the street and the cars
    poses[1:, 1, 3] = street + 4.5 * lane
    directions = sensor_directions()
    hits = hw.RayHits(t_hit=np.empty((BEAMS, STEPS), np.float32))
    rows, times = [], []
    for frame in range(FRAMES):
        seconds = frame * SECONDS_PER_FRAME
        sensor = np.array([-60 + 10 * seconds, street, 1.9], np.float32)
        poses[1:, 0, 3] = (start + speed * seconds + extent / 2) % extent - extent / 2
        begin = time.perf_counter()
        scene.move(poses)
        updated = time.perf_counter()
        scene.cast_rays(sensor, directions, t_min=0.5, t_max=MAX_RANGE, out=hits)
        times.append(1e3 * np.array([updated - begin, time.perf_counter() - updated]))
        if frame % (FRAMES // 4) == 0:
            near = np.log2(np.minimum(hits.t_hit, MAX_RANGE))
            rows.append(colours(-near, -np.log2(MAX_RANGE), -1))
            rows.append(np.full((6, STEPS, 3), 255, np.uint8))
    update, cast = np.median(times, axis=0)
    # On a GPU the first frame also loads the kernels.
    print(f"{scene.device}: {scene.triangle_count} triangles, {BEAMS * STEPS} rays per frame: move"
          f" {update:.2f} ms, cast {cast:.2f} ms (median of {FRAMES} frames; the first took"
          f" {times[0].sum():.1f} ms)")
    save_png(sys.argv[1] if len(sys.argv) > 1 else "lidar.png", np.concatenate(rows[:-1]))


if __name__ == "__main__":
    main()
