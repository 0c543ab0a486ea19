// SPDX-License-Identifier: MIT
// Parts drawn with Dear ImGui. Each function draws one part of the state and calls the actions of
// state.hpp.
#pragma once

#include "viewer/state.hpp"

namespace heapwood::viewer {

// A rectangle of the window in pixels, from the top left corner.
struct Area {
  float x = 0, y = 0, width = 0, height = 0;
};

void draw_panel(State& state, const Area& area);  // the side panel: all sections below
void draw_scene_section(State& state);
void draw_build_section(State& state);
void draw_compare_section(State& state);
void draw_allocations_section(State& state);
void draw_memory_section(State& state);
void draw_view_section(State& state);
void draw_tree_section(State& state);
void draw_screenshot_section(State& state);

void draw_heap(State& state, const Area& area);  // heap maps, below the picture
void draw_heap_plots(State& state, float width, float height);
void draw_overlay(State& state,
                  const Area& area);  // over the picture: name, numbers, progress, messages, legend
void draw_help(State& state);         // over everything

}  // namespace heapwood::viewer
