// SPDX-License-Identifier: MIT
// What is remembered from one start to the next: ~/.config/heapwood/view.json, or the file that --settings names.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace heapwood::viewer {

struct Bookmark {
  std::string name;
  std::string camera;  // as --camera takes it: in the coordinates of the scene's file
  unsigned up = 1;     // axis
};

struct Settings {
  int width = 1280, height = 720;
  bool panel = true, numbers = true, fly = false;
  float fly_speed = 0.15f;  // diagonals a second
  float panel_width = 400;  // at scale 1
  int shot_width = 1920, shot_height = 1080, shot_spp = 64;
  bool shot_panel = false;
  std::map<std::string, std::vector<Bookmark>> bookmarks;  // by the scene's source
};

// An empty path: neither read nor written.
std::string default_settings_path();
// A file that is not there, or that is broken, means the defaults; `complaint` says what is wrong with a broken one.
Settings load_settings(const std::string& path, std::string& complaint);
void save_settings(const Settings& settings, const std::string& path);

}  // namespace heapwood::viewer
