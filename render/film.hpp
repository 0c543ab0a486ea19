// SPDX-License-Identifier: MIT
// Develops sums of samples into a picture on the host (develop.hpp), with a legend in modes that
// show numbers.
#pragma once

#include <span>
#include <vector>

#include "render/develop.hpp"

namespace heapwood::render {

struct Film {
  unsigned width = 0, height = 0;
  unsigned samples = 0;     // per pixel
  std::vector<Pixel> sums;  // rows from the top
};

Image develop(const Film& film, const Development& how);

// The range of the colour ramp in modes that show numbers.
Range range_of(const Film& film, const Development& how);

}  // namespace heapwood::render
