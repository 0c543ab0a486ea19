// SPDX-License-Identifier: MIT
// The generators of graphs, one function each; generators.hpp has their names, what they stand for
// and the parsing of sizes. All of them compute in integers, so that the same request gives the
// same graph with every compiler and C library. Each comment says how much memory the generator
// needs in addition to the result, which has 8 bytes per vertex and 4 per directed edge.
#pragma once

#include <cstdint>

#include "workloads/graph/input.hpp"

namespace heapwood::workloads::graph {

struct GraphRequest {
  std::uint64_t size = 0;       // vertices; of rmat the scale
  std::uint64_t parameter = 0;  // of grid3d, rmat and uniform
  std::uint64_t seed = 1;
};

// Random points in the unit square; those no farther apart than 0.55 sqrt(ln n / n) are neighbours,
// the rule of the rgg_n_2_* graphs. Vertices are numbered by cells of that size, row by row.
// Extra memory: 9 bytes per vertex.
GraphInput generate_rgg(const GraphRequest& request);

// A grid of squares, each with one of its diagonals at random; the last row may be incomplete. No
// triangle exists but the two of each square. No extra memory.
GraphInput generate_delaunay(const GraphRequest& request);

// Hexagons as a brick wall: rows of vertices, with every second one linked to the next row. No
// triangles. No extra memory.
GraphInput generate_honeycomb(const GraphRequest& request);

// A cubic grid in which all unknowns of a node and of the up to 26 nodes around it are neighbours;
// `parameter` unknowns per node. The size is rounded down to whole nodes; the last layer may be
// incomplete. No extra memory.
GraphInput generate_grid3d(const GraphRequest& request);

// A road network: junctions in a grid, linked by a random spanning tree, some more streets and some
// diagonals, each subdivided by one to eight vertices. Connected; no triangles. Extra memory: 1
// byte per vertex.
GraphInput generate_road(const GraphRequest& request);

// Cliques (the authors of a paper) of random sizes, each of which shares one vertex with the
// earlier ones: often a vertex that an earlier clique has chosen, which makes hubs. Connected; all
// triangles lie within a clique. Extra memory: 8 bytes per vertex.
GraphInput generate_cliques(const GraphRequest& request);

// R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004) with probabilities .57, .19, .19 and .05:
// 2^size vertices and `parameter` drawn edges per vertex, undirected; loops and duplicates are
// dropped. The vertices are renumbered by a fixed permutation, so that hubs lie anywhere. Extra
// memory: only for the duplicates.
GraphInput generate_rmat(const GraphRequest& request);

// Both ends of `parameter` / 2 edges per vertex at random; loops and duplicates are dropped. Extra
// memory: only for the duplicates.
GraphInput generate_uniform(const GraphRequest& request);

}  // namespace heapwood::workloads::graph
