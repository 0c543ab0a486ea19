// SPDX-License-Identifier: MIT
// Graphs by name: a generator with its size (`rgg:1m`) or the path of a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/graph/generate.hpp"
#include "workloads/graph/host_graph.hpp"

namespace heapwood::workloads::graph {

// Readers of graph files. Each takes the whole text and the name to use in errors, and throws
// Error{Exit::scene} `NAME:LINE: what` for a malformed file. Loops are dropped and duplicates
// merged; InputCounts has their numbers.
//
// Memory in addition to the text is bounded by the text, whatever its numbers: at most 24 bytes per
// byte of the text and 12 MiB, the graph included. Typical files take 1 to 3 bytes per byte.

// Matrix Market, `coordinate` only: a square matrix; each entry, whatever its value, is an edge
// from its row to its column, and if the matrix is symmetric, skew-symmetric or Hermitian also the
// opposite one. A `general` matrix gives a directed graph, which may still be symmetric. Refuses
// matrices that have both more than 2^20 rows and more rows than the text has bytes: nearly all
// their vertices would have no edge.
GraphInput parse_matrix_market(std::string_view text, const std::string& name);

// METIS and the 10th DIMACS challenge: a line per vertex with its neighbours, counted from 1.
// Weights and sizes are skipped. An edge must be in the lists of both its vertices.
GraphInput parse_metis(std::string_view text, const std::string& name);

// SNAP: two ids below 2^64 per line, `#` before comments. The ids in use are renumbered in
// ascending order. Further columns, which must be numbers, are ignored. All edges are undirected:
// the format does not say whether they are, and the comments that do are not reliable.
GraphInput parse_edge_list(std::string_view text, const std::string& name);

// Generated graphs by name: `rgg:1m`, `uniform:1m:16`, `rmat:20:16:7`. They stand in for the graphs
// of table 1 of Ouroboros (Winter et al., ICS 2020), which are files of gigabytes;
// docs/reproduction.md compares their degrees. What differs: the triangulation has no vertex of
// more than 8 neighbours, the cubic grid is regular, roads have no triangles, and no two cliques
// share more than one vertex. rmat and uniform add hubs and the lack of locality.
//
// 1 million vertices take 0.1 to 1.5 s on one CPU core, rmat:20 takes 3.5 s. Peak memory is that of
// the graph (8 bytes per vertex, 4 per directed edge) and what generate.hpp says.

// A generator; each text is one line for `heapwood list graphs` and for error messages.
struct GeneratorInfo {
  std::string id;           // "rgg"
  std::string arguments;    // "VERTICES[:SEED]"
  std::string description;  // what the graph is
  std::string stands_for;   // graphs of table 1 of the paper; empty if none
  std::string example;      // "rgg:1m"
};
std::vector<GeneratorInfo> generators();

// Parses `NAME[:SIZE][:PARAMETER][:SEED]`, in upper or lower case. Only some generators have a
// parameter. A number is `1500`, `20k`, `1m` or `7.5m`; an empty one has its default. Returns
// nullopt if the part before the first colon is not a generator. Throws Error{Exit::usage} if it is
// one and the rest is malformed or out of the generator's range.
struct GeneratorCall {
  std::string id;
  GraphRequest request;
  GraphInput (*generate)(const GraphRequest&) = nullptr;
};
std::optional<GeneratorCall> parse_generator(std::string_view text);

struct GraphSource {
  HostGraph graph;
  std::string name;          // "rgg:1m"; for a file its name without folder and extension
  std::string digest;        // graph_digest() of the graph; independent of the file
  bool is_symmetric = true;  // each edge is stored in both directions
  InputCounts counts;        // what was listed, dropped and merged
  std::optional<std::uint64_t> triangles;  // their number, if the generator knows it
  std::vector<std::string> notes;          // changes made to the input, one line each for the user
};

// Loads the graph that `text` names. Throws Error{Exit::usage} if it is neither a generator nor a
// file of a known type, and Error{Exit::scene} if a file cannot be read (`FILE:LINE: what` if its
// content is malformed) or the graph does not fit in memory.
GraphSource load_graph(std::string_view text);

// A hash of vertices and edges, 16 hexadecimal digits: equal for equal graphs from any source.
std::string graph_digest(const HostGraph& graph);

}  // namespace heapwood::workloads::graph
