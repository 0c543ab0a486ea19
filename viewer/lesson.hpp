// SPDX-License-Identifier: MIT
// Six captioned steps through the build of the scene's tree, for the Learn tab. Each step sets what
// is drawn over the picture; the caption has the numbers of this tree.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace heapwood::viewer {

struct State;

struct Lesson {
  static constexpr std::size_t steps = 6;
  std::optional<std::size_t> step;  // none: no lesson is shown
  double since = 0;                 // when the step began
};

const char* lesson_title(std::size_t step);
std::string lesson_caption(const State& state, std::size_t step);

// Shows a step and what belongs to it in the Learn tab.
void show_lesson(State& state, std::size_t step);
void end_lesson(State& state);
// Next or previous step; begins the lesson, and ends it after the last step.
void page_lesson(State& state, int by);
// Once per frame: boxes that appear one level after the other.
void advance_lesson(State& state);

}  // namespace heapwood::viewer
