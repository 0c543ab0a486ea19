// SPDX-License-Identifier: MIT
// Films as OpenEXR files: linear, not developed, 32-bit floating point.
#pragma once

#include <string>

#include "render/film.hpp"

namespace heapwood::render {

// Channels R, G, B in scan lines with ZIP compression ("The OpenEXR file layout", version 2). In
// modes that show numbers all three are the number.
std::string to_exr(const Film& film, Mode mode);

}  // namespace heapwood::render
