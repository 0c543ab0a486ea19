// SPDX-License-Identifier: MIT
#include "bench/compare/compare.hpp"

#include <algorithm>
#include <map>
#include <new>

#include "bench/animate_bench.hpp"
#include "bench/graph_bench.hpp"
#include "bench/program/messages.hpp"
#include "bench/replay_bench.hpp"
#include "bench/reproduce/reproduce.hpp"
#include "bench/results/json.hpp"
#include "bench/steps_bench.hpp"
#include "bench/stress.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {

constexpr const char* trace_results_schema = "heapwood.trace/1";
constexpr const char* known_schemas[] = {bench_schema,   stress_schema,    graph_schema,
                                         replay_schema,  animate_schema,   trace_results_schema,
                                         strings_schema, particles_schema, reproduce_schema};

[[noreturn]] void damaged(const std::string& path, const std::string& what) {
  throw_error(Exit::scene, "{}: {}; measure again or choose another file", path, what);
}

// Whether all that the program reads besides results has the expected types.
bool has_known_types(const Json& json) {
  const auto is_list_of_texts = [](const Json& list) {
    return list.is_array() &&
           std::ranges::all_of(list, [](const Json& one) { return one.is_string(); });
  };
  const auto is_shard = [](const Json& shard) {
    const Json number = shard.value("number", Json()), count = shard.value("count", Json());
    return number.is_unsigned() && count.is_unsigned() && number.get<std::uint64_t>() >= 1 &&
           number.get<std::uint64_t>() <= count.get<std::uint64_t>() &&
           count.get<std::uint64_t>() <= 1'000'000;
  };
  const Json *argv = json.find("argv"), *shard = json.find("shard");
  if ((argv && (!is_list_of_texts(*argv) || argv->empty())) || (shard && !is_shard(*shard)))
    return false;
  for (const char* key : {"shards", "runs", "items"}) {
    const Json* list = json.find(key);
    if (!list) continue;
    if (!is_list_of_objects(list)) return false;
    for (const Json& one : *list) {
      const Json *part = one.find("shard"), *cases = one.find("cases");
      if ((part && !is_shard(*part)) || (cases && !is_list_of_texts(*cases))) return false;
    }
  }
  return true;
}

// Reads a list of times. Returns false if there is none at this key.
bool read_samples(const Json& json, const char* key, std::vector<double>& ms) {
  const Json* list = json.find(key);
  if (!list) return false;
  if (!list->is_array()) throw std::invalid_argument(fmt::format("'{}' is not a list", key));
  ms.clear();
  for (const Json& one : *list) {
    if (!one.is_number() || !(one.get<double>() >= 0))
      throw std::invalid_argument(fmt::format("'{}' contains something other than times", key));
    ms.push_back(one.get<double>());
  }
  return true;
}

void add_cells(std::vector<ResultCell>& cells, const Json& result) {
  const Json identity = identity_of(result);
  const std::string status = text_at(result, "status");
  std::string reason = status == "ok" ? "" : status;
  if (const std::string more = text_at(result, "reason"); !reason.empty() && !more.empty())
    reason += ": " + more;
  const auto add = [&](const Json& json, const char* key, const std::string& metric, bool paired) {
    ResultCell cell{identity, metric, {}, paired, reason};
    if (!read_samples(json, key, cell.ms)) return;
    if (!reason.empty()) cell.ms.clear();
    if (reason.empty() && cell.ms.empty()) cell.reason = "no samples";
    cells.push_back(std::move(cell));
  };
  if (const Json* phases = result.find("phases"); phases && phases->is_array()) {
    for (const Json& phase : *phases) {
      std::string metric = text_at(phase, "phase");
      const bool has_rounds = phase.contains("batch");
      if (has_rounds) metric += fmt::format("@{}", phase.at("batch").dump());
      add(phase, "runs_ms", metric, has_rounds);
    }
  } else if (result.contains("frame_ms")) {
    add(result, "build_ms", "build", true);
    add(result, "frame_ms", "frame", true);
  } else if (const Json* allocate = result.find("allocate_ms"); allocate && !allocate->empty()) {
    add(result, "allocate_ms", "allocate", false);
    add(result, "free_ms", "free", false);
  } else {
    add(result, "runs_ms", "run", false);
  }
}

// Adds what identifies a result of `trace` but is elsewhere in the file, such as the scene.
Json complete(Json result, const ResultsFile& file) {
  if (file.schema != trace_results_schema) return result;
  if (const Json* scene = file.json.find("scene")) result["scene"] = text_at(*scene, "name");
  for (const char* key : {"allocator", "settings"}) {
    if (const Json* value = file.json.find(key)) result[key] = *value;
  }
  for (const char* key : {"width", "height"}) {
    if (const Json* value = file.json.find(key)) result["settings"][key] = *value;
  }
  return result;
}

std::string value_text(const Json& value) {
  return scenes::printable(value.is_string() ? value.get<std::string>() : value.dump(), 100);
}

}  // namespace

Json ResultsFile::device() const {
  Json without = json.at("device");
  for (const char* key : {"memory_bytes", "key"}) without.erase(key);
  return without;
}

std::string ResultsFile::version_text() const {
  const Json* git = json.find("git");
  // A reproduction has a commit per run; the last one counts.
  if (const Json* runs = json.find("runs"); !git && is_list_of_objects(runs) && !runs->empty())
    git = runs->back().find("git");
  const std::string sha = git ? text_at(*git, "sha") : "";
  return sha.empty() ? "unknown version" : scenes::printable(sha.substr(0, 12), 40);
}

