// SPDX-License-Identifier: MIT
// `--script FILE`: input and checks for unattended runs, one step per line. Input goes through the
// same functions as GLFW's callbacks, so that a script does what a user can do.
//
//   wait built|compared|recorded [N]     until N jobs of that kind have ended (default 1)
//   wait live N                          until both sides, as they are chosen, have N frames and
//                                        a recording
//   wait bars N                          until N allocators have a time, while they are compared
//   wait stopped | wait samples N | wait idle | wait done | wait file PATH | wait SECONDS
//                                        stopped: the recording is not played
//   key NAME [shift] [ctrl]              F1, B, Home, Escape, ... of a US keyboard
//   key NAME as C                        the same place on a keyboard where it types this character
//   hold NAME SECONDS                    holds the key down
//   down NAME | up NAME                  presses or releases a key alone, as Shift for a click
//   move X Y | press [right] | release [right] | scroll N
//   click X Y | click NAME
//   type TEXT
//   drop PATH | resize W H | minimise | restore
//   screenshot PATH [WxH] [SAMPLES]      of the scene
//   window PATH [WxH] [SAMPLES]          of the whole window
//   report PATH                          the window's content as JSON (report.cpp)
//   close                                as the window's close button
//   quit
#pragma once

#include "viewer/state.hpp"
#include "viewer/window.hpp"

namespace heapwood::viewer {

class Script {
 public:
  // Reads a script. Throws Error{Exit::usage} with the line number for an unknown step.
  explicit Script(const std::string& path);
  // Called once per frame. Throws Error{Exit::failed} if a step waits longer than two minutes.
  void step(State& state, Window& window);
  bool done() const { return steps_.empty(); }
  // Whether the script waits for at least a second, as users do: then frames are drawn as for a
  // user.
  bool rests() const { return !steps_.empty() && steps_.front().rests; }

 private:
  struct Context {
    State& state;
    Window& window;
    double waited;  // seconds since the step was tried first
  };
  // Returns true when the step is done.
  using Step = std::function<bool(const Context&)>;
  struct Line {
    std::string text;
    Step step;
    bool rests = false;
    double max_wait = 120;  // seconds after which the script fails
  };
  using Point = std::array<float, 2>;
  using Place = std::function<Point(const State&)>;
  void add(const std::string& text, Step step) { steps_.push_back({text, std::move(step)}); }
  void once(const std::string& text, std::function<void(const Context&)> action);
  void rest(const std::string& text, double seconds);
  void press(const std::string& text, int button, int action);
  void move(const std::string& text, Place place);
  void click(const std::string& text, const Place& place);
  bool parse(const std::vector<std::string>& words, const std::string& text);
  bool parse_wait(const std::vector<std::string>& words, const std::string& text);
  bool parse_input(const std::vector<std::string>& words, const std::string& text);
  void parse_key(const std::vector<std::string>& words, const std::string& text);

  std::deque<Line> steps_;
  double since_ = -1;
};

}  // namespace heapwood::viewer
