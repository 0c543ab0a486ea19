// SPDX-License-Identifier: MIT
#include <cmath>
#include <iterator>

#include "scenes/exact_math.hpp"
#include "scenes/families.hpp"
#include "scenes/file.hpp"
#include "scenes/random.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {

// Scenes that are hard for builders: no triangle, one, equal ones, no volume, no area, extreme
// sizes.

namespace {

Vec3 anywhere(Random& random, float size) {
  return {random.uniform(-size, size), random.uniform(-size, size), random.uniform(-size, size)};
}

// Small triangles spread over a cube of edge 2 * size.
Mesh soup(const Request& request, float size) {
  Random random(request.seed);
  const float edge = size / exact::cbrt(static_cast<float>(request.triangles) + 1);
  Mesh mesh;
  for (std::uint32_t i = 0; i < request.triangles; ++i) {
    const Vec3 middle = anywhere(random, size);
    for (unsigned k = 0; k < 3; ++k) mesh.vertices.push_back(middle + anywhere(random, edge));
    mesh.triangles.push_back({{3 * i, 3 * i + 1, 3 * i + 2}});
  }
  mesh.camera = CameraHint{{1.6f * size, 1.2f * size, 3 * size}, {0, 0, 0}, 45};
  return mesh;
}

}  // namespace

Mesh make_empty(const Request&) { return {}; }

Mesh make_single(const Request&) { return make_identical({.triangles = 1}); }

Mesh make_identical(const Request& request) {
  Mesh mesh;
  mesh.vertices = {{-1, -1, 0.5f}, {1, -0.5f, -0.25f}, {0.25f, 1, 0}};
  mesh.triangles.assign(request.triangles, {{0, 1, 2}});
  mesh.camera = CameraHint{{0, 0, 4}, {0, 0, 0}, 45};
  return mesh;
}

Mesh make_flat(const Request& request) {
  Mesh mesh = soup(request, 1);
  for (Vec3& p : mesh.vertices) p.z = 0;
  return mesh;
}

Mesh make_points(const Request& request) {
  Mesh mesh = soup(request, 1);
  const Vec3 point = {0.25f, -0.5f, 0.125f};
  for (std::size_t i = 1; i < mesh.triangles.size(); i += 2) {
    for (const std::uint32_t v : mesh.triangles[i].v) mesh.vertices[v] = point;
  }
  return mesh;
}

Mesh make_tiny(const Request& request) { return soup(request, 1e-20f); }
Mesh make_huge(const Request& request) { return soup(request, 1e20f); }

namespace {

constexpr std::uint64_t max_triangles = 100'000'000;

constexpr Procedural families[] = {
    {"atrium", "a nave with two storeys of arcades: huge walls beside fine mouldings and cloth",
     100'000, 1000, max_triangles},
    {"statue", "a monolithic head: fine, even, curved triangles", 200'000, 1000, max_triangles},
    {"stadium", "a teapot in a stadium: a tiny dense object in a vast hall", 60'000, 1000,
     max_triangles},
    {"pipes", "pipes, beams and tanks of a plant: long, thin, slanted triangles", 150'000, 1000,
     max_triangles},
    {"empty", "for tests: no triangle", 0, 0, 0},
    {"single", "for tests: one triangle", 1, 1, 1},
    {"identical", "for tests: copies of one triangle", 1000, 1, max_triangles},
    {"flat", "for tests: all triangles in the plane z = 0", 1000, 1, max_triangles},
    {"points", "for tests: half of the triangles are one point", 1000, 1, max_triangles},
    {"tiny", "for tests: coordinates of about 1e-20", 1000, 1, max_triangles},
    {"huge", "for tests: coordinates of about 1e20", 1000, 1, max_triangles},
};
// The functions for the names of the table, in its order.
constexpr Mesh (*makers[])(const Request&) = {make_atrium, make_statue, make_stadium,   make_pipes,
                                              make_empty,  make_single, make_identical, make_flat,
                                              make_points, make_tiny,   make_huge};
static_assert(std::size(families) == std::size(makers));

[[noreturn]] void wrong(const std::string& text, const std::string& reason) {
  throw Error(Exit::usage, "scene `" + printable(text) + "`: " + reason);
}

}  // namespace

std::string names_of(std::span<const Procedural> table) {
  return joined(table, ", ", &Procedural::name);
}

std::optional<SceneName> parse_name(const std::string& text, std::span<const Procedural> table) {
  // May be a file, such as `statue:2k.obj`.
  if (is_readable(extension_of(text))) return std::nullopt;
  const std::string lowered = lower(text);
  std::string_view rest = lowered;
  const std::string_view name = next_part(rest);
  SceneName result;
  for (const Procedural& scene : table) {
    if (scene.name == name) result.scene = &scene;
  }
  if (result.scene == nullptr) return std::nullopt;
  result.triangles = result.scene->default_triangles;
  if (name.size() == lowered.size()) return result;

  const bool only_count = rest.find(':') == std::string_view::npos;
  const std::string_view count = next_part(rest);
  double triangles = 0;
  if (!parse_count(count, triangles))
    wrong(text, "`" + printable(count) + "` is not a number of triangles; write 1500, 20k or 7.5m");
  result.triangles = static_cast<std::uint64_t>(std::llround(triangles));
  const std::uint64_t min = result.scene->min_triangles, max = result.scene->max_triangles;
  if (result.triangles < min || result.triangles > max) {
    wrong(text, min == max ? concat("it always has ", min, min == 1 ? " triangle" : " triangles",
                                    ": leave the count out")
                           : concat("it can have ", min, " to ", max, " triangles"));
  }
  if (only_count) return result;
  if (!parse_number(rest, result.seed))
    wrong(text, "`" + printable(rest) + "` is not a seed; write an integer");
  return result;
}

std::span<const Procedural> procedural_scenes() { return families; }

std::optional<SceneName> parse_scene_name(const std::string& text) {
  return parse_name(text, families);
}

Mesh generate(const SceneName& name, unsigned threads, Content content) {
  Mesh mesh = makers[name.scene - families]({name.triangles, name.seed, threads, content});
  mesh.name = name.scene->name;
  check(mesh, mesh.name);
  return mesh;
}

}  // namespace heapwood::scenes
