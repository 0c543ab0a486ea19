// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string_view>

#include "scenes/families.hpp"
#include "scenes/file.hpp"
#include "scenes/scene.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

constexpr std::uint64_t max_triangles = 100'000'000;

struct Limits {
  std::uint64_t min, max;
};

// In the same order: the public descriptions and the generators.
constexpr Procedural table[] = {
    {"atrium", "a nave with two storeys of arcades: huge walls beside fine mouldings and cloth",
     100'000},
    {"statue", "a monolithic head: fine, even, curved triangles", 200'000},
    {"stadium", "a teapot in a stadium: a tiny dense object in a vast hall", 60'000},
    {"pipes", "pipes, beams and tanks of a plant: long, thin, slanted triangles", 150'000},
    {"empty", "for tests: no triangle", 0},
    {"single", "for tests: one triangle", 1},
    {"identical", "for tests: copies of one triangle", 1000},
    {"flat", "for tests: all triangles in the plane z = 0", 1000},
    {"points", "for tests: half of the triangles are one point", 1000},
    {"tiny", "for tests: coordinates of about 1e-20", 1000},
    {"huge", "for tests: coordinates of about 1e20", 1000},
};
struct Maker {
  Mesh (*make)(const Request&);
  Limits limits;
};
constexpr Maker makers[] = {
    {make_atrium, {1000, max_triangles}},
    {make_statue, {1000, max_triangles}},
    {make_stadium, {1000, max_triangles}},
    {make_pipes, {1000, max_triangles}},
    {make_empty, {0, 0}},
    {make_single, {1, 1}},
    {make_identical, {1, max_triangles}},
    {make_flat, {1, max_triangles}},
    {make_points, {1, max_triangles}},
    {make_tiny, {1, max_triangles}},
    {make_huge, {1, max_triangles}},
};
static_assert(std::size(table) == std::size(makers));

const Maker& maker_of(const Procedural& scene) { return makers[&scene - table]; }

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

std::span<const Procedural> procedural_scenes() { return table; }

std::optional<SceneName> parse_scene_name(const std::string& text) {
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
  const Limits limits = maker_of(*result.scene).limits;
  if (result.triangles < limits.min || result.triangles > limits.max) {
    wrong(text, limits.min == limits.max ? "it always has " + std::to_string(limits.min) +
                                               " triangles: leave the count out"
                                         : "it can have " + std::to_string(limits.min) + " to " +
                                               std::to_string(limits.max) + " triangles");
  }
  if (only_count) return result;
  const char* const end = rest.data() + rest.size();
  const auto [stop, error] = std::from_chars(rest.data(), end, result.seed);
  if (error != std::errc() || stop != end)
    wrong(text, "`" + printable(rest) + "` is not a seed; write an integer");
  return result;
}

Mesh generate(const SceneName& name, unsigned threads, Content content) {
  Mesh mesh = maker_of(*name.scene).make({name.triangles, name.seed, threads, content});
  mesh.name = name.scene->name;
  check(mesh, mesh.name);
  return mesh;
}

}  // namespace heapwood::scenes
