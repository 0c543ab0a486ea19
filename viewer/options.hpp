// SPDX-License-Identifier: MIT
// What the command line says.
#pragma once

#include <string>

#include "app/options.hpp"

namespace heapwood::viewer {

struct Options {
  std::string scene = "atrium";
  std::string allocator = app::default_allocator;
  std::string beside;  // a second allocator in the heap map
  std::string mode = "shaded";
  std::string camera, up;  // as `heapwood render` takes them; empty: the scene's own
  app::BuildSettings settings;
  app::DeviceOptions device;
  app::ImageSize size;  // of the window, or of the screenshot; 0: as it was last, 1280x720
  float scale = 0;      // of text and panel; 0: the screen's
  unsigned spp = 64;    // samples a pixel after which the picture rests

  std::string screenshot;     // unattended: written, then the program ends
  unsigned frames = 16;       // samples a pixel of the screenshot
  bool panel = false;         // with the panel
  std::string script;         // timed input (script.hpp)
  std::string settings_file;  // empty: the user's own; "none": neither read nor written
};

}  // namespace heapwood::viewer
