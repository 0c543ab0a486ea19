// SPDX-License-Identifier: MIT
// Widgets shared by all parts of the panel.
#pragma once

#include <imgui.h>

#include <string>

#include "viewer/state.hpp"
#include "viewer/theme.hpp"

namespace heapwood::viewer::ui {

// A collapsible heading.
bool section(const char* title, bool open = true);
// "label      value", with a hint under the mouse.
bool begin_rows(const char* id);
void row(const char* label, const std::string& value, const char* hint = nullptr,
         const ImVec4& colour = colour::text);
void end_rows();

// A button that scripts can click; `strong` for the main action.
bool button(State& state, const char* label, bool strong = false, bool enabled = true,
            float width = 0);
// A drop-down that Esc closes; ends with ImGui::EndCombo().
bool begin_combo(State& state, const char* id, const std::string& shown);
// Explains the widget drawn last, once the mouse has rested on it.
void hint(const char* text);
// Once per frame: hints would cover an open list of keys, or the text that is typed.
void allow_hints(bool allowed);
const std::string& shown_hint();  // in the last frame, for reports
void dim_text(const std::string& text);
void wrapped_text(const std::string& text, const ImVec4& colour);  // nothing if it is empty

// Says that the times shown are not those of a GPU, if the chosen device is a CPU.
void cpu_notice(State& state);

// Continues on the same line if this width fits, otherwise on the next one.
void flow(float width);
// The label to the left of a field.
void field(const char* label);

}  // namespace heapwood::viewer::ui
