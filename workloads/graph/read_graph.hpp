// SPDX-License-Identifier: MIT
// Readers of graph files. Each takes the whole text and the name to use in errors, and throws
// Error{Exit::scene} `NAME:LINE: what` for a malformed file. Loops are dropped and duplicates
// merged; InputCounts has their numbers.
//
// Memory in addition to the text is bounded by the text, whatever its numbers: at most 24 bytes per
// byte of the text and 12 MiB, the graph included. Typical files take 1 to 3 bytes per byte.
#pragma once

#include <string>
#include <string_view>

#include "workloads/graph/host_graph.hpp"

namespace heapwood::workloads::graph {

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

}  // namespace heapwood::workloads::graph
