// SPDX-License-Identifier: MIT
#include "viewer/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "bench/program/input_file.hpp"
#include "bench/program/output_file.hpp"
#include "bench/results/json.hpp"
#include "render/camera.hpp"

namespace heapwood::viewer {

namespace {

using bench::Json;

// Calls field(key, value, minimum, maximum) for all that is not a list.
template <class Settings_, class Field>
void each_field(Settings_& s, const Field& field) {
  field("width", s.width, Settings::min_width, 16384);
  field("height", s.height, Settings::min_height, 16384);
  field("panel", s.panel, false, true);
  field("numbers", s.numbers, false, true);
  field("fly", s.fly, false, true);
  field("fly_speed", s.fly_speed, 0.001f, 10.0f);
  field("panel_widths", s.panel_widths, Settings::min_panel_width, Settings::max_panel_width);
  field("below_heights", s.below_heights, Settings::min_below_height, Settings::max_below_height);
  field("shot_width", s.shot_width, 1, 16384);
  field("shot_height", s.shot_height, 1, 16384);
  field("shot_spp", s.shot_spp, 1, 65536);
  field("shot_panel", s.shot_panel, false, true);
}

// "[json.exception.parse_error.101] parse error at line 1, column 11: syntax error ..." ->
// "not valid JSON at line 1, column 11"
std::string reason_of(const std::exception& error) {
  std::string text = error.what();
  if (!text.starts_with("[json.exception.")) return text;
  text.erase(0, text.find("] ") + 2);
  constexpr std::string_view parse = "parse error";
  if (text.starts_with(parse))
    text = "not valid JSON" + text.substr(parse.size(), text.find(": ") - parse.size());
  return text;
}

}  // namespace

std::string default_settings_path() {
  if (const char* folder = std::getenv("XDG_CONFIG_HOME"); folder && *folder) {
    return std::string(folder) + "/heapwood/view.json";
  }
  if (const char* home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.config/heapwood/view.json";
  return "";
}

Settings load_settings(const std::string& path, std::string& problem) {
  Settings settings;
  if (path.empty()) return settings;
  try {
    const std::optional<std::string> text = bench::read_text(path, Exit::failed);
    if (!text) return settings;
    const Json json = Json::parse(*text);
    each_field(settings, [&](const char* key, auto& value, auto low, auto high) {
      const auto found = json.find(key);
      if (found == json.end()) return;
      found->get_to(value);
      if constexpr (requires { value.begin(); }) {
        for (auto& one : value) one = std::clamp(one, low, high);
      } else {
        value = std::clamp(value, low, high);
      }
    });
    if (const auto recent = json.find("recent"); recent != json.end())
      recent->get_to(settings.recent);
    if (settings.recent.size() > Settings::max_recent) settings.recent.resize(Settings::max_recent);
    if (const auto scenes = json.find("bookmarks"); scenes != json.end()) {
      for (const auto& [scene, list] : scenes->items()) {
        for (const Json& one : list) {
          render::check_camera_text(one.at("camera"));
          settings.bookmarks[scene].push_back(
              {one.at("name"), one.at("camera"), std::min(2u, one.at("up").get<unsigned>())});
        }
      }
    }
    return settings;
  } catch (const std::exception& error) {
    problem = path + ": cannot read the settings: " + reason_of(error) +
              "; repair or delete the file, nothing is saved until then";
    return Settings{};
  }
}

std::string next_name(const std::vector<Bookmark>& bookmarks) {
  for (std::size_t n = bookmarks.size() + 1;; ++n) {
    std::string name = fmt::format("View {}", n);
    if (std::none_of(bookmarks.begin(), bookmarks.end(),
                     [&](const Bookmark& bookmark) { return bookmark.name == name; }))
      return name;
  }
}

void note_recent(Settings& settings, const std::string& source) {
  std::erase(settings.recent, source);
  settings.recent.insert(settings.recent.begin(), source);
  if (settings.recent.size() > Settings::max_recent) settings.recent.resize(Settings::max_recent);
}

void save_settings(const Settings& settings, const std::string& path) {
  if (path.empty()) return;
  std::error_code ignored;  // writing the file reports the error
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  Json json;
  each_field(settings, [&](const char* key, const auto& value, auto, auto) { json[key] = value; });
  json["recent"] = settings.recent;
  json["bookmarks"] = Json::object();
  for (const auto& [scene, list] : settings.bookmarks) {
    for (const Bookmark& one : list)
      json["bookmarks"][scene].push_back(
          {{"name", one.name}, {"camera", one.camera}, {"up", one.up}});
  }
  bench::OutputFile(path).write(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace heapwood::viewer
