// SPDX-License-Identifier: MIT
#include "workloads/graph/source.hpp"

#include <algorithm>
#include <iterator>

#include "simt/error.hpp"
#include "workloads/graph/read_graph.hpp"

namespace heapwood::workloads::graph {
namespace {

// In practice memory is the limit. These keep the numbers of vertices below 2^32, and sums of edges
// far below 2^64.
constexpr std::uint64_t largest_size = 200'000'000;
constexpr std::uint64_t max_edges = 4'000'000'000;

struct Range {
  std::uint64_t low, high, usual;
  bool contains(std::uint64_t value) const { return low <= value && value <= high; }
};

struct Parameter {
  const char* name;  // null: there is none
  Range range;
  std::uint64_t edge_factor;  // directed edges per vertex and unit of the parameter, at most
};

struct Generator {
  const char* id;
  const char* size_name;
  Range size;
  Parameter parameter;
  const char* description;
  const char* stands_for;
  const char* example;
  GraphInput (*generate)(const GraphRequest&);
};

constexpr Range vertices{1, largest_size, 1'000'000}, road_vertices{100, largest_size, 1'000'000},
    author_vertices{1, largest_size, 300'000}, scales{1, 27, 20};
constexpr Parameter none{nullptr, {0, 0, 0}, 0}, unknowns{"UNKNOWNS", {1, 8, 1}, 27},
    edges_per_vertex{"EDGES_PER_VERTEX", {1, 1000, 16}, 2}, degree{"DEGREE", {1, 1000, 16}, 1};

constexpr Generator table[] = {
    {"rgg", "VERTICES", vertices, none,
     "random points in a square, near ones linked: mean degree 13 at 1m", "rgg_n_2_20_s0", "rgg:1m",
     generate_rgg},
    {"delaunay", "VERTICES", vertices, none,
     "triangulated grid with random diagonals: mean degree 6, max 8", "delaunay_n20, delaunay_n23",
     "delaunay:8m", generate_delaunay},
    {"honeycomb", "VERTICES", vertices, none, "hexagons: degree 3", "hugetric-00000",
     "honeycomb:6m", generate_honeycomb},
    {"grid3d", "VERTICES", vertices, unknowns,
     "27-point grid with 1 to 8 unknowns per node: degree 26; 53 with 2, 80 with 3 unknowns",
     "nlpkkt120, nlpkkt200, nlpkkt240; with 2 unknowns ldoor, with 3 audikw_1", "grid3d:1m:3",
     generate_grid3d},
    {"road", "VERTICES", road_vertices, none,
     "streets between junctions, with vertices along them: mean degree 2.1, max 8",
     "luxembourg_osm, germany_osm, europe_osm", "road:10m", generate_road},
    {"cliques", "VERTICES", author_vertices, none,
     "small cliques that share single vertices, some of them hubs: mean degree 6.7",
     "coAuthorsCiteseer, coAuthorsDBLP", "cliques:300k", generate_cliques},
    {"rmat", "SCALE", scales, edges_per_vertex,
     "R-MAT 0.57/0.19/0.19/0.05 with 2^SCALE vertices: few hubs of very high degree", "", "rmat:20",
     generate_rmat},
    {"uniform", "VERTICES", vertices, degree, "edges between random vertices: no locality", "",
     "uniform:1m:16", generate_uniform},
};

[[noreturn]] void fail(std::string_view text, const std::string& reason) {
  throw Error(Exit::usage, "graph '" + printable(text) + "': " + reason);
}

// `1500`, `20k`, `7.5m`: nullopt if it is not a whole number below 10^13.
std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t unit = 1;
  if (text.ends_with('k')) unit = 1'000;
  if (text.ends_with('m')) unit = 1'000'000;
  if (unit > 1) text.remove_suffix(1);
  std::uint64_t value = 0;
  bool has_digits = false, in_fraction = false;
  for (const char c : text) {
    if (c == '.' && !in_fraction) {
      in_fraction = true;
      value *= unit;
      continue;
    }
    if (c < '0' || c > '9' || value > 1'000'000'000'000) return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    has_digits = true;
    if (!in_fraction) {
      value = value * 10 + digit;
    } else if (unit % 10 == 0) {
      unit /= 10;
      value += digit * unit;
    } else if (digit != 0) {
      return std::nullopt;
    }
  }
  if (!has_digits) return std::nullopt;
  return in_fraction ? value : value * unit;
}

std::uint64_t parse_argument(std::string_view whole, std::string_view text, const char* name,
                             const Range& range) {
  if (text.empty()) return range.usual;
  const auto value = parse_count(text);
  if (!value)
    fail(whole, std::string(name) + " '" + printable(text) +
                    "' is not a whole number; write 1500, 20k or 7.5m");
  if (!range.contains(*value)) {
    fail(whole, std::string(name) + " must be " + std::to_string(range.low) + " to " +
                    std::to_string(range.high));
  }
  return *value;
}

std::string arguments(const Generator& generator) {
  std::string text = generator.size_name;
  if (generator.parameter.name != nullptr)
    text += std::string("[:") + generator.parameter.name + "]";
  return text + "[:SEED]";
}

}  // namespace

std::vector<GeneratorInfo> generators() {
  std::vector<GeneratorInfo> infos;
  for (const Generator& generator : table) {
    infos.push_back({generator.id, arguments(generator), generator.description,
                     generator.stands_for, generator.example});
  }
  return infos;
}

std::optional<GeneratorCall> parse_generator(std::string_view text) {
  const std::string lowered = lower(text);
  std::string_view rest = lowered;
  const auto next_part = [&] {
    const std::string_view part = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    return part;
  };
  const std::string_view id = next_part();
  const auto* const generator = std::find_if(std::begin(table), std::end(table),
                                             [&](const Generator& g) { return g.id == id; });
  if (generator == std::end(table)) return std::nullopt;

  GeneratorCall call{generator->id, {}, generator->generate};
  GraphRequest& request = call.request;
  request.size = parse_argument(text, next_part(), generator->size_name, generator->size);
  if (const Parameter& parameter = generator->parameter; parameter.name != nullptr) {
    request.parameter = parse_argument(text, next_part(), parameter.name, parameter.range);
    const std::uint64_t count =
        generator->generate == generate_rmat ? std::uint64_t{1} << request.size : request.size;
    if (count * request.parameter * parameter.edge_factor > max_edges)
      fail(text, "it may have more than " + std::to_string(max_edges) +
                     " directed edges; use smaller numbers");
  }
  if (const std::string_view seed = next_part(); !seed.empty()) {
    const auto value = parse_unsigned(seed);
    if (!value) fail(text, "SEED '" + printable(seed) + "' is not a whole number below 2^64");
    request.seed = *value;
  }
  if (!rest.empty()) {
    fail(text, "'" + printable(rest) + "' is one argument too many; write " + generator->id + ":" +
                   arguments(*generator));
  }
  return call;
}

}  // namespace heapwood::workloads::graph
