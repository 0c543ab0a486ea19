// SPDX-License-Identifier: MIT
// The state that the window shows, and actions on it. Only the window's thread accesses it.
#pragma once

#include "viewer/jobs.hpp"
#include "viewer/node_view.hpp"
#include "viewer/options.hpp"
#include "viewer/tree_view.hpp"

namespace heapwood::viewer {

struct Message {
  enum class Kind { note, warning, error };
  Kind kind = Kind::note;
  std::string text;
  double time = 0;     // seconds since the start, at the last occurrence
  unsigned count = 1;  // number of occurrences
};

enum class Tab { live, learn, compare, heap };
inline constexpr Tab all_tabs[] = {Tab::live, Tab::learn, Tab::compare, Tab::heap};
const char* name(Tab tab);
// Throws Error{Exit::usage}, which names all tabs.
Tab parse_tab(const std::string& text);

// The modes of the number keys and of the buttons.
inline constexpr render::Mode key_modes[] = {
    render::Mode::shaded, render::Mode::path,    render::Mode::ao,     render::Mode::normals,
    render::Mode::depth,  render::Mode::heatmap, render::Mode::leaves, render::Mode::albedo};

// The figures of Live when they are first of use to a reader: both sides ranked and recorded.
bool has_live_figures(const LiveView& live, std::size_t frames);

// Number of triangles of a frame in Live on a CPU, unless a size is given.
inline constexpr std::uint64_t live_triangles = 10000, moving_triangles = 5000;

// The fields of the panel, for the next job.
struct Choice {
  std::string source;  // empty if none is chosen, because a trace was opened first
  bool moves = false;  // whether the scene moves
  const registry::RegisteredAllocator* allocator = nullptr;  // A
  const registry::RegisteredAllocator* other = nullptr;      // allocator B; nullptr: none
  simt::DeviceInfo device;
  bench::BuildSettings settings;
  std::string path_text;  // as typed
  // The pool of Learn and Compare, and that of Live and Heap, which is tight so that their maps are
  // full. `text` is as typed; if it is invalid, `problem` says why and jobs use `size`.
  struct Pool {
    explicit Pool(const bench::PoolSize& given = {}) : size(given), text(given.text) {}
    bench::PoolSize size;
    std::string text, problem;
  };
  Pool pools[2] = {Pool(), Pool(bench::parse_pool("live:4"))};
};

// What the window shows, and how the camera moves.
struct Preferences {
  bool panel = true, numbers = true, fly = false, light = false;
  float fly_speed = 0.15f;  // speed in diagonals per second
};

// The next screenshot: of the scene or of the whole window.
struct ShotSettings {
  int width = 1920, height = 1080, samples = 64;  // samples are per pixel
  bool window = false;
};

// A screenshot that is being made. A picture keeps the camera and lighting of the time of its
// request.
struct Shot {
  std::string path;
  ShotSettings settings;
  View view;
};

// The widgets of the last frame by name, for scripts and reports: position and text of each.
struct Places {
  std::map<std::string, std::array<float, 2>> centre;
  std::map<std::string, float> width;
  std::map<std::string, std::string> texts;
  void note(const std::string& name);  // for the widget drawn last
};

// The lesson: six captioned steps through the build of the scene's tree, the last one in the Heap
// tab. Each step sets what is drawn over the picture; the caption has the numbers of this tree.
struct Lesson {
  static constexpr std::size_t steps = 6;
  std::optional<std::size_t> step;  // nullopt: no lesson is shown
  double since = 0;                 // time at which the step began
  // The user's view, which returns when the lesson ends.
  std::optional<std::tuple<render::Camera, render::Lighting, bool>> before;
};

struct FrameTimes {
  std::deque<double> cpu_ms;  // processor time of the window's thread in recent frames
  double last_second_fps = 0;
  void add(double thread_ms, double now);
  // Time that the thread used before this call does not count towards the next frame.
  void exclude(double thread_ms) { thread_ms_ = thread_ms; }

 private:
  // Time of the last full second; thread's time at the last frame.
  double second_ = 0, thread_ms_ = 0;
  int frames_ = 0;
};

struct State {
  Options options;
  Preferences show;
  ShotSettings shot_settings;
  Choice choice;

