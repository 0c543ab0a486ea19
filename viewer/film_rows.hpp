// SPDX-License-Identifier: MIT
// Develops rows of a film for the window as render::develop() does, to the bit, in a fifth of the
// time: a coarse picture of a moving scene is developed in every frame.
#pragma once

#include <span>
#include <vector>

#include "render/develop.hpp"
#include "viewer/gl.hpp"

namespace heapwood::viewer {

// render::srgb() without std::pow: the smallest linear value of each code is tabulated.
std::uint8_t srgb_code(float linear);

std::vector<gl::Rgba8> develop_rows(std::span<const render::Pixel> sums, unsigned samples,
                                    const render::Development& how, const render::Range& range);

}  // namespace heapwood::viewer
