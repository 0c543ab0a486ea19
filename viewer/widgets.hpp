// SPDX-License-Identifier: MIT
// Small pieces that all parts of the panel are made of.
#pragma once

#include <imgui.h>

#include <string>

#include "viewer/state.hpp"
#include "viewer/theme.hpp"

namespace heapwood::viewer::ui {

// A heading that folds what follows.
bool section(const char* title, bool open = true);
// "label      value", with a hint under the mouse.
bool begin_rows(const char* id);
void row(const char* label, const std::string& value, const char* hint = nullptr, const ImVec4& colour = colour::text);
void end_rows();

// A button that scripts can find; `strong` for what one most likely wants.
bool button(State& state, const char* label, bool strong = false, bool enabled = true, float width = 0);
void hint(const char* text);
void dim_text(const std::string& text);

// Goes on in the line if something this wide fits into it, else in the next one.
void flow(float width);
// Names on the left of fields.
void field(const char* label);

}  // namespace heapwood::viewer::ui
