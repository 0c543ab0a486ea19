// SPDX-License-Identifier: MIT
// Generated graphs by name: `rgg:1m`, `uniform:1m:16`, `rmat:20:16:7`. They stand in for the graphs
// of table 1 of Ouroboros (Winter et al., ICS 2020), which are files of gigabytes:
//
//   graph of table 1      mean    max degree   generator            mean    max degree
//   rgg_n_2_20_s0         13.14   36           rgg:1048576          13.16   35
//   delaunay_n20           6      23           delaunay:1048576      5.99    8
//   delaunay_n23           6      28           delaunay:8388608      6.00    8
//   hugetric-00000         3       3           honeycomb:5824554     3.00    3
//   nlpkkt120             27.34   28           grid3d:3542400       25.65   26
//   nlpkkt200             27.6    28           grid3d:16.24m        25.79   26
//   nlpkkt240             27.66   28           grid3d:27993600     25.82   26
//   ldoor                 48.86   77           grid3d:952203:2      51.63   53
//   audikw_1              82.28   345          grid3d:943695:3      77.63   80
//   luxembourg_osm         2.08    6           road:114599           2.12    7
//   germany_osm            2.14   13           road:11548845         2.12    8
//   europe_osm             2.12   13           road:50912018         2.12    8
//   coAuthorsCiteseer      7.16   1372         cliques:227320        6.72   911
//   coAuthorsDBLP          6.54   336          cliques:299067        6.73   1019
//   none                                       rmat:20              29.95   64861
//   none                                       uniform:1m:16        16.00   37
//
// Degrees count directed edges. What differs: the triangulation has no vertex of more than 8
// neighbours, the cubic grid is regular, roads have no triangles, and no two cliques share more
// than one vertex. rmat and uniform add hubs and the lack of locality.
//
// 1 million vertices take 0.1 to 1.5 s on one CPU core, rmat:20 takes 3.5 s. Peak memory is that of
// the graph (8 bytes per vertex, 4 per directed edge) and what generate.hpp says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/graph/generate.hpp"

namespace heapwood::workloads::graph {

// One line each, for `heapwood list graphs` and error messages.
struct GeneratorInfo {
  std::string id;           // "rgg"
  std::string arguments;    // "VERTICES[:SEED]"
  std::string description;  // what the graph is
  std::string stands_for;   // graphs of table 1; empty for none
  std::string example;      // "rgg:1m"
};
std::vector<GeneratorInfo> generators();

// `NAME[:SIZE][:PARAMETER][:SEED]`, upper or lower case, the parameter only where the generator has
// one; a number is `1500`, `20k`, `1m` or `7.5m`, and an empty one has its default. nullopt if the
// part before the first colon is not a generator. Throws Error{Exit::usage} if it is one and the
// rest is not as described or out of the generator's range.
struct GeneratorCall {
  std::string id;
  GraphRequest request;
  GraphInput (*generate)(const GraphRequest&) = nullptr;
};
std::optional<GeneratorCall> parse_generator(std::string_view text);

}  // namespace heapwood::workloads::graph
