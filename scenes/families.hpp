// SPDX-License-Identifier: MIT
// The procedural scenes, one function per family (procedural.cpp describes them). Each returns a
// mesh of about `triangles` triangles (within 2% from 10,000, within 10% below; at least 1,000).
// The mesh depends on the seed but not on the number of threads (0: all).
#pragma once

#include <cstdint>

#include "scenes/scene.hpp"

namespace heapwood::scenes {

struct Request {
  std::uint64_t triangles = 0;
  std::uint64_t seed = 1;
  unsigned threads = 0;
  Content content = Content::geometry;
};

Mesh make_atrium(const Request& request);
Mesh make_statue(const Request& request);
Mesh make_stadium(const Request& request);
Mesh make_pipes(const Request& request);

// Scenes for tests, with exact numbers of triangles.
Mesh make_empty(const Request& request);
Mesh make_single(const Request& request);
Mesh make_identical(const Request& request);
Mesh make_flat(const Request& request);
Mesh make_points(const Request& request);
Mesh make_tiny(const Request& request);
Mesh make_huge(const Request& request);

// The names of a table: "atrium, statue, stadium".
std::string names_of(std::span<const Procedural> table);
// Does what parse_scene_name() does, for another table; the result points into it.
std::optional<SceneName> parse_name(const std::string& text, std::span<const Procedural> table);

}  // namespace heapwood::scenes
