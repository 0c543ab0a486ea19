// SPDX-License-Identifier: MIT
// A picture in 8-bit sRGB, and PNG files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heapwood::render {

struct Rgb8 {
  std::uint8_t r = 0, g = 0, b = 0;
  bool operator==(const Rgb8&) const = default;
};
static_assert(sizeof(Rgb8) == 3);
struct alignas(4) Rgba8 {
  std::uint8_t r = 0, g = 0, b = 0, a = 255;
  bool operator==(const Rgba8&) const = default;
};

struct Image {
  unsigned width = 0, height = 0;
  std::vector<Rgb8> pixels;  // rows, from the top down

  Image() = default;
  Image(unsigned w, unsigned h) : width(w), height(h), pixels(std::size_t{w} * h) {}
  Rgb8& at(unsigned x, unsigned y) { return pixels[std::size_t{y} * width + x]; }
  const Rgb8& at(unsigned x, unsigned y) const { return pixels[std::size_t{y} * width + x]; }
  bool operator==(const Image&) const = default;
};

// Encodes a PNG file. Throws Error{Exit::failed} for a picture without pixels.
std::string to_png(const Image& image);
// Compresses bytes to zlib's format (RFC 1950).
std::string compress(const std::string& bytes);

}  // namespace heapwood::render
