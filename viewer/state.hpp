// SPDX-License-Identifier: MIT
// The state that the window shows, and the actions on it. Owned by the window's thread; jobs and
// pictures have their own.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "viewer/camera.hpp"
#include "viewer/heap_map.hpp"
#include "viewer/jobs.hpp"
#include "viewer/live.hpp"
#include "viewer/node_view.hpp"
#include "viewer/options.hpp"
#include "viewer/picture.hpp"
#include "viewer/tree_view.hpp"

namespace heapwood::viewer {

struct Message {
  enum class Kind { note, warning, error };
  Kind kind = Kind::note;
  std::string text;
  double time = 0;     // of the last occurrence, in seconds since the start
  unsigned count = 1;  // occurrences
};

enum class Tab { live, learn, compare, heap };
inline constexpr Tab all_tabs[] = {Tab::live, Tab::learn, Tab::compare, Tab::heap};
const char* name(Tab tab);
// Throws Error{Exit::usage}, which names all tabs.
Tab parse_tab(const std::string& text);

// The modes of the number keys, and of the buttons.
inline constexpr render::Mode key_modes[] = {
    render::Mode::shaded, render::Mode::path,    render::Mode::ao,     render::Mode::normals,
    render::Mode::depth,  render::Mode::heatmap, render::Mode::leaves, render::Mode::albedo};

// Triangles of a frame in Live on a CPU, unless a size is given.
inline constexpr std::uint64_t live_triangles = 10000, moving_triangles = 5000;

// The panel's fields, for the next job.
struct Choice {
  std::string source;  // empty: none yet, because a trace was opened first
  bool moves = false;  // the scene of this source
  const registry::RegisteredAllocator* allocator = nullptr;  // A
  const registry::RegisteredAllocator* other = nullptr;      // B; nullptr: none
  simt::DeviceInfo device;
  bench::BuildSettings settings;
  // Text fields as typed. A pool that cannot be parsed has a problem; jobs use the one before it.
  std::string path_text, pool_text = settings.pool.text, pool_problem;
};

// What the window shows, and how the camera moves.
struct Preferences {
  bool panel = true, numbers = true, fly = false;
  float fly_speed = 0.15f;  // diagonals per second
};

// The next screenshot: of the scene or of the whole window.
struct ShotSettings {
  int width = 1920, height = 1080, samples = 64;  // per pixel
  bool window = false;
};

// A screenshot that is being made. Of the scene: what it had when the screenshot was asked for.
struct Shot {
  std::string path;
  ShotSettings settings;
  View view;
};

// The widgets of the last frame, by name, for scripts and reports: where each is, and its text.
struct Places {
  std::map<std::string, std::array<float, 2>> centre;
  std::map<std::string, float> width;
  std::map<std::string, std::string> texts;
  void note(const std::string& name);  // for the widget drawn last
};

// Six captioned steps through the build of the scene's tree, for the Learn tab. Each step sets what
// is drawn over the picture; the caption has the numbers of this tree.
struct Lesson {
  static constexpr std::size_t steps = 6;
  std::optional<std::size_t> step;  // none: no lesson is shown
  double since = 0;                 // when the step began
};

struct FrameTimes {
  std::deque<double> cpu_ms;  // processor time of the window's thread in recent frames
  double last_second_fps = 0;
  void add(double thread_ms, double now);
  // The thread's time before this call was other work and does not count towards the next frame.
  void exclude(double thread_ms) { thread_ms_ = thread_ms; }

 private:
  double second_ = 0, thread_ms_ = 0;  // at the last full second; at the last frame
  int frames_ = 0;
};

struct State {
  Options options;
  Preferences show;
  ShotSettings shot_settings;
  Choice choice;

