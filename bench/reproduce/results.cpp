// SPDX-License-Identifier: MIT
#include "bench/reproduce/results.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "bench/program/input_file.hpp"
#include "bench/program/version.hpp"

namespace heapwood::bench {

namespace {

std::string made_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw Error(Exit::failed,
                fmt::format("{}: cannot create the folder: {}; choose another with --out", folder,
                            error.message()));
  return (std::filesystem::path(folder) / "results.json").string();
}

// The driver and the host's memory may differ; the GPU must be the same.
Json identity(const Json& device) {
  Json kept = Json::object();
  for (const char* key : {"kind", "name", "threads", "multiprocessors"}) {
    if (device.contains(key)) kept[key] = device[key];
  }
  return kept;
}

Json earlier_file(const std::string& path, const Json& head) {
  const std::optional<std::string> text = read_text(path, Exit::failed);
  if (!text) return head;
  Json json = Json::parse(*text, nullptr, false);
  const bool ours = json.is_object() && json.value("schema", "") == reproduce_schema &&
                    json.contains("cases") && json["cases"].is_array() && json.contains("runs") &&
                    json["runs"].is_array() && json.contains("device");
  if (!ours)
    throw Error(Exit::failed, fmt::format("{}: not a {} file; choose another folder with --out",
                                          path, reproduce_schema));
  if (!same(identity(json["device"]), identity(head["device"])) ||
      json.value("scale", "") != head["scale"].get<std::string>()) {
    throw Error(Exit::usage, fmt::format("{}: measured on {}, {}; choose another folder with --out",
                                         path, json["device"].value("name", "another device"),
                                         json.value("scale", "otherwise")));
  }
  return json;
}

}  // namespace

ReproduceResults::ReproduceResults(const std::string& folder, const ReproduceSetup& setup,
                                   const std::vector<std::string>& argv)
    : file_(made_folder(folder)) {
  Json head = report_head(reproduce_schema, argv, setup.device);
  for (const char* key : {"argv", "version", "git", "results"}) head.erase(key);
  head["scale"] = setup.full ? "full" : "quick";
  for (const char* key : {"runs", "items", "cases"}) head[key] = Json::array();
  json_ = earlier_file(file_.path(), head);

  run_ = report_head("", argv, setup.device);
  run_.erase("schema");
  run_.erase("results");
  run_["compilers"] = compilers();
  run_["started"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

Json* ReproduceResults::find(const std::string& key) {
  for (Json& one : json_["cases"]) {
    if (one.value("key", "") == key) return &one;
  }
  return nullptr;
}

const Json* ReproduceResults::results(const std::string& key) const {
  const Json* one = const_cast<ReproduceResults*>(this)->find(key);
  return one && one->contains("results") ? &one->at("results") : nullptr;
}

double ReproduceResults::seconds(const std::string& key) const {
  const Json* one = const_cast<ReproduceResults*>(this)->find(key);
  return one ? one->value("seconds", 0.0) : 0;
}

bool ReproduceResults::has(const ReproduceCase& one) const {
  const Json* measured = results(one.key);
  return measured && std::all_of(one.allocators.begin(), one.allocators.end(),
                                 [&](const registry::RegisteredAllocator* entry) {
                                   return std::any_of(
                                       measured->begin(), measured->end(), [&](const Json& result) {
                                         return result.value("allocator", "") == entry->traits->id;
                                       });
                                 });
}

void ReproduceResults::add(const ReproduceCase& one, double seconds, Json results) {
  if (!run_.empty()) json_["runs"].push_back(std::move(run_));
  run_.clear();
  Json* place = find(one.key);
  if (!place) place = &json_["cases"].emplace_back();
  *place = {{"key", one.key},
            {"run", json_["runs"].size() - 1},
            {"seconds", std::round(seconds * 1e3) / 1e3}};
  if (!one.about.empty()) (*place)["about"] = one.about;
  (*place)["results"] = std::move(results);
}

void ReproduceResults::describe(const std::vector<ReproduceItem>& items,
                                const ReproduceSetup& setup) {
  Json described = Json::array();
  for (const ReproduceItem& item : items) {
    Json json{
        {"id", item.id}, {"paper", item.paper}, {"figure", item.figure}, {"title", item.title}};
    if (*item.absent) json["absent"] = item.absent;
    Json& keys = json["cases"] = Json::array();
    for (const ReproduceCase& one : reproduce_cases({&item}, setup)) keys.push_back(one.key);
    // From an earlier run with other scenes.
    for (const Json& earlier : json_["items"]) {
      if (earlier.value("id", "") != item.id) continue;
      for (const Json& key : earlier.value("cases", Json::array())) {
        if (results(key) && std::find(keys.begin(), keys.end(), key) == keys.end())
          keys.push_back(key);
      }
    }
    described.push_back(std::move(json));
  }
  json_["items"] = std::move(described);
}

void ReproduceResults::write() {
  file_.write(json_.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace heapwood::bench
