// SPDX-License-Identifier: MIT
// From sums of samples to a picture (develop.hpp), with a legend in modes that show numbers. On the host.
#pragma once

#include <span>
#include <vector>

#include "render/develop.hpp"

namespace heapwood::render {

struct Film {
  unsigned width = 0, height = 0;
  unsigned samples = 0;     // a pixel
  std::vector<Pixel> sums;  // rows from the top
};

Image develop(const Film& film, const Development& how);

// The range that a picture of numbers is shown in.
Range range_of(const Film& film, const Development& how);

}  // namespace heapwood::render
