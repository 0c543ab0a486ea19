// SPDX-License-Identifier: MIT
// `--script FILE`: input and checks for runs that nobody watches, a line a step. Input goes through the same functions as
// GLFW's callbacks, so that what a script does a user can do.
//
//   wait built|compared|recorded [N]     until that many jobs of the kind have ended (1)
//   wait scene                           until one is shown
//   wait events N                        until a build that is watched has made so many
//   wait samples N | wait idle | wait done | wait file PATH | wait SECONDS
//   key NAME [shift] [ctrl]              F1, B, Home, Escape, ...
//   hold NAME SECONDS                    a key that is kept down
//   move X Y | press [right] | release [right] | click X Y | click NAME | drag X Y X Y [right] | scroll N
//   type TEXT
//   drop PATH | resize W H | minimise | restore
//   screenshot PATH [WxH] [SAMPLES]      of the scene
//   window PATH [WxH] [SAMPLES]          of everything
//   report PATH                          what is shown, as JSON (report.hpp)
//   quit
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "viewer/state.hpp"
#include "viewer/window.hpp"

namespace heapwood::viewer {

class Script {
 public:
  // Throws Error{Exit::usage} for a line that it does not know, with its number.
  explicit Script(const std::string& path);
  // Called once a frame. Throws Error{Exit::failed} where it waits for longer than two minutes.
  void step(State& state, Window& window);
  bool done() const { return steps_.empty(); }

 private:
  struct Context {
    State& state;
    Window& window;
    double waited;  // seconds since the step was first tried
  };
  // True when it has been done.
  using Step = std::function<bool(const Context&)>;
  struct Line {
    std::string text;
    Step step;
  };
  void add(const std::string& text, Step step) { steps_.push_back({text, std::move(step)}); }
  bool parse(const std::vector<std::string>& words, const std::string& text);
  bool parse_input(const std::vector<std::string>& words, const std::string& text);
  void click(const std::string& text, std::function<std::array<float, 2>(const State&)> place);

  std::deque<Line> steps_;
  double since_ = -1;
};

}  // namespace heapwood::viewer
