// SPDX-License-Identifier: MIT
// The procedural scenes, one function per family. Each returns a mesh of about `triangles`
// triangles (within 2% from 10,000, within 10% below; at least 1,000). The mesh depends on the seed
// but not on the number of threads (0: all).
#pragma once

#include <cstdint>

#include "scenes/mesh.hpp"

namespace heapwood::scenes {

struct Request {
  std::uint64_t triangles = 0;
  std::uint64_t seed = 1;
  unsigned threads = 0;
  Content content = Content::geometry;
};

Mesh make_atrium(
    const Request& request);  // a nave of two storeys of arcades under a coffered vault
Mesh make_statue(const Request& request);   // a monolithic head on a plinth: fine, even, curved
Mesh make_stadium(const Request& request);  // a teapot in the middle of a stadium
Mesh make_pipes(const Request& request);    // pipes, beams and tanks of a plant

// For tests, with exact counts.
Mesh make_empty(const Request& request);      // no triangle
Mesh make_single(const Request& request);     // one
Mesh make_identical(const Request& request);  // copies of one triangle
Mesh make_flat(const Request& request);       // all in the plane z = 0
Mesh make_points(const Request& request);     // every second triangle is the same point
Mesh make_tiny(const Request& request);       // coordinates of about 1e-20
Mesh make_huge(const Request& request);       // coordinates of about 1e20

}  // namespace heapwood::scenes
