// SPDX-License-Identifier: MIT
// Text in pictures: a bitmap font of 5 x 7 pixels (digits, lower-case letters, . , - + : / ( ) %),
// so that legends need no font library.
#pragma once

#include <string_view>

#include "render/image.hpp"

namespace heapwood::render {

inline constexpr unsigned glyph_height = 7, glyph_advance = 6;

// Draws text with its top left corner at (x, y), `scale` pixels per font pixel, clipped to the
// picture. Capitals are drawn as lower-case letters, unknown characters as blanks.
void draw_text(Image& image, int x, int y, std::string_view text, Rgb8 colour, unsigned scale);
unsigned text_width(std::string_view text, unsigned scale);

// Blends a colour into a rectangle, clipped to the picture.
void shade_rectangle(Image& image, int x, int y, unsigned width, unsigned height, Rgb8 colour,
                     double opacity);

}  // namespace heapwood::render
