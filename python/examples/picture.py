# SPDX-License-Identifier: MIT
"""What the examples need for their pictures: a PNG file, and colours for numbers."""

import struct
import zlib

import numpy as np

RAMP = np.array(
    [[26, 22, 59], [54, 88, 154], [45, 152, 161], [124, 201, 113], [247, 221, 95], [255, 250, 220]]
)


def colours(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """(..., 3) uint8: dark blue for `low`, light yellow for `high`."""
    at = np.clip((values - low) / (high - low), 0, 1) * (len(RAMP) - 1)
    k = np.minimum(at.astype(int), len(RAMP) - 2)
    part = (at - k)[..., None]
    return (RAMP[k] * (1 - part) + RAMP[k + 1] * part).round().astype(np.uint8)


def save_png(path: str, picture: np.ndarray) -> None:
    """Writes (height, width, 3) uint8."""
    height, width, _ = picture.shape
    rows = np.empty((height, 1 + 3 * width), np.uint8)
    rows[:, 0] = 1  # each row: differences to the pixel on the left
    rows[:, 1:4] = picture[:, 0]
    rows[:, 4:] = np.diff(picture.reshape(height, -1, 3), axis=1).reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header))
        file.write(chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b""))
    print(path)
