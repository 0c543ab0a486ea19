// SPDX-License-Identifier: MIT
#include "scenes/scene_name.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "scenes/file.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

[[noreturn]] void wrong(const std::string& text, const std::string& reason) {
  throw Error(Exit::usage, "scene `" + printable(text) + "`: " + reason);
}

bool parse_count(std::string_view text, std::uint64_t& count) {
  double factor = 1;
  if (text.ends_with('k')) factor = 1e3;
  if (text.ends_with('m')) factor = 1e6;
  if (factor > 1) text.remove_suffix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc() || stop != end || !(value >= 0 && value < 1e12)) return false;
  const double exact = value * factor;
  count = static_cast<std::uint64_t>(std::llround(exact));
  return factor > 1 || exact == std::floor(exact);
}

}  // namespace

std::optional<SceneName> parse_name(const std::string& text, std::span<const Procedural> table,
                                    std::span<const CountLimits> limits) {
  if (is_readable(extension_of(text))) return std::nullopt;  // a file may be named `statue:2k.obj`
  const std::string lowered = lower(text);
  std::string_view rest = lowered;
  const auto next_part = [&] {
    const std::string_view part = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
  };
  const std::string_view name = next_part();
  SceneName result;
  for (const Procedural& scene : table) {
    if (scene.name == name) result.scene = &scene;
  }
  if (result.scene == nullptr) return std::nullopt;
  result.triangles = result.scene->default_triangles;
  if (name.size() == lowered.size()) return result;

  const bool only_count = rest.find(':') == std::string_view::npos;
  const std::string_view count = next_part();
  if (!parse_count(count, result.triangles)) {
    wrong(text, "`" + printable(count) + "` is not a number of triangles; write 1500, 20k or 7.5m");
  }
  const CountLimits range = limits[static_cast<std::size_t>(result.scene - table.data())];
  if (result.triangles < range.min || result.triangles > range.max) {
    wrong(text, range.min == range.max
                    ? "it always has " + std::to_string(range.min) +
                          (range.min == 1 ? " triangle" : " triangles") + ": leave the count out"
                    : "it can have " + std::to_string(range.min) + " to " +
                          std::to_string(range.max) + " triangles");
  }
  if (only_count) return result;
  const char* const end = rest.data() + rest.size();
  const auto [stop, error] = std::from_chars(rest.data(), end, result.seed);
  if (error != std::errc() || stop != end)
    wrong(text, "`" + printable(rest) + "` is not a seed; write an integer");
  return result;
}

std::string hex_digits(std::uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

}  // namespace heapwood::scenes
