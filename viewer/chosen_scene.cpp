// SPDX-License-Identifier: MIT
// The chosen scene: whether it moves, what of it can be built, and what names say about it.
#include <fmt/format.h>

#include "scenes/moving/moving_scene.hpp"
#include "viewer/state.hpp"

namespace heapwood::viewer {

namespace {

const State::Motion& motion_of(State& state) {
  State::Motion& motion = state.motion;
  if (motion.source != state.choice.source) {  // not in every frame: this may read files
    motion.source = state.choice.source;
    motion.moves = is_moving(motion.source);
    motion.of_files = motion.moves && !scenes::moving_files(motion.source).empty();
    motion.still = still_source(motion.source);
  }
  return motion;
}

}  // namespace

// Chooses a scene if the window was opened with a trace only. With a larger one, a frame of Live on
// a CPU would take too long.
void choose_default_scene(State& state) {
  if (state.choice.source.empty())
    state.choice.source = fmt::format("atrium:{}k", live_triangles / 1000);
}

const char* why_only_live(State& state) {
  const State::Motion& motion = motion_of(state);
  return motion.moves && motion.still.empty()
             ? "This scene moves and is built only in Live. Choose a static scene for this."
             : nullptr;
}

std::string shown_scene_name(State& state) {
  if (!state.scene) return "";
  const State::Motion& motion = motion_of(state);
  const bool stands = motion.moves && state.scene->source == motion.still;
  return state.scene->name + (!stands ? "" : motion.of_files ? ", first frame only" : ", unmoved");
}

bool shows_trace(const State& state) {
  const auto& recordings = state.heap.recordings;
  return !recordings.empty() && recordings.front()->is_trace;
}

std::string recorded_name(State& state) {
  if (state.heap.recordings.empty()) return "";
  const std::string& name = state.heap.recordings.front()->scene;
  if (shows_trace(state)) return name.starts_with("stress test") ? name : "program trace " + name;
  return state.scene && state.scene->name == name ? shown_scene_name(state) : name;
}

}  // namespace heapwood::viewer