std::string ResultsFile::device_text() const {
  const Json it = device();
  std::string text = scenes::printable(text_at(it, "name"), 100);
  if (const std::string driver = text_at(it, "driver"); !driver.empty())
    text += ", " + scenes::printable(driver, 60);
  if (const Json* threads = it.find("threads"))
    text += fmt::format(", {} threads", scenes::printable(threads->dump()));
  return text;
}

std::set<std::string> ResultsFile::recorded(const char* key) const {
  std::set<std::string> values;
  for (const Json* record : device_records_in(json)) {
    if (const std::string value = text_at(*record, key); !value.empty()) values.insert(value);
  }
  return values;
}

ResultsFile read_results(const std::string& path) {
  ResultsFile file;
  file.path = path;
  std::optional<Json> json = read_json(path, Exit::scene);
  if (!json) throw Error(Exit::scene, path + ": no such file; --json writes results files");
  file.json = std::move(*json);
  file.schema = text_at(file.json, "schema");
  const bool is_known = std::any_of(std::begin(known_schemas), std::end(known_schemas),
                                    [&](const char* schema) { return file.schema == schema; });
  if (!is_known) {
    throw_error(
        Exit::scene, "{}: not a results file with raw samples{}; choose one of --json", path,
        file.schema.empty() ? "" : fmt::format(" (schema '{}')", scenes::printable(file.schema)));
  }
  const Json* device = file.json.find("device");
  const bool is_reproduction = file.schema == reproduce_schema;
  if (!device || !device->is_object() ||
      !is_list_of_objects(file.json.find(is_reproduction ? "cases" : "results")) ||
      !has_known_types(file.json))
    damaged(path, fmt::format("not a complete {} file", file.schema));
  for (const Json& one : is_reproduction ? file.json["cases"] : Json()) {
    if (text_at(one, "key").empty() || !is_list_of_objects(one.find("results")))
      damaged(path, fmt::format("not a complete {} file", file.schema));
  }
  return file;
}

std::vector<ResultCell> cells_of(const ResultsFile& file) {
  std::vector<ResultCell> cells;
  try {
    if (file.schema == reproduce_schema) {
      for (const Json& one : file.json.at("cases")) {
        for (Json result : one.at("results")) {
          result["case"] = one.at("key");
          add_cells(cells, result);
        }
      }
    } else {
      for (const Json& result : file.json.at("results")) add_cells(cells, complete(result, file));
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    damaged(file.path, fmt::format("damaged: {}", scenes::printable(error.what(), 200)));
  }
  std::set<std::string> known;
  for (const ResultCell& cell : cells) {
    if (!known.insert(sorted_text(cell.identity) + cell.metric).second) {
      damaged(file.path, fmt::format("contains {} of {} twice", scenes::printable(cell.metric),
                                     cell_labels({&cell}).front()));
    }
  }
  return cells;
}

std::vector<std::string> cell_labels(const std::vector<const ResultCell*>& cells) {
  constexpr const char* always_shown[] = {"case", "measured_on", "scene", "source",   "graph",
                                          "test", "trace",       "kind",  "allocator"};
  // Other parts of the identity are shown if they differ between cells.
  using Values = std::map<std::string, std::string>;
  const auto rest_of = [&](const ResultCell& cell) {
    Values rest;
    for (const auto& [key, value] : cell.identity.items()) {
      if (key == "settings" && value.is_object()) {
        for (const auto& [setting, inner] : value.items()) rest[setting + "="] = value_text(inner);
      } else if (key == "pool") {
        rest["pool="] = value_text(value);
      } else if (key == "layout") {
        rest[key] = value_text(value);
      }
    }
    return rest;
  };
  std::map<std::string, std::set<std::string>> values;
  for (const ResultCell* cell : cells) {
    for (const auto& [key, value] : rest_of(*cell)) values[key].insert(value);
  }
  std::vector<std::string> labels;
  for (const ResultCell* cell : cells) {
    // A reproduction's case has its settings in its key already.
    const bool is_case = cell->identity.contains("case");
    std::string label;
    const auto add = [&](const std::string& text) {
      label += (label.empty() || text.empty() ? "" : " ") + text;
    };
    for (const std::string key : always_shown) {
      const bool is_in_case =
          is_case && key != "case" && key != "measured_on" && key != "allocator";
      if (const Json* value = cell->identity.find(key); value && !is_in_case)
        add(value_text(*value));
    }
    for (const auto& [key, value] : rest_of(*cell)) {
      const bool is_setting = key.back() == '=';
      if (values[key].size() > 1 && !(is_case && is_setting)) add(is_setting ? key + value : value);
    }
    labels.push_back(std::move(label));
  }
  // Adds digests where files in several folders have one name.
  std::map<std::string, std::set<std::string>> digests;
  for (std::size_t i = 0; i < cells.size(); ++i)
    digests[labels[i]].insert(text_at(cells[i]->identity, "digest"));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string digest = text_at(cells[i]->identity, "digest");
    if (digests.at(labels[i]).size() > 1 && !digest.empty())
      labels[i] += fmt::format(" ({})", scenes::printable(digest.substr(0, 8)));
  }
  return labels;
}

}  // namespace heapwood::bench
