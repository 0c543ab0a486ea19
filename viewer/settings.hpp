// SPDX-License-Identifier: MIT
// Settings kept between runs, in ~/.config/heapwood/view.json or the file of --settings.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace heapwood::viewer {

struct Bookmark {
  std::string name;
  std::string camera;  // as for --camera, in the coordinates of the scene's file
  unsigned up = 1;     // axis
};

struct Settings {
  int width = 1280, height = 720;
  bool panel = true, numbers = true, fly = false;
  float fly_speed = 0.15f;  // diagonals per second
  float panel_width = 400;  // at scale 1
  int shot_width = 1920, shot_height = 1080, shot_spp = 64;
  bool shot_panel = false;
  std::map<std::string, std::vector<Bookmark>> bookmarks;  // by source of the scene
};

// An empty path: neither read nor written.
std::string default_settings_path();
// A missing or broken file gives the defaults; `problem` describes a broken one.
Settings load_settings(const std::string& path, std::string& problem);
void save_settings(const Settings& settings, const std::string& path);

}  // namespace heapwood::viewer
