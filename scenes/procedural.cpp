// SPDX-License-Identifier: MIT
#include <iterator>

#include "scenes/families.hpp"
#include "scenes/scene.hpp"
#include "scenes/scene_name.hpp"

namespace heapwood::scenes {
namespace {

constexpr std::uint64_t max_triangles = 100'000'000;

// In the same order: the public descriptions, the numbers of triangles and the generators.
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
constexpr CountLimits limits[] = {
    {1000, max_triangles},  // atrium
    {1000, max_triangles},  // statue
    {1000, max_triangles},  // stadium
    {1000, max_triangles},  // pipes
    {0, 0},                 // empty
    {1, 1},                 // single
    {1, max_triangles},     // identical
    {1, max_triangles},     // flat
    {1, max_triangles},     // points
    {1, max_triangles},     // tiny
    {1, max_triangles},     // huge
};
constexpr Mesh (*makers[])(const Request&) = {make_atrium, make_statue, make_stadium,   make_pipes,
                                              make_empty,  make_single, make_identical, make_flat,
                                              make_points, make_tiny,   make_huge};
static_assert(std::size(table) == std::size(makers) && std::size(table) == std::size(limits));

}  // namespace

std::span<const Procedural> procedural_scenes() { return table; }

std::optional<SceneName> parse_scene_name(const std::string& text) {
  return parse_name(text, table, limits);
}

Mesh generate(const SceneName& name, unsigned threads, Content content) {
  Mesh mesh = makers[name.scene - table]({name.triangles, name.seed, threads, content});
  mesh.name = name.scene->name;
  check(mesh, mesh.name);
  return mesh;
}

}  // namespace heapwood::scenes
