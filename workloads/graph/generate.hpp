// SPDX-License-Identifier: MIT
// The generators of graphs, one function each; source.hpp has their names, what they stand for
// and the parsing of sizes. All of them compute in integers, so that the same request gives the
// same graph with every compiler and C library. Each comment says how much memory the generator
// needs in addition to the result, which has 8 bytes per vertex and 4 per directed edge.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/graph/host_graph.hpp"

namespace heapwood::workloads::graph {

struct GraphRequest {
  std::uint64_t size = 0;       // number of vertices; for rmat the scale
  std::uint64_t parameter = 0;  // for grid3d, rmat and uniform
  std::uint64_t seed = 1;
};

// Random points in the unit square; those no farther apart than 0.55 sqrt(ln n / n) are neighbours,
// the rule of the rgg_n_2_* graphs. Vertices are numbered by cells of that size, row by row.
// Extra memory: 9 bytes per vertex.
GraphInput generate_rgg(const GraphRequest& request);

// A grid of squares, each with one of its diagonals at random; the last row may be incomplete. No
// triangle exists but the two of each square. No extra memory.
GraphInput generate_delaunay(const GraphRequest& request);

// A wall of hexagons, stored like bricks: rows of vertices, with every second vertex linked to the
// next row. No triangles. No extra memory.
GraphInput generate_honeycomb(const GraphRequest& request);

// A cubic grid of nodes with `parameter` unknowns each; unknowns are the vertices. All unknowns of
// a node and of the up to 26 nodes around it are neighbours. The size is rounded down to whole
// nodes; the last layer may be incomplete. No extra memory.
GraphInput generate_grid3d(const GraphRequest& request);

// A road network: junctions in a grid, linked by a random spanning tree, some more streets and some
// diagonals, each subdivided by one to eight vertices. Connected; no triangles. Extra memory: 1
// byte per vertex.
GraphInput generate_road(const GraphRequest& request);

// Cliques of random sizes, like the authors of one paper. Each clique shares one vertex with the
// earlier ones, often a vertex that another clique has chosen before, which makes hubs. Connected;
// all triangles lie within a clique. Extra memory: 8 bytes per vertex.
GraphInput generate_cliques(const GraphRequest& request);

// R-MAT (Chakrabarti, Zhan, Faloutsos, SDM 2004) with probabilities 0.57, 0.19, 0.19 and 0.05:
// 2^size vertices and `parameter` drawn edges per vertex, undirected; loops and duplicates are
// dropped. The vertices are renumbered by a fixed permutation, so that hubs lie anywhere. Extra
// memory: only for the duplicates.
GraphInput generate_rmat(const GraphRequest& request);

// Draws both ends of `parameter` / 2 edges per vertex at random; loops and duplicates are dropped.
// Extra memory: only for the duplicates.
GraphInput generate_uniform(const GraphRequest& request);

// Batches of edge updates, as in section 6.2.2 of Ouroboros (Winter et al., ICS 2020): sources
// anywhere, or within 1,000 vertices so that many updates change one adjacency.
enum class UpdatePattern {
  random,    // sources uniform over all vertices
  pressure,  // sources uniform over `pressure_range` consecutive vertices
};

inline constexpr std::uint32_t pressure_range = 1000;

// Makes `edges` updates of a graph of `vertices` vertices, in no order. Destinations are uniform
// over the other vertices: no edge is a loop, but an edge may occur twice and may already be in the
// graph. For `pressure` the seed also chooses the range; in a smaller graph it is all vertices. The
// same arguments give the same batch everywhere: none for fewer than two vertices.
std::vector<Edge> make_batch(std::uint32_t vertices, std::uint64_t edges, UpdatePattern pattern,
                             std::uint64_t seed);

}  // namespace heapwood::workloads::graph
