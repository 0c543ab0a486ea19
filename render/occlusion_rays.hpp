// SPDX-License-Identifier: MIT
// The occlusion rays of a surface point on CPU threads: those of ambient_light(), up to the
// rounding of sines and cosines.
#pragma once

#include <cstdint>

#include "render/surface.hpp"

namespace heapwood::render {

// Writes `count` rays of sample number `sample` of a pixel.
void make_occlusion_rays(const Surface& at, const PixelRandom& random, std::uint32_t sample,
                         std::uint32_t count, float reach, kdtree::Ray* rays);

}  // namespace heapwood::render
