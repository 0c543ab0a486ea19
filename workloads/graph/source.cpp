// SPDX-License-Identifier: MIT
#include "workloads/graph/source.hpp"

#include <filesystem>
#include <new>
#include <stdexcept>

#include "simt/error.hpp"
#include "workloads/graph/integers.hpp"
#include "workloads/graph/read_graph.hpp"

namespace heapwood::workloads::graph {
namespace {

using Parse = GraphInput (*)(std::string_view, const std::string&);

constexpr const char* known_types =
    "'.mtx' (Matrix Market), '.graph' (METIS), '.txt' or '.el' (edge list)";

// Null for an extension that is not known.
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

std::string known_generators() {
  std::string text;
  for (const GeneratorInfo& info : generators()) text += (text.empty() ? "" : ", ") + info.example;
  return text;
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
                                     ", or a generator such as " + known_generators());
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