  std::shared_ptr<const BuiltScene> scene;
  std::optional<bench::Result> built;   // the last build
  std::vector<bench::Result> compared;  // the last comparison, or the running one so far
  JobSpec recorded;                     // the job of the recordings shown
  Tab tab = Tab::live, tab_before_heap = Tab::learn;
  LiveView live;
  HeapView heap;
  TreeView tree;
  NodeView node;
  Lesson lesson;
  RayProbe probe;
  std::optional<Shot> shot;

  render::Camera camera;
  render::Lighting lighting;
  render::Mode mode = render::Mode::shaded;
  bool clay = false;        // pictures without the scene's colours
  bool fit_pending = true;  // the camera has not been set for a scene

  bool help = false;
  bool close_popups = false;  // in this frame: Esc was pressed
  std::deque<Message> messages;
  Places places;
  FrameTimes frames;
  double now = 0;                      // seconds since the start
  std::optional<Error> last_error;     // of a job, for unattended runs
  bool shot_cancelled = false;         // the same
  std::array<unsigned, 4> finished{};  // jobs by JobSpec::Kind, for scripts

  Picture picture;
  Jobs jobs{[this](bool held) { picture.hold(held, held); }};  // last: its thread ends first

  bool captures_window() const { return shot && shot->settings.window; }
  void add_message(Message::Kind kind, const std::string& text);
  void note(const std::string& text) { add_message(Message::Kind::note, text); }
  void warn(const std::string& text) { add_message(Message::Kind::warning, text); }
  // Unattended runs end with the error.
  void fail(const Error& error);
};

void choose_source(State& state, const std::string& source);
// Chooses a scene if there is none, because a trace was opened first.
void choose_default_scene(State& state);
// Why the chosen scene cannot be built outside Live; nullptr if it can.
const char* why_only_live(const State& state);
// Why trees cannot be built with an allocator on the chosen device; nullptr if they can.
const char* why_not_buildable(const State& state, const registry::RegisteredAllocator& entry);
// What the maps of the Heap tab show; "" for nothing.
std::string recorded_name(const State& state);
// The recordings of the Heap tab are those of a program trace.
bool shows_trace(const State& state);
bool is_running(const State& state, JobSpec::Kind kind);
// Whether the last build differs from what the fields say.
bool is_outdated(const State& state, const bench::Result& built);

// Each action reports a failure in a message.
void open_scene(State& state, const std::string& source);  // or a program trace
void show_tab(State& state, Tab tab);
void take_pool_text(State& state);  // of the field, for the next job
void start_build(State& state);
// Builds frames with both allocators until another job starts.
void start_live(State& state);
// The number keys: the allocators of the live tab, at most nine.
std::vector<const registry::RegisteredAllocator*> live_choices(const State& state);
void choose_live(State& state, unsigned side, const registry::RegisteredAllocator& entry);
void start_compare(State& state);
void start_recording(State& state);
// Serves the requests of a program trace for the heap map.
void open_trace(State& state, const std::string& path);
// Repeats the recording shown, with the allocators chosen now.
void record_again(State& state);
// An empty path: an unused name in the current folder.
void take_screenshot(State& state, const std::string& path);
// "atrium-001.png": the first number without a file in the current folder.
std::string free_name(const std::string& scene);
void reset_view(State& state);
void light_view(State& state);
const char* lesson_title(std::size_t step);
std::string lesson_caption(const State& state, std::size_t step);
// Shows a step and what belongs to it in the Learn tab.
void show_lesson(State& state, std::size_t step);
void end_lesson(State& state);
// Next or previous step; begins the lesson, and ends it after the last step.
void page_lesson(State& state, int by);
void advance_lesson(State& state);  // once per frame: boxes that appear one level after the other
void cancel_shot(State& state);
void cancel_all(State& state);     // jobs, and an unfinished screenshot
void take_outcomes(State& state);  // of jobs

// The window's content as JSON, for tests that compare it with the output of `heapwood` and with
// pictures.
void write_report(const State& state, const std::string& path);

}  // namespace heapwood::viewer
