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

template <class T>
void get(const Json& json, const char* key, T& value) {
  if (const auto found = json.find(key); found != json.end()) value = found->get<T>();
}
template <class T>
void get(const Json& json, const char* key, T& value, T low, T high) {
  get(json, key, value);
  value = std::clamp(value, low, high);
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

Json to_json(const Bookmark& bookmark) {
  return {{"name", bookmark.name}, {"camera", bookmark.camera}, {"up", bookmark.up}};
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
    get(json, "width", settings.width, Settings::min_width, 16384);
    get(json, "height", settings.height, Settings::min_height, 16384);
    get(json, "panel", settings.panel);
    get(json, "numbers", settings.numbers);
    get(json, "fly", settings.fly);
    get(json, "fly_speed", settings.fly_speed, 0.001f, 10.0f);
    get(json, "panel_widths", settings.panel_widths);
    for (float& width : settings.panel_widths)
      width = std::clamp(width, Settings::min_panel_width, Settings::max_panel_width);
    get(json, "below_heights", settings.below_heights);
    for (float& height : settings.below_heights)
      height = std::clamp(height, Settings::min_below_height, Settings::max_below_height);
    get(json, "recent", settings.recent);
    if (settings.recent.size() > Settings::max_recent) settings.recent.resize(Settings::max_recent);
    get(json, "shot_width", settings.shot_width, 1, 16384);
    get(json, "shot_height", settings.shot_height, 1, 16384);
    get(json, "shot_spp", settings.shot_spp, 1, 65536);
    get(json, "shot_panel", settings.shot_panel);
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
  Json json = {{"width", settings.width},
               {"height", settings.height},
               {"panel", settings.panel},
               {"numbers", settings.numbers},
               {"fly", settings.fly},
               {"fly_speed", settings.fly_speed},
               {"panel_widths", settings.panel_widths},
               {"below_heights", settings.below_heights},
               {"recent", settings.recent},
               {"shot_width", settings.shot_width},
               {"shot_height", settings.shot_height},
               {"shot_spp", settings.shot_spp},
               {"shot_panel", settings.shot_panel}};
  json["bookmarks"] = Json::object();
  for (const auto& [scene, list] : settings.bookmarks) {
    if (list.empty()) continue;
    json["bookmarks"][scene] = Json::array();
    for (const Bookmark& bookmark : list) json["bookmarks"][scene].push_back(to_json(bookmark));
  }
  bench::OutputFile(path).write(json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace heapwood::viewer
