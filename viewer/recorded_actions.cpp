// SPDX-License-Identifier: MIT
// Actions on what has been recorded: camera paths, recordings for the heap map.
#include <fmt/format.h>

#include <utility>

#include "bench/program/input_file.hpp"
#include "bench/program/output_file.hpp"
#include "bench/results/format.hpp"
#include "viewer/state.hpp"
#include "viewer/trace_export.hpp"

namespace heapwood::viewer {

void export_recordings(State& state, const std::string& path) {
  const auto& recordings = state.heap.recordings;
  if (recordings.empty())
    return state.add_message(Message::Kind::warning, "Nothing has been recorded yet.");
  const std::string name = path.empty() ? free_name(recordings.front()->scene, ".json") : path;
  try {
    bench::OutputFile(name).write(chrome_trace(recordings));
    state.add_message(Message::Kind::note,
                      "Saved " + name + ". Open it with ui.perfetto.dev or chrome://tracing.");
  } catch (const Error& error) {
    state.add_message(Message::Kind::error, error.what());
    state.last_error = error;
  }
}

void show_node_of(State& state, const Recording& recording, const workloads::Block& block) {
  const Recording::NodeEvent* event = recording.node_of(block);
  if (!event || !state.scene || state.scene->name != recording.scene) return;
  const std::vector<RootPath> nodes = nodes_with(state.scene->tree, event->depth, event->refs);
  const std::string what =
      fmt::format("depth {} with {} refs", event->depth, bench::count_text(event->refs));
  if (nodes.empty()) {
    state.add_message(Message::Kind::note, "The tree that is shown has no node at " + what + ".");
    return;
  }
  state.node.visible = true;
  state.node.choose(state.scene, nodes.front(), state.choice.settings);
  state.add_message(Message::Kind::note,
                    nodes.size() == 1 ? "Learn (F6) explains its node, at " + what + "."
                                      : fmt::format("{} nodes are at {}; Learn (F6) explains one.",
                                                    nodes.size(), what));
}

void record_path(State& state) {
  PathView& view = state.path;
  if (!has_scene(state)) return;
  if (!view.recording) {
    view = {};
    view.recording = true;
    view.since = state.now;
    return state.add_message(Message::Kind::note, "Recording the camera; press R to end.");
  }
  view.recording = false;
  if (view.path.keys().size() < 2)
    return state.add_message(Message::Kind::warning, "The recording is empty: nothing was saved.");
  const std::string name = free_name(state.scene->name, ".path");
  try {
    bench::OutputFile(name).write(view.path.text(state.scene->mesh.origin));
    state.add_message(Message::Kind::note,
                      fmt::format("Saved {}: {:.1f} s, {} keys.", name, view.path.seconds(),
                                  view.path.keys().size()));
  } catch (const Error& error) {
    state.add_message(Message::Kind::error, error.what());
    state.last_error = error;
  }
}

void play_path(State& state) {
  PathView& view = state.path;
  view.playing = !view.playing && !view.recording && !view.path.keys().empty();
  view.since = state.now;
}

void advance_path(State& state) {
  PathView& view = state.path;
  const double time = state.now - view.since;
  if (view.recording) view.path.add(time, state.camera);
  if (!view.playing) return;
  state.camera = view.path.at(time);
  view.playing = time < view.path.seconds();
}

void open_path(State& state, const std::string& file) {
  if (!has_scene(state)) return;
  try {
    const std::optional<std::string> text = bench::read_text(file, Exit::usage);
    if (!text) throw Error(Exit::usage, file + ": no such file");
    // A file that cannot be read ends no recording.
    PathView opened;
    opened.path = CameraPath::parse(*text, file, state.camera.up, state.scene->mesh.origin);
    state.path = std::move(opened);
    play_path(state);
  } catch (const Error& error) {
    state.add_message(Message::Kind::error, error.what());
    state.last_error = error;
  }
}

}  // namespace heapwood::viewer
