// SPDX-License-Identifier: MIT
// Settings kept between runs, in ~/.config/heapwood/view.json or the file of --settings.
#pragma once

#include <array>
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
  // Of the window: panels and bars do not fit into a smaller one.
  static constexpr int min_width = 640, min_height = 400;
  bool panel = true, numbers = true, fly = false;
  float fly_speed = 0.15f;  // diagonals per second
  // At scale 1, by tab: the width of the panel, and the height of the part below the picture.
  std::array<float, 4> panel_widths{340, 400, 560, 400}, below_heights{340, 0, 0, 440};
  static constexpr float min_panel_width = 280, max_panel_width = 900, min_below_height = 160,
                         max_below_height = 1200;
  std::vector<std::string> recent;  // files and scenes opened, the latest first
  static constexpr std::size_t max_recent = 8;
  int shot_width = 1920, shot_height = 1080, shot_spp = 64;
  bool shot_panel = false;
  std::map<std::string, std::vector<Bookmark>> bookmarks;  // by source of the scene
};

// An empty path: neither read nor written.
std::string default_settings_path();
// A missing or broken file gives the defaults; `problem` describes a broken one.
Settings load_settings(const std::string& path, std::string& problem);
// Puts a source at the front of the recent ones.
void note_recent(Settings& settings, const std::string& source);
// "View N" for the smallest N from the list's size + 1 that is not taken.
std::string next_name(const std::vector<Bookmark>& bookmarks);
void save_settings(const Settings& settings, const std::string& path);

}  // namespace heapwood::viewer