  std::shared_ptr<const BuiltScene> scene;
  std::optional<bench::Result> built;   // the last build
  std::vector<bench::Result> compared;  // the last comparison, or what a running one has so far
  JobSpec recorded;                     // the job that made the recordings shown
  Tab tab = Tab::live, tab_before_heap = Tab::learn;
  LiveView live;
  HeapView heap;
  TreeView tree;
  NodeView node;
  Lesson lesson;
  RayProbe probe;
  std::optional<Shot> shot;
  bool records_video = false;  // R has been pressed, and neither pressed again nor the video ended

  render::Camera camera;
  render::Lighting lighting;
  render::Mode mode = render::Mode::shaded;
  bool clay = false;        // pictures ignore the scene's colours
  bool fit_pending = true;  // whether the camera has still to be set for a scene

  bool help = false;
  bool close_popups = false;  // set for the frame in which Esc was pressed
  std::deque<Message> messages;
  Places places;
  FrameTimes frames;
  double now = 0;                   // seconds since the start
  std::optional<Error> last_error;  // error of a job, for unattended runs
  bool shot_cancelled = false;      // for unattended runs
  // Number of jobs that have ended, by JobSpec::Kind; for scripts.
  std::array<unsigned, 4> finished{};

  // Whether Live shows a picture per side, which its job traces.
  bool is_race() const { return tab == Tab::live && scene && (!shot || shot->settings.window); }

  Picture picture;
  // Declared last, so that its thread ends first.
  Jobs jobs{[this](bool held) { picture.hold(held); }};

  bool captures_window() const { return shot && shot->settings.window; }
  void add_message(Message::Kind kind, const std::string& text);
  void note(const std::string& text) { add_message(Message::Kind::note, text); }
  void warn(const std::string& text) { add_message(Message::Kind::warning, text); }
  // Shows an error as a message; unattended runs end with it.
  void fail(const Error& error);
};

void choose_source(State& state, const std::string& source);
// Chooses the default scene if none is chosen yet, as when a trace was opened first.
void choose_default_scene(State& state);
// The reason why the chosen scene cannot be built outside Live; nullptr if it can.
const char* why_only_live(const State& state);
// The reason why an allocator cannot build trees on the chosen device; nullptr if it can.
const char* why_not_buildable(const State& state, const registry::RegisteredAllocator& entry);
// Describes what the maps of the Heap tab show; "" for nothing.
std::string recorded_name(const State& state);
// Whether the recordings of the Heap tab are those of a program trace.
bool shows_trace(const State& state);
bool is_running(const State& state, JobSpec::Kind kind);
// Whether the fields differ from the settings of the last build.
bool is_outdated(const State& state, const bench::Result& built);

// Actions. Each reports a failure in a message.
void open_scene(State& state, const std::string& source);  // also opens a program trace
void show_tab(State& state, Tab tab);
Choice::Pool& pool_of(State& state, Tab tab);
void take_pool_text(State& state);  // uses the field's text for the next job of this tab
void start_build(State& state);
// Builds frames with both allocators until another job starts.
void start_live(State& state);
// The allocators that the number keys choose in the Live tab; nullptr if it is not compiled.
inline constexpr const char* live_keys[] = {"cuda",           "scatter",   "halloc",
                                            "ouroboros-p-va", "cfmmalloc", "cmalloc",
                                            "bulk",           "atomic",    "heapwood"};
void choose_live(State& state, unsigned side, const registry::RegisteredAllocator& entry);
void start_compare(State& state);
void start_recording(State& state);
// Serves the requests of a program trace for the heap map.
void open_trace(State& state, const std::string& path);
// Records again what is shown, with the allocators chosen now.
void record_again(State& state);
// If the path is empty, uses an unused name in the current folder.
void take_screenshot(State& state, const std::string& path);
// Returns "atrium-001.png", with the first number for which the current folder has no file.
std::string free_name(const std::string& scene, const std::string& ending = ".png");
void reset_view(State& state);
void light_view(State& state);
std::string lesson_caption(const State& state, std::size_t step);
// Whether the lesson's step is that of the tab shown.
bool shows_lesson(const State& state);
// Shows a step of the lesson, and what belongs to it, in its tab.
void show_lesson(State& state, std::size_t step);
void end_lesson(State& state);
// Shows the next or previous step. Begins the lesson if necessary, and ends it after the last step.
void page_lesson(State& state, int by);
void advance_lesson(State& state);  // called once per frame; makes boxes appear level by level
void cancel_shot(State& state);
void take_outcomes(State& state);  // of jobs

// Writes the window's content as JSON, for tests that compare it with `heapwood` and pictures.
void write_report(const State& state, const std::string& path);

}  // namespace heapwood::viewer
