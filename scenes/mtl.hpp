// SPDX-License-Identifier: MIT
// Wavefront MTL files: diffuse colour (Kd, map_Kd), opacity (d, Tr, map_d), emission (Ke, map_Ke).
// Other statements are ignored. A material with a map_d has holes where it is below 1/2; one with
// d < 1 is blended.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scenes/texture_files.hpp"

namespace heapwood::scenes {

// Appends the materials of a file to `appearance` and their indices to `names`. Malformed lines are
// ignored: a picture without a colour is better than none. Returns whether a texture has a scale or
// an offset (-s, -o), which are ignored, too.
bool parse_mtl(std::string_view text, TextureFiles& textures, Appearance& appearance,
               std::map<std::string, std::uint32_t, std::less<>>& names);

// The pictures that a file names, also those that parse_mtl() ignores, such as bump maps.
std::vector<std::string> find_maps(std::string_view text);

}  // namespace heapwood::scenes
