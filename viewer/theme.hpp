// SPDX-License-Identifier: MIT
// Colours, sizes and fonts.
#pragma once

#include <imgui.h>

#include "viewer/gl.hpp"

namespace heapwood::viewer {

// Colours of the theme, which set_colours() sets.
namespace colour {
// Texts and lines; accent and second are those of A and B.
inline ImVec4 text, dim, accent, warning, error, second;
inline ImVec4 marked;  // the largest hole, the chosen plane
// Backgrounds: of the picture; of the bar, the panels and what is below the picture.
inline ImVec4 backdrop, panel;
// Cells of the heap map.
inline gl::Rgba8 untouched, freed, used, used_by_b, abandoned, outside;
// In every theme: the triangles on each side of a node's plane, and the plane.
inline constexpr gl::Rgba8 left_side{92, 160, 236, 255}, right_side{240, 150, 72, 255},
    both_sides{214, 208, 196, 255}, split_plane{250, 230, 140, 90};
}  // namespace colour

struct Fonts {
  ImFont *text = nullptr, *bold = nullptr, *large = nullptr;
};
const Fonts& fonts();

// Limits within which text is legible and fonts fit into a texture.
inline constexpr float min_scale = 0.5f, max_scale = 4;
// Sets the colours: light ones for projectors, or dark ones.
void set_colours(bool is_light);
// Builds fonts and style for a screen scale, and sets colours. Must be called between frames.
void set_theme(float scale, bool light);

// A colour of render::colour_ramp as it is displayed.
gl::Rgba8 ramp_colour(double place);
inline ImU32 packed(gl::Rgba8 c) { return IM_COL32(c.r, c.g, c.b, c.a); }

}  // namespace heapwood::viewer
