// SPDX-License-Identifier: MIT
#include "viewer/theme.hpp"

#include <filesystem>

#include "render/develop.hpp"

namespace heapwood::viewer {

namespace {

Fonts current;

// Ranges of characters: text, Greek letters, dashes and quotes, arrows, shapes.
constexpr ImWchar ranges[] = {0x20,   0xff,   0x370,  0x3ff,  0x2010, 0x2027, 0x2190,
                              0x21ff, 0x2200, 0x22ff, 0x25a0, 0x25ff, 0};

// Loads the first of these files that exists, or else Dear ImGui's bitmap font.
ImFont* add(std::initializer_list<const char*> paths, float size) {
  ImFontAtlas& atlas = *ImGui::GetIO().Fonts;
  std::error_code ignored;
  for (const char* path : paths) {
    if (!std::filesystem::is_regular_file(path, ignored)) continue;
    if (ImFont* font = atlas.AddFontFromFileTTF(path, size, nullptr, ranges)) return font;
  }
  ImFontConfig config;
  config.SizePixels = size;
  return atlas.AddFontDefault(&config);
}

const struct {
  ImVec4* colour;
  ImVec4 dark, light;
} shades[] = {{&colour::text, {0.90f, 0.91f, 0.92f, 1}, {0.08f, 0.09f, 0.10f, 1}},
              {&colour::dim, {0.58f, 0.61f, 0.64f, 1}, {0.32f, 0.35f, 0.38f, 1}},
              {&colour::accent, {0.45f, 0.78f, 0.56f, 1}, {0.06f, 0.44f, 0.24f, 1}},
              {&colour::warning, {0.95f, 0.74f, 0.36f, 1}, {0.54f, 0.33f, 0, 1}},
              {&colour::error, {0.95f, 0.46f, 0.42f, 1}, {0.70f, 0.15f, 0.12f, 1}},
              {&colour::second, {0.42f, 0.68f, 0.95f, 1}, {0.10f, 0.37f, 0.71f, 1}},
              {&colour::marked, {0.98f, 0.85f, 0.40f, 1}, {0.72f, 0.43f, 0, 1}},
              {&colour::backdrop, {0.055f, 0.06f, 0.07f, 1}, {0.87f, 0.89f, 0.90f, 1}},
              {&colour::panel, {0.0744f, 0.0813f, 0.0933f, 1}, {0.97f, 0.97f, 0.98f, 1}}};

constexpr struct {
  gl::Rgba8* colour;
  gl::Rgba8 dark, light;
} pixels[] = {{&colour::untouched, {24, 27, 31, 255}, {233, 236, 239, 255}},
              {&colour::freed, {52, 66, 74, 255}, {188, 200, 208, 255}},
              {&colour::used, {104, 196, 134, 255}, {30, 140, 80, 255}},
              {&colour::used_by_b, {107, 173, 242, 255}, {42, 111, 202, 255}},
              {&colour::abandoned, {196, 132, 72, 255}, {192, 120, 47, 255}},
              {&colour::outside, {16, 18, 21, 255}, {247, 248, 249, 255}}};

}  // namespace

const Fonts& fonts() { return current; }

void set_colours(bool is_light) {
  for (const auto& [colour, dark, light] : shades) *colour = is_light ? light : dark;
  for (const auto& [colour, dark, light] : pixels) *colour = is_light ? light : dark;
}

void set_theme(float scale, bool light) {
  set_colours(light);
  ImGui::GetIO().Fonts->Clear();
  const auto regular = {"/usr/share/fonts/opentype/inter/Inter-Regular.otf",
                        "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"};
  const auto semibold = {"/usr/share/fonts/opentype/inter/Inter-SemiBold.otf",
                         "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"};
  current.text = add(regular, 15 * scale);
  current.bold = add(semibold, 15 * scale);
  current.large = add(semibold, 21 * scale);

  ImGuiStyle style;
  light ? ImGui::StyleColorsLight(&style) : ImGui::StyleColorsDark(&style);
  style.WindowPadding = {14, 12};
  style.FramePadding = {8, 4};
  style.ItemSpacing = {8, 6};
  style.ItemInnerSpacing = {6, 4};
  style.CellPadding = {6, 3};
  style.IndentSpacing = 14;
  style.ScrollbarSize = 11;
  style.GrabMinSize = 12;
  style.WindowRounding = 0;
  style.FrameRounding = 5;
  style.GrabRounding = 5;
  style.PopupRounding = 6;
  style.ScrollbarRounding = 6;
  style.WindowBorderSize = 0;
  style.ScaleAllSizes(scale);
  style.Colors[ImGuiCol_Text] = colour::text;
  style.Colors[ImGuiCol_TextDisabled] = colour::dim;
  style.Colors[ImGuiCol_ScrollbarBg] = {0, 0, 0, 0};
  // Backgrounds that text is readable over: those of panels with a share of another colour.
  const auto mix = [&](const ImVec4& c, float share, std::initializer_list<ImGuiCol> all) {
    const ImVec4& p = colour::panel;
    for (const ImGuiCol which : all)
      style.Colors[which] = {p.x + (c.x - p.x) * share, p.y + (c.y - p.y) * share,
                             p.z + (c.z - p.z) * share, 1};
  };
  mix(colour::text, 0, {ImGuiCol_WindowBg});
  mix(colour::text, 0.03f, {ImGuiCol_PopupBg, ImGuiCol_TableRowBgAlt});
  mix(colour::text, 0.08f, {ImGuiCol_FrameBg, ImGuiCol_Header, ImGuiCol_TableHeaderBg});
  mix(colour::text, 0.13f,
      {ImGuiCol_Button, ImGuiCol_FrameBgHovered, ImGuiCol_Separator, ImGuiCol_TableBorderLight});
  mix(colour::text, 0.17f,
      {ImGuiCol_Border, ImGuiCol_FrameBgActive, ImGuiCol_HeaderHovered,
       ImGuiCol_TableBorderStrong});
  mix(colour::text, 0.22f, {ImGuiCol_HeaderActive});
  mix(colour::accent, 0.25f, {ImGuiCol_ButtonHovered});
  mix(colour::accent, 0.45f, {ImGuiCol_ButtonActive, ImGuiCol_SliderGrab, ImGuiCol_TextSelectedBg});
  mix(colour::accent, 0.6f, {ImGuiCol_SliderGrabActive});
  mix(colour::accent, 1,
      {ImGuiCol_CheckMark, ImGuiCol_PlotHistogram, ImGuiCol_PlotHistogramHovered});
  ImGui::GetStyle() = style;
}

gl::Rgba8 ramp_colour(double place) {
  const Vec3 c = render::colour_ramp(place);
  return {render::srgb(c.x), render::srgb(c.y), render::srgb(c.z), 255};
}

}  // namespace heapwood::viewer
