// SPDX-License-Identifier: MIT
// Sums of samples, and the pictures that they are developed into on the host (develop.hpp), with a
// legend in modes that show numbers.
#pragma once

#include <string>
#include <vector>

#include "render/develop.hpp"

namespace heapwood::render {

struct Film {
  unsigned width = 0, height = 0;
  unsigned samples = 0;     // per pixel
  std::vector<Pixel> sums;  // rows from the top
};

Image develop(const Film& film, const Development& how);

// A portable float map: 32-bit linear light, not developed; in modes that show numbers all three
// channels are the number.
std::string to_pfm(const Film& film, Mode mode);

// The range of the colour ramp in modes that show numbers.
Range range_of(const Film& film, const Development& how);

}  // namespace heapwood::render
