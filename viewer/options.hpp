// SPDX-License-Identifier: MIT
// Options of the command line.
#pragma once

#include "bench/program/options.hpp"

namespace heapwood::viewer {

struct Options {
  std::string scene;  // empty: the atrium, in Live in a size that suits the device
  std::string allocator = bench::default_allocator;
  std::string second_allocator;  // the allocator B
  std::string tab;               // first tab; empty: live, or learn for a screenshot
  std::string mode = "shaded", material = "scene";
  std::string camera, up;  // as `heapwood render` takes them; empty: the scene's own
  bench::BuildSettings settings;
  bench::DeviceOptions device;
  bench::ImageSize size;  // of the window, or of the screenshot; 0: 1280x720
  bool light = false;     // light colours, for projectors
  float scale = 0;        // scale of text and panel; 0: chosen for screen and window
  unsigned spp = 64;      // samples per pixel of a complete picture

  std::string screenshot;  // path; writes it unattended and exits
  unsigned frames = 16;    // samples per pixel of the screenshot
  bool panel = false;      // whether the screenshot shows the whole window
  std::string script;      // timed input (script.hpp)
};

// Runs the viewer and returns the exit code (simt/error.hpp). Ctrl-C and SIGTERM close the window.
int run(int argc, char** argv);

}  // namespace heapwood::viewer
