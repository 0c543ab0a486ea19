// SPDX-License-Identifier: MIT
// What buttons, keys and finished jobs do to the state.
#include <fmt/format.h>
#include <imgui.h>

#include <utility>

#include "app/build_report.hpp"
#include "render/auto_light.hpp"
#include "viewer/state.hpp"

namespace heapwood::viewer {

namespace {

JobSpec spec_of(const State& state, JobSpec::Kind kind) {
  JobSpec spec;
  spec.kind = kind;
  spec.source = state.choice.source;
  if (!state.options.up.empty()) spec.up = app::parse_axis(state.options.up);
  spec.settings = state.choice.settings;
  spec.device = state.choice.device;
  return spec;
}

void start(State& state, const JobSpec& spec) {
  if (!state.jobs.start(spec)) {
    state.say(Message::Kind::warning, "Another job is running: wait for it, or press Esc to cancel it.");
  }
}

bool can_build(State& state, const engine::Entry& entry) {
  const char* reason = why_not(state, entry);
  if (!reason) return true;
  const std::string text = fmt::format("{}: {}; choose another allocator", entry.traits->label, reason);
  state.say(Message::Kind::error, text);
  state.last_error = Error(Exit::usage, text);
  return false;
}

// What can be read may still be wrong for the scene: two points that are one in single precision.
void take_camera(State& state, const std::string& name, const std::string& text, unsigned up) {
  try {
    state.camera = render::parse_camera(text, up, state.scene->mesh.origin);
  } catch (const Error& error) {
    state.say(Message::Kind::error, fmt::format("{}: {}", name, error.what()));
    state.last_error = error;
  }
}

void show_scene(State& state, const std::shared_ptr<const BuiltScene>& scene) {
  const bool other = !state.scene || state.scene->source != scene->source;
  state.scene = scene;
  state.tree.forget();
  state.probe.forget();
  if (other) {
    reset_view(state);
    state.built.reset();
  }
  // The command line's camera is for the first scene.
  if (state.fit_pending && !state.options.camera.empty()) {
    take_camera(state, "--camera", state.options.camera, scene->home.up);
    light_view(state);
  }
  state.fit_pending = false;
  if (!other) return;
  state.compared.clear();
  state.heap.watched.reset();
  state.heap.recordings.clear();
  state.heap.visible = false;
}

void take_results(State& state, JobOutcome& outcome) {
  const bool build = outcome.kind == JobSpec::Kind::build;
  for (const app::Result& result : outcome.results) {
    if (result.status == app::Status::incomplete && build) {
      state.say(Message::Kind::warning, app::exhaustion_text(result));
    } else if (result.status == app::Status::failed) {
      const std::string text = fmt::format("{}: {}", result.label, result.reason);
      state.say(Message::Kind::error, text);
      if (build) state.last_error = Error(Exit::failed, text);
    } else if (result.status == app::Status::skipped && build && !outcome.cancelled) {
      const std::string text = fmt::format("{} was skipped: {}", result.label, result.reason);
      state.say(Message::Kind::warning, text);
      state.last_error = Error(Exit::failed, text);
    }
  }
  if (outcome.results.empty()) return;
  if (outcome.kind == JobSpec::Kind::compare) {
    state.compared = std::move(outcome.results);
  } else if (outcome.results.front().tree) {
    state.built = std::move(outcome.results.front());
  }
}

}  // namespace

void State::say(Message::Kind kind, const std::string& text) {
  messages.push_back({kind, text, now});
  while (messages.size() > 50) messages.pop_front();
}

void Places::note(const std::string& name) {
  const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
  centre[name] = {(low.x + high.x) / 2, (low.y + high.y) / 2};
}

void FrameTimes::add(double work_ms, double thread_ms, double now) {
  ms.push_back(work_ms);
  const double before = std::exchange(thread_ms_, thread_ms);
  if (before > 0) cpu_ms.push_back(thread_ms - before);  // what came before the first frame is no frame's
  if (ms.size() > 240) ms.pop_front();
  if (cpu_ms.size() > 240) cpu_ms.pop_front();
  ++frames_;
  if (now - second_ < 1) return;
  last_second_fps = frames_ / (now - second_);
  second_ = now;
  frames_ = 0;
}

void open_scene(State& state, const std::string& source) {
  if (state.jobs.progress().running) {
    state.say(Message::Kind::warning, "Another job is running: wait for it, or press Esc to cancel it.");
    return;
  }
  state.choice.source = source;
  start_build(state);
}

const char* why_not(const State& state, const engine::Entry& entry) {
  if (!entry.on(state.choice.device.id.kind)) return "is not compiled for this device";
  return app::cannot_build(entry);
}

void start_build(State& state) {
  if (!can_build(state, *state.choice.allocator)) return;
  JobSpec spec = spec_of(state, JobSpec::Kind::build);
  spec.allocators = {state.choice.allocator};
  start(state, spec);
}

void start_compare(State& state) {
  JobSpec spec = spec_of(state, JobSpec::Kind::compare);
  for (const engine::Entry& entry : engine::registry()) spec.allocators.push_back(&entry);
  start(state, spec);
}

void start_recording(State& state) {
  JobSpec spec = spec_of(state, JobSpec::Kind::record);
  if (!can_build(state, *state.choice.allocator)) return;
  spec.allocators = {state.choice.allocator};
  if (state.choice.other && state.choice.other != state.choice.allocator) {
    if (!can_build(state, *state.choice.other)) return;
    spec.allocators.push_back(state.choice.other);
  }
  spec.slowed = state.heap.pace < HeapView::full_pace;
  start(state, spec);
}

void reset_view(State& state) {
  if (!state.scene) return;
  state.camera = state.scene->home;
  state.lighting = state.scene->lighting;
}

void light_view(State& state) {
  if (state.scene) state.lighting = render::choose_lighting(*state.scene->traced, state.camera);
}

void add_bookmark(State& state) {
  if (!state.scene) return;
  std::vector<Bookmark>& list = state.settings.bookmarks[state.scene->source];
  list.push_back({fmt::format("View {}", list.size() + 1), render::to_string(state.camera, state.scene->mesh.origin),
                  state.camera.up});
  state.bookmark = list.size() - 1;
  state.say(Message::Kind::note, fmt::format("{} is kept for {}.", list.back().name, state.scene->name));
}

void go_to_bookmark(State& state, std::size_t index) {
  if (!state.scene) return;
  const std::vector<Bookmark>& list = state.settings.bookmarks[state.scene->source];
  if (list.empty()) {
    state.say(Message::Kind::note, "No view is kept for this scene yet: press K to keep this one.");
    return;
  }
  state.bookmark = index % list.size();
  const Bookmark& kept = list[state.bookmark];
  take_camera(state, kept.name, kept.camera, kept.up);
}

void take_screenshot(State& state, const std::string& path) {
  if (!state.scene) return state.say(Message::Kind::warning, "There is no scene to take a picture of yet.");
  const Settings& s = state.settings;
  const std::string name = path.empty() ? free_name(state.scene->name) : path;
  if (s.shot_panel) {
    state.shots.panel = {name, s.shot_width, s.shot_height, static_cast<unsigned>(s.shot_spp)};
    return;
  }
  render::RenderJob job;
  job.mode = state.mode;
  job.width = static_cast<unsigned>(s.shot_width);
  job.height = static_cast<unsigned>(s.shot_height);
  job.spp = static_cast<unsigned>(s.shot_spp);
  job.camera = state.camera;
  job.lighting = state.lighting;
  if (!state.shots.start(state.scene, job, name)) {
    state.say(Message::Kind::warning, "The last screenshot is still being rendered.");
  }
}

void cancel_all(State& state) {
  state.jobs.cancel();
  state.shots.cancel();
  if (const auto shot = std::exchange(state.shots.panel, std::nullopt)) {
    state.say(Message::Kind::note, shot->path + ": cancelled, nothing was written");
    state.shot_cancelled = true;
  }
}

void take_outcomes(State& state) {
  while (auto outcome = state.jobs.take()) {
    if (outcome->scene) show_scene(state, outcome->scene);
    if (outcome->live) state.heap.watch(*outcome->live);
    if (!outcome->ended) {
      if (!outcome->recordings.empty()) state.heap.complete(outcome->recordings.back());
      continue;
    }
    state.heap.watched.reset();  // a build that was stopped
    if (!outcome->error.empty()) {
      state.say(Message::Kind::error, outcome->error);
      state.last_error = Error(outcome->exit, outcome->error);
      if (outcome->exit == Exit::scene && state.scene) state.choice.source = state.scene->source;
    }
    if (outcome->cancelled) state.say(Message::Kind::note, "Cancelled.");
    take_results(state, *outcome);
    if (!outcome->recordings.empty()) {
      for (const auto& recording : outcome->recordings) {
        if (!recording->in_pool) {
          state.say(Message::Kind::warning,
                    recording->label + ": its blocks lie outside of the pool, there is no map of them.");
        }
      }
      state.heap.show(std::move(outcome->recordings));
    }
    if (outcome->kind == JobSpec::Kind::build) ++state.pictures_built;
    if (outcome->kind == JobSpec::Kind::compare) ++state.comparisons;
    if (outcome->kind == JobSpec::Kind::record) ++state.recordings;
  }
}

}  // namespace heapwood::viewer
