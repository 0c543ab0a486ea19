// SPDX-License-Identifier: MIT
// Decodes PNG, JPEG, BMP and TGA files with stb_image. Memory is bounded by the size of the file: a
// picture with more pixels than a file of its size can hold is rejected before it is decoded.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "geometry/appearance.hpp"

namespace heapwood {

inline constexpr unsigned max_picture_side = 16384;

// Returns false and sets `reason`, one line, if the picture cannot be decoded. `has_alpha`: whether
// the file has an alpha channel; without one, alpha is 255 everywhere. False for BMP, whose fourth
// byte may be unused.
bool decode_picture(std::span<const std::byte> file, Texture& texture, std::string& reason,
                    bool* has_alpha = nullptr);

}  // namespace heapwood
