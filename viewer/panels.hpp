// SPDX-License-Identifier: MIT
// Parts drawn with Dear ImGui: each function draws a part of the state and calls actions
// (state.hpp).
#pragma once

#include "viewer/widgets.hpp"

namespace heapwood::viewer {

void draw_tab_bar(State& state, const Area& area);
// Draws what is over the picture: name, numbers, progress, messages, legend.
void draw_overlay(State& state, const Area& area);
void draw_help(State& state);  // covers everything

void draw_panel(State& state, const Area& area);  // the side panel with the sections below
void draw_scene_section(State& state);
void draw_build_section(State& state);
void draw_compare_section(State& state);
// Draws counts and sizes of requests; nullptr: not known yet.
void draw_allocations_section(State& state, const alloc::RequestStats* requests);
void draw_lesson_button(State& state);
void draw_node_section(State& state);
// In the Heap tab: records a build; memory and requests of what its maps show.
void draw_record_section(State& state);
void draw_recorded_sections(State& state);

void draw_live_panel(State& state, const Area& area);    // verdict and costs
void draw_live_below(State& state, const Area& area);    // frames, maps, allocators
void draw_live_overlay(State& state, const Area& area);  // over the picture: A and B
void draw_heap(State& state, const Area& area);          // heap maps, below the picture
// Draws the caption over the picture; returns the height that it covers, from the lower edge.
float draw_lesson(State& state, const Area& area);

// Parts used by several of these. draw_map() draws a map of the pool with its title.
void draw_map(State& state, HeapView& view, std::size_t which, float width, float height);
// Draws a line about the maps: `words`, the addresses, and the meaning of the colours.
void draw_map_legend(State& state, const HeapView& view, const std::string& words);
void scene_combo(State& state);
void allocator_field(State& state);
// Returns true if the field was left with another text that is a valid pool.
bool choose_pool(State& state);
// The button of a job that builds the scene; grey, with the reason, if the job cannot start.
bool build_button(State& state, const char* label, bool strong, float width, const char* hint);
std::string speed_text(const bench::Result& built);  // "" unless a tree was completed

}  // namespace heapwood::viewer
