// SPDX-License-Identifier: MIT
#include "workloads/graph/source.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <new>
#include <stdexcept>

#include "scenes/file.hpp"
#include "simt/error.hpp"
#include "workloads/graph/integers.hpp"

namespace heapwood::workloads::graph {

namespace {

using scenes::lower, scenes::printable;

// Limits vertex numbers to 32 bits and sums of edges to 64. In practice memory is the limit.
constexpr std::uint64_t largest_size = 200'000'000;
constexpr std::uint64_t max_edges = 4'000'000'000;

struct Range {
  std::uint64_t low, high, usual;
  bool contains(std::uint64_t value) const { return low <= value && value <= high; }
};

struct Parameter {
  const char* name;  // nullptr: the generator has no such argument
  Range range;
  std::uint64_t edge_factor;  // max directed edges per vertex and unit of the parameter
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

std::uint64_t parse_argument(std::string_view whole, std::string_view text, const char* name,
                             const Range& range) {
  if (text.empty()) return range.usual;
  double count = 0;
  if (!scenes::parse_count(text, count) || std::abs(count - std::round(count)) > 1e-6)
    fail(whole, std::string(name) + " '" + printable(text) +
                    "' is not a whole number; write 1500, 20k or 7.5m");
  const auto value = static_cast<std::uint64_t>(std::llround(count));
  if (!range.contains(value)) {
    fail(whole, std::string(name) + " must be " + std::to_string(range.low) + " to " +
                    std::to_string(range.high));
  }
  return value;
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
  const std::string_view id = scenes::next_part(rest);
  const auto* const generator = std::find_if(std::begin(table), std::end(table),
                                             [&](const Generator& g) { return g.id == id; });
  if (generator == std::end(table)) return std::nullopt;

  GeneratorCall call{generator->id, {}, generator->generate};
  GraphRequest& request = call.request;
  request.size =
      parse_argument(text, scenes::next_part(rest), generator->size_name, generator->size);
  if (const Parameter& parameter = generator->parameter; parameter.name != nullptr) {
    request.parameter =
        parse_argument(text, scenes::next_part(rest), parameter.name, parameter.range);
    const std::uint64_t count =
        generator->generate == generate_rmat ? std::uint64_t{1} << request.size : request.size;
    if (count * request.parameter * parameter.edge_factor > max_edges)
      fail(text, "it may have more than " + std::to_string(max_edges) +
                     " directed edges; use smaller numbers");
  }
  if (const std::string_view seed = scenes::next_part(rest); !seed.empty()) {
    if (!scenes::parse_number(seed, request.seed))
      fail(text, "SEED '" + printable(seed) + "' is not a whole number below 2^64");
  }
  if (!rest.empty()) {
    fail(text, "'" + printable(rest) + "' is one argument too many; write " + generator->id + ":" +
                   arguments(*generator));
  }
  return call;
}

namespace {

using Parse = GraphInput (*)(std::string_view, const std::string&);

constexpr const char* known_types =
    "'.mtx' (Matrix Market), '.graph' (METIS), '.txt' or '.el' (edge list)";

// The parser for a file extension; nullptr if the extension is not known.
Parse parser_of(const std::string& path) {
  const std::string extension = scenes::extension_of(path);
  if (extension == ".mtx") return parse_matrix_market;
  if (extension == ".graph" || extension == ".metis") return parse_metis;
  for (const char* edge_list : {".txt", ".el", ".edges", ".snap", ".tsv"}) {
    if (extension == edge_list) return parse_edge_list;
  }
  return nullptr;
}

bool is_packed(const std::string& path) {
  const std::string extension = scenes::extension_of(path);
  for (const char* packed : {".gz", ".bz2", ".xz", ".zst", ".zip", ".tar", ".tgz"}) {
    if (extension == packed) return true;
  }
  return false;
}

// The parser for a file with an unknown extension, chosen by the start of its text.
Parse parser_of_content(std::string_view text) {
  text = scenes::without_byte_order_mark(text);
  if (text.starts_with("%%MatrixMarket")) return parse_matrix_market;
  if (text.starts_with("#")) return parse_edge_list;
  return nullptr;
}

GraphInput parse_file(const std::string& path) {
  const std::string shown = printable(path, path.size());
  if (is_packed(path)) throw Error(Exit::scene, shown + ": the file is packed; unpack it first");
  Parse parse = parser_of(path);
  const scenes::FileBytes file = scenes::read_file(path);
  if (parse == nullptr) parse = parser_of_content(file.text());
  if (parse == nullptr)
    throw Error(Exit::scene, shown + ": unknown file type; name it " + known_types);
  return parse(file.text(), path);
}

std::vector<std::string> notes_of(const GraphInput& input) {
  const InputCounts& counts = input.counts;
  std::vector<std::string> notes;
  const auto of_entries = [&](std::uint64_t count, const char* what) {
    if (count == 0) return;
    notes.push_back(std::to_string(count) + " of " + std::to_string(counts.entries) + what);
  };
  of_entries(counts.loops, " entries are loops: dropped");
  of_entries(counts.duplicates, " entries repeat an edge: merged");
  if (input.is_renumbered) notes.push_back("ids are not consecutive: renumbered in their order");
  if (!input.is_symmetric) notes.push_back("the graph is directed");
  return notes;
}

}  // namespace

GraphSource load_graph(std::string_view text) {
  const std::string path(text), shown = printable(text, text.size());
  GraphInput input;
  GraphSource source;
  try {
    if (const auto call = parse_generator(text)) {
      input = call->generate(call->request);
      source.name = lower(text);
    } else {
      std::error_code ignored;
      if (parser_of(path) == nullptr && !std::filesystem::exists(path, ignored)) {
        throw Error(Exit::usage, "unknown graph '" + shown + "': use a file " + known_types +
                                     ", or a generator such as " +
                                     scenes::joined(generators(), ", ", &GeneratorInfo::example));
      }
      input = parse_file(path);
      source.name = scenes::stem_of(path);
    }
  } catch (const std::bad_alloc&) {
    throw Error(Exit::scene, shown + ": the graph does not fit in memory");
  } catch (const std::length_error&) {
    throw Error(Exit::scene, shown + ": the graph does not fit in memory");
  }
  source.notes = notes_of(input);
  source.graph = std::move(input.graph);
  source.digest = graph_digest(source.graph);
  source.counts = input.counts;
  source.is_symmetric = input.is_symmetric;
  source.triangles = input.triangles;
  return source;
}

std::string graph_digest(const HostGraph& graph) {
  std::uint64_t hash = mix(graph.vertices());
  const auto add = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9fb21c651e98df25;
    hash ^= hash >> 32;
  };
  for (const std::uint64_t offset : graph.offsets) add(offset);
  for (const std::uint32_t destination : graph.destinations) add(destination);
  return scenes::hex_digits(mix(hash));
}

}  // namespace heapwood::workloads::graph
