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
#include "viewer/screenshot.hpp"
#include "viewer/settings.hpp"
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
  const registry::RegisteredAllocator* allocator = nullptr;  // A
  const registry::RegisteredAllocator* other = nullptr;      // B; nullptr: none
  simt::DeviceInfo device;
  bench::BuildSettings settings;
  GraphSettings graph;
  std::size_t stress = 0;   // of stress_choices()
  bool keep_pools = false;  // in Live, from frame to frame
  bool sweep_all = false;   // a sweep over pools is of all allocators, not of A and B
  // Text fields as typed. A pool that cannot be parsed has a problem; jobs use the one before it.
  std::string path_text, trace_text, pool_text = settings.pool.text, pool_problem;
  std::string sweep_text = "live:2,live:4,live:8,20x,200x,fast", sweep_problem;
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
  Settings settings;
  std::string settings_path;
  std::vector<simt::DeviceInfo> devices;
  Choice choice;

  // Of the chosen scene.
  struct Motion {
    std::string source;
    bool moves = false, of_files = false;
    std::string still;  // what is built outside Live; empty: nothing
  };
  Motion motion;

  std::shared_ptr<const BuiltScene> scene;
  std::optional<bench::Result> built;   // the last build
  std::vector<bench::Result> compared;  // the last comparison, or the running one so far
  std::vector<bench::Result> swept;     // the same of several pools, one after the other
  JobSpec recorded;                     // the job of the recordings shown
  bool sweep_times = false;             // the sweep's plot shows times instead of slowdowns
  bool scroll_to_sweep = false;         // to the plot of a sweep that has started
  Tab tab = Tab::live, tab_before_heap = Tab::learn;
  LiveView live;
  HeapView heap;
  TreeView tree;
  SliceView slice;
  NodeView node;
  Lesson lesson;
  RayProbe probe;
  Screenshots shots;
  PathView path;

  render::Camera camera;
  render::Lighting lighting;
  render::Mode mode = render::Mode::shaded;
  bool clay = false;         // pictures without the scene's colours
  std::size_t bookmark = 0;  // the last one shown
  bool fit_pending = true;   // the camera has not been set for a scene

  bool help = false;
  bool close_popups = false;  // in this frame: Esc was pressed
  std::deque<Message> messages;
  Places places;
  FrameTimes frames;
  double now = 0;                      // seconds since the start
  std::optional<Error> last_error;     // of a job, for unattended runs
  bool shot_cancelled = false;         // the same
  std::array<unsigned, 5> finished{};  // jobs by JobSpec::Kind, for scripts

  Picture picture;
  Jobs jobs{[this](bool held) { picture.hold(held, held); }};  // last: its thread ends first

  void add_message(Message::Kind kind, const std::string& text);
  void note(const std::string& text) { add_message(Message::Kind::note, text); }
  void warn(const std::string& text) { add_message(Message::Kind::warning, text); }
  // Unattended runs end with the error.
  void fail(const Error& error);
};

// Chooses a scene if there is none, because a trace was opened first.
void choose_default_scene(State& state);
// Why the chosen scene cannot be built outside Live; nullptr if it can.
const char* why_only_live(State& state);
// Why trees cannot be built with an allocator on the chosen device; nullptr if they can.
const char* why_not_buildable(const State& state, const registry::RegisteredAllocator& entry);
// The name of the scene shown; says so if a scene that moves was built as it stands.
std::string shown_scene_name(State& state);
// What the maps of the Heap tab show; "" for nothing.
std::string recorded_name(State& state);
// The recordings of the Heap tab are those of a program trace or of a stress test.
bool shows_trace(const State& state);
bool is_running(const State& state, JobSpec::Kind kind);
// Whether the last build differs from what the fields say.
bool is_outdated(const State& state, const bench::Result& built);

// Each action reports a failure in a message.
void open_scene(State& state, const std::string& source);  // or a trace, or a camera path
void show_tab(State& state, Tab tab);
void take_pool_text(State& state);  // of the field, for the next job
void start_build(State& state);
// Builds frames with both allocators until another job starts.
void start_live(State& state);
// The number keys: the allocators of the live tab, at most nine.
std::vector<const registry::RegisteredAllocator*> live_choices(const State& state);
void choose_live(State& state, unsigned side, const registry::RegisteredAllocator& entry);
void keep_live_pools(State& state, bool keep);
void start_compare(State& state);
// Builds with A, B and AtomicMalloc, or with all allocators, in each pool of the field's list.
void start_sweep(State& state);
void start_recording(State& state);
void start_graph_recording(State& state);
// Serves the requests of a program trace, or of the chosen stress test, for the heap map.
void open_trace(State& state, const std::string& path);
void open_stress(State& state);
// Repeats the recording shown, with the allocators chosen now.
void record_again(State& state);
// An empty path: an unused name in the current folder.
void export_recordings(State& state, const std::string& path);  // as Chrome trace JSON
void take_screenshot(State& state, const std::string& path);
// Shows the slice plane, across the camera's direction, or hides it.
void toggle_slice(State& state);
void reset_view(State& state);
void light_view(State& state);
// Whether a scene is shown; if not, a message says so.
bool has_scene(State& state);
void add_bookmark(State& state);
void go_to_bookmark(State& state, std::size_t index);
// Starts to record the camera's movement, or ends that and saves it.
void record_path(State& state);
void play_path(State& state);
void advance_path(State& state);                        // once per frame: records or plays
void open_path(State& state, const std::string& file);  // and plays it
const char* lesson_title(std::size_t step);
std::string lesson_caption(const State& state, std::size_t step);
// Shows a step and what belongs to it in the Learn tab.
void show_lesson(State& state, std::size_t step);
void end_lesson(State& state);
// Next or previous step; begins the lesson, and ends it after the last step.
void page_lesson(State& state, int by);
void advance_lesson(State& state);  // once per frame: boxes that appear one level after the other
void cancel_all(State& state);      // jobs, and unfinished screenshots
void take_outcomes(State& state);   // of jobs

// The window's content as JSON, for tests that compare it with the output of `heapwood` and with
// pictures.
void write_report(const State& state, const std::string& path);

}  // namespace heapwood::viewer
