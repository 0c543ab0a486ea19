// SPDX-License-Identifier: MIT
// Decodes PNG, JPEG, BMP, TGA and Radiance HDR files with stb_image. Memory is bounded by the size
// of the file: a picture with more pixels than a file of its size can hold is rejected before it is
// decoded.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "geometry/appearance.hpp"

namespace heapwood {

inline constexpr unsigned max_picture_side = 16384;

// Decodes a picture. Returns false and sets `reason`, one line, if that is not possible.
// `has_alpha`: whether the file has an alpha channel; without one, alpha is 255 everywhere. Always
// false for BMP, whose fourth byte may be unused.
bool decode_picture(std::span<const std::byte> file, Texture& texture, std::string& reason,
                    bool* has_alpha = nullptr);

// A picture of linear radiance, rows from the top down.
struct RadianceMap {
  unsigned width = 0, height = 0;
  std::vector<Vec3> texels;
};
bool decode_radiance(std::span<const std::byte> file, RadianceMap& map, std::string& reason);

// Describes the damage in the pixel data of a Radiance HDR, BMP or TGA file of this size in pixels;
// empty if there is none, and for other formats. Needed because stb_image accepts truncated files,
// and some of its versions never return from a truncated Radiance file.
std::string find_damage(std::span<const std::byte> file, std::size_t width, std::size_t height);

inline constexpr std::string_view gzip_magic = "\x1f\x8b";
// The contents of a gzip file with one member, up to 2 GiB; nullopt if it is damaged. The checksum
// is not compared.
std::optional<std::string> gunzip(std::string_view file);

}  // namespace heapwood
