// SPDX-License-Identifier: MIT
// The state that the window shows, and the actions on it. Owned by the window's thread; jobs and
// pictures have their own.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "viewer/heap_map.hpp"
#include "viewer/jobs.hpp"
#include "viewer/options.hpp"
#include "viewer/picture.hpp"
#include "viewer/ray_probe.hpp"
#include "viewer/screenshot.hpp"
#include "viewer/settings.hpp"
#include "viewer/tree_view.hpp"

namespace heapwood::viewer {

struct Message {
  enum class Kind { note, warning, error };
  Kind kind = Kind::note;
  std::string text;
  double time = 0;  // seconds since the start
};

// The panel's fields, for the next job.
struct Choice {
  std::string source;
  const registry::RegisteredAllocator* allocator = nullptr;
  const registry::RegisteredAllocator* other =
      nullptr;  // second allocator of the heap map; nullptr: none
  simt::DeviceInfo device;
  bench::BuildSettings settings;
};

// Positions of the widgets drawn last, by name, for clicks by scripts.
struct Places {
  std::map<std::string, std::array<float, 2>> centre;
  void note(const std::string& name);  // for the widget drawn last
};

struct FrameTimes {
  std::deque<double> ms;      // of recent frames, from input to the last OpenGL call
  std::deque<double> cpu_ms;  // processor time of the window's thread per frame
  double last_second_fps = 0;
  void add(double work_ms, double thread_ms, double now);
  void exclude(double thread_ms) {
    thread_ms_ = thread_ms;
  }  // time spent on other work than frames

 private:
  double second_ = 0;
  int frames_ = 0;
  double thread_ms_ = 0;  // at the last frame
};

struct State {
  Options options;
  Settings settings;
  std::string settings_path;
  std::vector<simt::DeviceInfo> devices;
  Choice choice;

  std::shared_ptr<const BuiltScene> scene;
  std::optional<bench::Result> built;   // the last build
  std::vector<bench::Result> compared;  // the last comparison
  HeapView heap;
  TreeView tree;
  RayProbe probe;
  Screenshots shots;

  render::Camera camera;
  render::Lighting lighting;
  render::Mode mode = render::Mode::shaded;
  std::size_t bookmark = 0;  // the last one shown
  bool fit_pending = true;   // the camera has not been set for a scene

  bool help = false;
  std::deque<Message> messages;
  Places places;
  FrameTimes frames;
  double now = 0;                                                // seconds since the start
  std::optional<Error> last_error;                               // of a job, for unattended runs
  bool shot_cancelled = false;                                   // the same
  double first_picture = 0;                                      // seconds since the start
  unsigned pictures_built = 0, comparisons = 0, recordings = 0;  // finished jobs, for scripts

  Picture picture;
  Jobs jobs;  // last: its thread ends first

  void add_message(Message::Kind kind, const std::string& text);
};

// Why trees cannot be built with an allocator on the chosen device; nullptr if they can.
const char* why_not_buildable(const State& state, const registry::RegisteredAllocator& entry);

// Each reports a failure in a message.
void open_scene(State& state, const std::string& source);
void start_build(State& state);
void start_compare(State& state);
void start_recording(State& state);
void reset_view(State& state);
void light_view(State& state);
void add_bookmark(State& state);
void go_to_bookmark(State& state, std::size_t index);
// An empty path: an unused name in the current folder.
void take_screenshot(State& state, const std::string& path);
void cancel_all(State& state);  // jobs, and unfinished screenshots
// Takes the outcomes of jobs.
void take_outcomes(State& state);

}  // namespace heapwood::viewer
