// SPDX-License-Identifier: MIT
#include "bench/reproduce/reproduce.hpp"

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "bench/program/messages.hpp"
#include "bench/results/json.hpp"
#include "bench/results/json_report.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {

std::string made_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw_error(Exit::failed, "{}: cannot create the folder: {}; choose another with --out", folder,
                error.message());
  return results_path(folder);
}

// The parts of a device that must agree: the GPU, but neither the driver nor the host's memory.
Json identity(const Json& device) {
  Json kept = Json::object();
  for (const char* key : {"kind", "name", "threads", "multiprocessors"}) {
    if (device.contains(key)) kept[key] = device[key];
  }
  return kept;
}

// Whether all values that this class reads have the expected types.
bool is_ours(const Json& json) {
  if (text_at(json, "schema") != reproduce_schema) return false;
  for (const char* key : {"runs", "items", "cases"}) {
    if (!is_list_of_objects(json.find(key))) return false;
  }
  const auto has_types = [](const Json& one) {
    return one.contains("key") && one["key"].is_string() &&
           is_list_of_objects(one.find("results")) && one.contains("seconds") &&
           one["seconds"].is_number();
  };
  const Json& cases = json["cases"];
  return json.contains("device") && json["device"].is_object() &&
         std::all_of(cases.begin(), cases.end(), has_types);
}

Json earlier_file(const std::string& path, const Json& head) {
  const std::optional<Json> read = read_json(path);
  if (!read) return head;
  const Json& json = *read;
  if (!is_ours(json))
    throw_error(Exit::failed, "{}: not a {} file; choose another folder with --out", path,
                reproduce_schema);
  if (identity(json["device"]) != identity(head["device"]) ||
      text_at(json, "scale") != text_at(head, "scale")) {
    throw_error(Exit::usage, "{}: measured on '{}', scale '{}'; choose another folder with --out",
                path, scenes::printable(text_at(json["device"], "name"), 120),
                scenes::printable(text_at(json, "scale")));
  }
  return json;
}

}  // namespace

std::string results_path(const std::string& folder) {
  return (std::filesystem::path(folder) / "results.json").string();
}

ReproduceResults::ReproduceResults(const std::string& folder, const ReproduceSetup& setup,
                                   const std::vector<std::string>& argv)
    : file_(made_folder(folder)), device_(setup.device) {
  Json head = report_head(reproduce_schema, argv, setup.device);
  for (const char* key : {"argv", "version", "git", "device_record", "results"}) head.erase(key);
  head["scale"] = setup.full ? "full" : "quick";
  for (const char* key : {"runs", "items", "cases"}) head[key] = Json::array();
  json_ = earlier_file(file_.path(), head);

  run_ = report_head("", argv, setup.device);
  run_.erase("schema");
  run_.erase("results");
  run_["compilers"] = compilers();
  const std::time_t now = std::time(nullptr);
  char started[sizeof "2026-01-31T00:00:00Z"];
  std::strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  run_["started"] = started;
}

const Json* ReproduceResults::find(const std::string& key) const {
  for (const Json& one : json_["cases"]) {
    if (text_at(one, "key") == key) return &one;
  }
  return nullptr;
}

const Json* ReproduceResults::results(const std::string& key) const {
  const Json* one = find(key);
  return one ? one->find("results") : nullptr;
}

double ReproduceResults::seconds(const std::string& key) const {
  const Json* one = find(key);
  return one ? one->value("seconds", 0.0) : 0;
}

bool ReproduceResults::has(const ReproduceCase& one) const {
  const Json* measured = results(one.key);
  return measured &&
         std::all_of(one.allocators.begin(), one.allocators.end(), [&](const Allocator* entry) {
           return std::any_of(measured->begin(), measured->end(), [&](const Json& result) {
             return text_at(result, "allocator") == entry->traits->id;
           });
         });
}

void ReproduceResults::add(const ReproduceCase& one, double seconds, Json results) {
  if (!run_.empty()) json_["runs"].push_back(std::move(run_));
  run_ = {};
  if (Json record = device_record(device_); !record.is_null())
    json_["runs"].back()["device_record"] = std::move(record);
  const Json* found = find(one.key);
  Json& entry = found ? const_cast<Json&>(*found) : json_["cases"].push_back(Json());
  entry = {{"key", one.key},
           {"run", json_["runs"].size() - 1},
           {"seconds", std::round(seconds * 1e3) / 1e3}};
  if (!one.about.empty()) entry["about"] = one.about;
  entry["results"] = std::move(results);
}

void ReproduceResults::describe(const std::vector<ReproduceItem>& items,
                                const ReproduceSetup& setup) {
  Json described = Json::array();
  for (const ReproduceItem& item : items) {
    Json json{
        {"id", item.id}, {"paper", item.paper}, {"figure", item.figure}, {"title", item.title}};
    if (!item.absent.empty()) json["absent"] = item.absent;
    Json& keys = json["cases"] = Json::array();
    for (const ReproduceCase& one : reproduce_cases({&item}, setup)) keys.push_back(one.key);
    // Keeps cases of an earlier run with other scenes.
    for (const Json& earlier : json_["items"]) {
      if (text_at(earlier, "id") != item.id || !earlier.contains("cases")) continue;
      for (const Json& key : earlier["cases"]) {
        if (key.is_string() && results(key) &&
            std::find(keys.begin(), keys.end(), key) == keys.end())
          keys.push_back(key);
      }
    }
    described.push_back(std::move(json));
  }
  json_["items"] = std::move(described);
}

void ReproduceResults::write() { file_.write(json_.dump(1, false) + "\n"); }

}  // namespace heapwood::bench
