// SPDX-License-Identifier: MIT
// How buttons, keys and the results of jobs change the state.
#include <fmt/format.h>
#include <imgui.h>

#include <filesystem>

#include "render/auto_camera.hpp"
#include "viewer/state.hpp"

namespace heapwood::viewer {

namespace {

JobSpec spec_of(const State& state, JobSpec::Kind kind) {
  JobSpec spec;
  spec.kind = kind;
  spec.allocators = {state.choice.allocator};
  const bool both = kind == JobSpec::Kind::record || kind == JobSpec::Kind::live;
  if (both && state.choice.other) spec.allocators.push_back(state.choice.other);
  spec.source = state.choice.source;
  if (!state.options.up.empty()) spec.up = bench::parse_axis(state.options.up);
  spec.settings = state.choice.settings;
  spec.settings.pool = state.choice.pools[both].size;
  spec.pool_grows = spec.settings.pool == Choice().pools[1].size;
  spec.device = state.choice.device;
  return spec;
}

constexpr const char* busy_text = "Another job is running. Wait for it, or press Esc to cancel it.";

// Returns whether the job has started.
bool start(State& state, const JobSpec& spec) {
  if (const char* reason = why_only_live(state);
      reason && spec.has_scene() && spec.kind != JobSpec::Kind::live) {
    state.add_message(Message::Kind::error, state.choice.source + ": " + reason);
    return false;
  }
  if (!state.jobs.start(spec)) {
    state.warn(busy_text);
    return false;
  }
  // Messages about earlier jobs no longer apply.
  std::erase_if(state.messages, [&](const Message& m) {
    return m.kind != Message::Kind::note && m.time < state.now;
  });
  return true;
}

bool can_build(State& state, const registry::RegisteredAllocator& entry) {
  const char* reason = why_not_buildable(state, entry);
  if (reason)
    state.fail(Error(Exit::usage,
                     fmt::format("{}: {}; choose another allocator", entry.traits->label, reason)));
  return !reason;
}

void show_scene(State& state, const std::shared_ptr<const BuiltScene>& scene) {
  const bool other = !state.scene || state.scene->source != scene->source;
  state.scene = scene;
  const bool lesson = shows_lesson(state);
  state.tree.clear();
  state.node.clear();
  state.probe.clear();
  if (other) {
    if (state.lesson.step) end_lesson(state);
    reset_view(state);
    state.built.reset();
  }
  // The camera on the command line applies to the first scene only.
  if (state.fit_pending && !state.options.camera.empty()) {
    // A camera that parses may be invalid for the scene: eye and target may be equal in single
    // precision.
    try {
      state.camera = render::parse_camera(state.options.camera, scene->home.up, scene->mesh.origin);
    } catch (const Error& error) {
      state.fail(Error(error.exit(), fmt::format("--camera: {}", error.what())));
    }
    light_view(state);
  }
  state.fit_pending = false;
  if (!other) return;
  for (const std::string& text : scene->mesh.notes) state.warn(text);
  state.compared.clear();
  state.heap.clear();
  if (lesson) show_lesson(state, 0);  // begins again
}

void take_results(State& state, JobOutcome& outcome) {
  const bool build = outcome.spec.kind == JobSpec::Kind::build;
  // Failures within a comparison become messages when the comparison ends.
  for (const bench::Result& result : outcome.results) {
    if (!outcome.ended) break;
    if (result.status == bench::Status::incomplete && build) {
      state.warn(bench::exhaustion_text(result));
    } else if (result.status == bench::Status::failed) {
      const Error error(Exit::failed, fmt::format("{}: {}", result.label, result.reason));
      if (build) state.last_error = error;
      state.add_message(Message::Kind::error, error.what());
    } else if (result.status == bench::Status::skipped && build && !outcome.cancelled) {
      state.last_error =
          Error(Exit::failed, fmt::format("{} was skipped: {}", result.label, result.reason));
      state.warn(state.last_error->what());
    }
  }
  if (outcome.results.empty()) return;
  if (outcome.spec.kind == JobSpec::Kind::compare) {
    state.compared = std::move(outcome.results);
  } else if (outcome.results.front().tree) {
    state.built = std::move(outcome.results.front());
  }
}

// Handles the outcome of a job that has ended.
void end_job(State& state, JobOutcome& outcome) {
  std::erase_if(state.messages, [](const Message& m) { return m.text == busy_text; });
  const bool live = outcome.spec.kind == JobSpec::Kind::live;
  if (live) state.live.problem = outcome.error;
  if (outcome.error.starts_with("unknown scene"))
    outcome.error += "; program traces (.trace) and moving scenes (statue~) open, too";
  if (!outcome.error.empty()) {
    state.fail(Error(outcome.exit, outcome.error));
    const bool of_scene = outcome.exit == Exit::scene && outcome.spec.has_scene();
    if (of_scene && state.scene) {
      choose_source(state, state.scene->source);
      if (live) state.live.problem.clear();  // goes on with the earlier scene
    }
  }
  if (!outcome.warning.empty()) state.warn(outcome.warning);
  if (outcome.cancelled) state.note("Cancelled.");
  take_results(state, outcome);
  for (const auto& recording : outcome.recordings) {
    if (!recording->in_pool)
      state.warn(recording->label + ": its blocks are outside the pool, so there is no heap map.");
  }
  if (!outcome.recordings.empty()) {
    state.recorded = outcome.spec;
    state.heap.show(std::move(outcome.recordings));
  }
  ++state.finished[static_cast<std::size_t>(outcome.spec.kind)];
}

}  // namespace

void State::add_message(Message::Kind kind, const std::string& text) {
  // A repeated message is shown once, with a count.
  unsigned count = 1;
  std::erase_if(messages, [&](const Message& m) {
    const bool same = m.kind == kind && m.text == text;
    if (same) count += m.count;
    return same;
  });
  messages.push_back({kind, text, now, count});
  while (messages.size() > 50) messages.pop_front();
}

void State::fail(const Error& error) {
  add_message(Message::Kind::error, error.what());
  last_error = error;
}

void Places::note(const std::string& name) {
  const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
  centre[name] = {(low.x + high.x) / 2, (low.y + high.y) / 2};
  width[name] = high.x - low.x;
}

void FrameTimes::add(double thread_ms, double now) {
  // Time before the first frame belongs to no frame.
  if (const double before = std::exchange(thread_ms_, thread_ms); before > 0)
    cpu_ms.push_back(thread_ms - before);
  if (cpu_ms.size() > 240) cpu_ms.pop_front();
  ++frames_;
  if (now - second_ < 1) return;
  last_second_fps = frames_ / (now - second_);
  second_ = now;
  frames_ = 0;
}

void open_scene(State& state, const std::string& source) {
  if (is_program_trace(source)) return open_trace(state, source);
  if (state.jobs.progress().running) return state.warn(busy_text);
  choose_source(state, source);
  state.tab == Tab::live ? start_live(state) : start_build(state);
}

const char* why_not_buildable(const State& state, const registry::RegisteredAllocator& entry) {
  if (!entry.on(state.choice.device.id.kind)) return "is not compiled for this device";
  return bench::cannot_build(entry);
}

void start_build(State& state) {
  choose_default_scene(state);
  if (!can_build(state, *state.choice.allocator)) return;
  start(state, spec_of(state, JobSpec::Kind::build));
}

const char* name(Tab tab) {
  constexpr const char* names[] = {"live", "learn", "compare", "heap"};
  return names[static_cast<int>(tab)];
}

Tab parse_tab(const std::string& text) {
  for (const Tab tab : all_tabs) {
    if (text == name(tab)) return tab;
  }
  throw Error(Exit::usage, fmt::format("--tab '{}': expected live, learn, compare or heap", text));
}

void show_tab(State& state, Tab tab) {
  if (tab == Tab::heap && state.tab != Tab::heap) state.tab_before_heap = state.tab;
  state.tab = tab;
}

void start_live(State& state) {
  choose_default_scene(state);
  state.live.clear();
  if (!can_build(state, *state.choice.allocator)) {
    state.live.problem = "The allocator cannot build trees on this device.";
    return;
  }
  if (!state.choice.other || why_not_buildable(state, *state.choice.other)) {
    // B is initially CMalloc, which is clearly slower than Heapwood.
    const registry::RegisteredAllocator* const cmalloc = registry::find("cmalloc");
    state.choice.other =
        cmalloc && !why_not_buildable(state, *cmalloc) ? cmalloc : state.choice.allocator;
  }
  state.jobs.live().choose({state.choice.allocator, state.choice.other});
  start(state, spec_of(state, JobSpec::Kind::live));
}

void choose_live(State& state, unsigned side, const registry::RegisteredAllocator& entry) {
  if (!can_build(state, entry)) return;
  (side == 0 ? state.choice.allocator : state.choice.other) = &entry;
  state.live.frozen = false;
  if (!state.jobs.is_live()) return start_live(state);
  state.jobs.live().choose({state.choice.allocator, state.choice.other});
}

void start_compare(State& state) {
  choose_default_scene(state);
  JobSpec spec = spec_of(state, JobSpec::Kind::compare);
  spec.allocators.clear();
  for (const registry::RegisteredAllocator& entry : registry::allocators())
    spec.allocators.push_back(&entry);
  if (!start(state, spec)) return;
  state.compared.clear();
  show_tab(state, Tab::compare);
}

bool has_live_figures(const LiveView& live, std::size_t frames) {
  return std::ranges::all_of(live.sides, [&](const LiveSide& side) {
    return side.recording && (side.times.samples().size() >= frames || side.times.exhausted());
  });
}

bool is_running(const State& state, JobSpec::Kind kind) {
  const JobProgress job = state.jobs.progress();
  return job.running && job.kind == kind;
}

void start_recording(State& state) {
  choose_default_scene(state);
  JobSpec spec = spec_of(state, JobSpec::Kind::record);
  for (const registry::RegisteredAllocator* entry : spec.allocators)
    if (!can_build(state, *entry)) return;
  if (start(state, spec)) show_tab(state, Tab::heap);
}

void open_trace(State& state, const std::string& path) {
  JobSpec spec = spec_of(state, JobSpec::Kind::record);
  spec.trace = path;
  if (start(state, spec)) show_tab(state, Tab::heap);
}

void record_again(State& state) {
  state.recorded.has_scene() ? start_recording(state) : open_trace(state, state.recorded.trace);
}

void reset_view(State& state) {
  if (!state.scene) return;
  state.show.fly = state.scene->interior;
  state.camera = state.scene->home;
  state.lighting = state.scene->lighting;
}

void light_view(State& state) {
  if (!state.scene) return;
  try {
    state.lighting = render::choose_lighting(*state.scene->traced, state.camera);
  } catch (const simt::Stopped&) {
    // Tracing for the light fails while a job is being cancelled, which stops every launch.
    state.note("The light is unchanged: a job was being cancelled.");
  }
}

std::string free_name(const std::string& scene, const std::string& ending) {
  std::string stem = scene;
  for (char& c : stem) {
    if (c == ':' || c == '/' || c == '\\') c = '-';
  }
  for (unsigned i = 1;; ++i) {
    std::string name = fmt::format("{}-{:03}{}", stem, i, ending);
    std::error_code ignored;
    if (!std::filesystem::exists(name, ignored)) return name;
  }
}

void take_screenshot(State& state, const std::string& path) {
  if (!state.scene)
    return state.warn("No scene has been built yet: there is nothing to take a screenshot of.");
  if (state.shot) return state.warn("The last screenshot is still being rendered.");
  const ShotSettings& s = state.shot_settings;
  const std::string name = path.empty() ? free_name(state.scene->name) : path;
  state.shot = {name,
                s,
                {state.scene, state.camera, state.lighting, state.mode, state.clay,
                 static_cast<unsigned>(s.width), static_cast<unsigned>(s.height),
                 static_cast<unsigned>(s.samples)}};
  state.note(fmt::format("Rendering {}, {}x{}, {} samples per pixel.", name, s.width, s.height,
                         s.samples));
}

Choice::Pool& pool_of(State& state, Tab tab) {
  return state.choice.pools[tab == Tab::live || tab == Tab::heap];
}

void take_pool_text(State& state) {
  Choice::Pool& pool = pool_of(state, state.tab);
  try {
    pool.size = bench::parse_pool(pool.text);
    pool.problem.clear();
  } catch (const Error& error) {
    // Removes the option's name on the command line from the message.
    std::string text = error.what();
    constexpr std::string_view option = "--pool ";
    if (text.starts_with(option)) text.erase(0, option.size());
    pool.problem = fmt::format("{}; still using {}", text, pool.size.text);
  }
}

bool is_outdated(const State& state, const bench::Result& built) {
  const bench::BuildSettings &now = state.choice.settings, &then = built.settings;
  const bench::PoolSize& pool = state.choice.pools[0].size;
  return built.allocator != state.choice.allocator->traits->id || now.refs != then.refs ||
         pool.text != then.pool.text || now.costs.traversal != then.costs.traversal ||
         now.costs.intersection != then.costs.intersection ||
         now.costs.empty_bonus != then.costs.empty_bonus ||
         now.costs.duplicate != then.costs.duplicate;
}

void cancel_shot(State& state) {
  if (!state.shot) return;
  state.note(state.shot->path + ": cancelled, nothing was written");
  state.shot.reset();
  state.shot_cancelled = true;
}

void take_outcomes(State& state) {
  for (const LiveEvent& event : state.jobs.live().take()) state.live.take(event);
  while (auto outcome = state.jobs.take()) {
    if (outcome->scene) show_scene(state, outcome->scene);
    outcome->ended ? end_job(state, *outcome) : take_results(state, *outcome);
  }
}

void choose_source(State& state, const std::string& source) {
  state.choice.source = source;
  state.choice.moves = is_moving(source);
}

// Chooses a scene if the window was opened with a trace only. It is small in Live on a CPU, where a
// frame of a larger one would take too long.
void choose_default_scene(State& state) {
  if (state.choice.source.empty())
    choose_source(state, fmt::format("atrium:{}k", live_triangles / 1000));
}

const char* why_only_live(const State& state) {
  return state.choice.moves
             ? "a moving scene is built only in Live. Choose a static scene for this."
             : nullptr;
}

bool shows_trace(const State& state) {
  return !state.heap.recordings.empty() && state.heap.recordings.front()->is_trace;
}

std::string recorded_name(const State& state) {
  if (state.heap.recordings.empty()) return "";
  const std::string& name = state.heap.recordings.front()->scene;
  return shows_trace(state) ? "program trace " + name : name;
}

}  // namespace heapwood::viewer
