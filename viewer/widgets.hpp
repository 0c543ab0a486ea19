// SPDX-License-Identifier: MIT
// Widgets and drawing shared by all parts of the window.
#pragma once

#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include "bench/results/format.hpp"
#include "viewer/state.hpp"

namespace heapwood::viewer {

// A rectangle of the window in pixels, from the top left corner.
struct Area {
  float x = 0, y = 0, width = 0, height = 0;
};

namespace ui {

// Flags of a window that covers an area; it ends with ImGui::End().
inline constexpr ImGuiWindowFlags fixed =
    ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
    ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus;
bool begin_area(const char* name, const Area& area, ImGuiWindowFlags flags = fixed);

// Begins a small window with round corners over the picture. Its point `pivot`, from (0, 0) to (1,
// 1), is at `position`. Without a width it is as wide as its content.
bool begin_card(const char* name, ImVec2 position, ImVec2 pivot, bool mouse = false,
                float opacity = 0.86f, float width = 0);
void end_card();

// Draws a collapsible heading; returns whether the section is open.
bool section(const char* title, bool open = true);
// Draws rows "label      value", with a hint under the mouse.
bool begin_rows(const char* id);
void row(const char* label, const std::string& value, const char* hint = nullptr,
         const ImVec4& colour = colour::text);

// A button, which scripts can click by its label. `strong`: the main action or active choice.
bool button(State& state, const char* label, bool strong = false, bool enabled = true,
            float width = 0);
bool checkbox(State& state, const char* label, bool& value, const std::string& hint = "");
// A slider with its label to the left.
bool slider(const char* label, int& value, int low, int high, const char* format = "%d",
            ImGuiSliderFlags flags = ImGuiSliderFlags_AlwaysClamp);
bool slider(const char* label, float& value, float low, float high, const char* format = "%.2f",
            ImGuiSliderFlags flags = ImGuiSliderFlags_AlwaysClamp);
// Begins a drop-down that Esc closes; it ends with ImGui::EndCombo().
bool begin_combo(State& state, const char* id, const std::string& shown);
bool item(const std::string& text, bool chosen, const std::string& hint = "", bool enabled = true);
// A drop-down of all allocators. Returns the one that was chosen in this frame, or nullptr.
const registry::RegisteredAllocator* choose_allocator(State& state, const char* id,
                                                      const registry::RegisteredAllocator* chosen);
// Draws a label to the left of a field.
void field(const char* label);
// Continues on the same line if a widget of this width fits there, otherwise on the next line.
void flow(float width);
// The width of each of `count` widgets that share the line.
float share_of_line(int count);

// Shows an explanation of the widget drawn last, once the mouse has rested on it; "": none.
void hint(const std::string& text);
// Called per frame. Hints must not cover an open list of keys, or text that is being typed.
void allow_hints(bool allowed);
const std::string& shown_hint();  // hint shown in the last frame, for reports

// Draw text on one line, or wrapped. Wrapped text that is empty takes no space.
void text(const std::string& text, const ImVec4& colour = colour::text);
void styled_text(ImFont* font, const std::string& text, const ImVec4& colour = colour::text);
void dim_text(const std::string& text);
void wrapped_text(const std::string& text, const ImVec4& colour);
float width_of(const std::string& text);
// If the chosen device is a CPU, says that the times shown are not those of a GPU.
void cpu_notice(State& state);

// The colour of a side of the window: 0 is A, 1 is B.
ImVec4 shade_of(std::size_t side, float opacity = 1);
// A colour of the theme with an opacity from 0 to 255.
inline ImU32 tint(unsigned opacity, const ImVec4& shade = colour::text) {
  return (ImGui::GetColorU32(shade) & ~IM_COL32_A_MASK) | opacity << IM_COL32_A_SHIFT;
}
// Draws values as bars, with texts below the first and the last one; one bar may be marked. tip(i)
// returns the explanation of a bar.
void bars(State& state, const char* id, ImVec2 size, const std::vector<std::uint64_t>& values,
          std::optional<std::size_t> marked, const std::array<std::string, 2>& ends,
          const std::function<std::string(std::size_t)>& tip);

// Draw in the current window.
void fill(ImVec2 low, ImVec2 high, ImU32 colour, float round = 0);
void line(ImVec2 from, ImVec2 to, ImU32 colour, float thick = 1);
void text_at(ImVec2 corner, const std::string& text,
             ImU32 colour = ImGui::GetColorU32(ImGuiCol_Text));

// A rectangle of the current window in which something is drawn; it is a widget.
struct Plot {
  // `ground` is the opacity of the background.
  Plot(State& state, const char* id, ImVec2 size, unsigned ground = 0);
  // The point at these fractions of the width, from the left, and of the height, from the lower
  // edge. The highest 5% stay free.
  ImVec2 place(double right, double up) const;
  ImVec2 corner, size, end;
  bool hovered;
};

}  // namespace ui

}  // namespace heapwood::viewer
