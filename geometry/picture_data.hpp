// SPDX-License-Identifier: MIT
// Checks the pixel data of picture files before stb_image decodes them: stb_image accepts truncated
// files, and some of its versions never return from a truncated Radiance file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace heapwood {

// What is wrong with the pixel data of a Radiance HDR, BMP or TGA file of this size in pixels;
// empty if nothing is, and for other formats.
std::string find_damage(std::span<const std::byte> file, std::size_t width, std::size_t height);

}  // namespace heapwood
