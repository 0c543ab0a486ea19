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

}  // namespace

const Fonts& fonts() { return current; }

void set_theme(float scale) {
  ImGui::GetIO().Fonts->Clear();
  const auto regular = {"/usr/share/fonts/opentype/inter/Inter-Regular.otf",
                        "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"};
  const auto semibold = {"/usr/share/fonts/opentype/inter/Inter-SemiBold.otf",
                         "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"};
  current.text = add(regular, 15 * scale);
  current.bold = add(semibold, 15 * scale);
  current.large = add(semibold, 21 * scale);

  ImGuiStyle style;
  ImGui::StyleColorsDark(&style);
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
  style.ChildRounding = 6;
  style.ScaleAllSizes(scale);
  const auto set = [&](ImGuiCol which, float r, float g, float b, float a = 1) {
    style.Colors[which] = {r, g, b, a};
  };
  style.Colors[ImGuiCol_Text] = colour::text;
  style.Colors[ImGuiCol_TextDisabled] = colour::dim;
  set(ImGuiCol_WindowBg, 0.075f, 0.082f, 0.094f, 0.97f);
  set(ImGuiCol_PopupBg, 0.10f, 0.11f, 0.125f, 0.98f);
  set(ImGuiCol_Border, 0.20f, 0.22f, 0.25f);
  set(ImGuiCol_FrameBg, 0.135f, 0.147f, 0.168f);
  set(ImGuiCol_FrameBgHovered, 0.175f, 0.19f, 0.215f);
  set(ImGuiCol_FrameBgActive, 0.20f, 0.22f, 0.25f);
  set(ImGuiCol_Button, 0.165f, 0.19f, 0.215f);
  set(ImGuiCol_ButtonHovered, 0.21f, 0.27f, 0.27f);
  set(ImGuiCol_ButtonActive, 0.24f, 0.36f, 0.31f);
  set(ImGuiCol_Header, 0.15f, 0.165f, 0.19f);
  set(ImGuiCol_HeaderHovered, 0.19f, 0.215f, 0.24f);
  set(ImGuiCol_HeaderActive, 0.22f, 0.26f, 0.28f);
  set(ImGuiCol_CheckMark, colour::accent.x, colour::accent.y, colour::accent.z);
  // Colours over which text is readable.
  set(ImGuiCol_SliderGrab, 0.24f, 0.40f, 0.31f);
  set(ImGuiCol_SliderGrabActive, 0.29f, 0.50f, 0.38f);
  set(ImGuiCol_Separator, 0.18f, 0.20f, 0.225f);
  set(ImGuiCol_PlotHistogram, 0.38f, 0.66f, 0.49f);
  set(ImGuiCol_PlotHistogramHovered, 0.50f, 0.80f, 0.61f);
  set(ImGuiCol_TableHeaderBg, 0.12f, 0.13f, 0.15f);
  set(ImGuiCol_TableRowBgAlt, 1, 1, 1, 0.022f);
  set(ImGuiCol_TableBorderLight, 0.16f, 0.175f, 0.20f);
  set(ImGuiCol_TableBorderStrong, 0.20f, 0.22f, 0.25f);
  set(ImGuiCol_ScrollbarBg, 0, 0, 0, 0);
  set(ImGuiCol_TextSelectedBg, 0.26f, 0.45f, 0.35f);
  ImGui::GetStyle() = style;
}

gl::Rgba8 ramp_colour(double place) {
  const Vec3 c = render::colour_ramp(place);
  return {render::srgb(c.x), render::srgb(c.y), render::srgb(c.z), 255};
}

}  // namespace heapwood::viewer
