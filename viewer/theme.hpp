// SPDX-License-Identifier: MIT
// Colours, sizes and fonts.
#pragma once

#include <imgui.h>

#include "viewer/gl.hpp"

namespace heapwood::viewer {

namespace colour {
inline const ImVec4 text{0.90f, 0.91f, 0.92f, 1}, dim{0.58f, 0.61f, 0.64f, 1},
    accent{0.45f, 0.78f, 0.56f, 1}, warning{0.95f, 0.74f, 0.36f, 1}, error{0.95f, 0.46f, 0.42f, 1},
    second{0.42f, 0.68f, 0.95f, 1};
inline const ImVec4 hole{0.98f, 0.85f, 0.40f, 0.9f};  // frame of the largest free region
// Backgrounds: of the picture; of the bar, the panels and what is below the picture.
inline const ImVec4 backdrop{0.055f, 0.06f, 0.07f, 1}, panel{0.0744f, 0.0813f, 0.0933f, 1};
// Colours of the heap map.
inline constexpr gl::Rgba8 untouched{24, 27, 31, 255}, freed{52, 66, 74, 255},
    used{104, 196, 134, 255}, used_by_b{107, 173, 242, 255}, abandoned{196, 132, 72, 255},
    outside{16, 18, 21, 255};
// Colours of a node of the tree: the triangles on each side of its plane, and the plane.
inline constexpr gl::Rgba8 left_side{92, 160, 236, 255}, right_side{240, 150, 72, 255},
    both_sides{214, 208, 196, 255}, split_plane{250, 230, 140, 90};
}  // namespace colour

struct Fonts {
  ImFont *text = nullptr, *bold = nullptr, *large = nullptr;
};
const Fonts& fonts();

// Limits within which text is legible and fonts fit into a texture.
inline constexpr float min_scale = 0.5f, max_scale = 4;
// Builds fonts and style for a screen scale. Must be called between frames.
void set_theme(float scale);

// A colour of render::colour_ramp as it is displayed.
gl::Rgba8 ramp_colour(double place);
inline ImU32 packed(gl::Rgba8 c) { return IM_COL32(c.r, c.g, c.b, c.a); }
inline ImVec4 unpacked(gl::Rgba8 c) { return ImColor(c.r, c.g, c.b); }

}  // namespace heapwood::viewer
