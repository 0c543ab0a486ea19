// SPDX-License-Identifier: MIT
#include "bench/merge_reproductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/merge_checks.hpp"
#include "bench/results/json.hpp"

namespace heapwood::bench {

Merged merge_reproductions(const std::optional<ResultsFile>& earlier,
                           const std::vector<ResultsFile>& parts) {
  Merged merged;
  std::vector<const ResultsFile*> files;
  files.reserve(parts.size() + 1);
  for (const ResultsFile& part : parts) files.push_back(&part);
  if (earlier) files.push_back(&*earlier);
  Json runs = Json::array();
  std::map<std::string, std::size_t> run_of;  // its place in `runs`
  std::map<std::string, std::pair<Json, const ResultsFile*>> cases;
  std::vector<std::string> item_order, case_order;
  std::map<std::string, Json> items;
  for (const ResultsFile* file : files) {
    const Json empty = Json::array();
    const Json own_runs = file->json.value("runs", empty);
    for (Json one : file->json.at("cases")) {
      if (const Json run = one.value("run", Json());
          run.is_unsigned() && run.get<std::size_t>() < own_runs.size()) {
        const Json& own = own_runs.at(run.get<std::size_t>());
        // A later file of the same part has a later state of the GPU.
        Json without = own;
        without.erase("device_record");
        const auto [place, is_new] = run_of.emplace(sorted_text(without), runs.size());
        if (is_new) runs.push_back(own);
        one["run"] = place->second;
      }
      const std::string key = text_at(one, "key");
      const auto [known, is_new] = cases.emplace(key, std::pair(one, file));
      if (is_new) case_order.push_back(key);
      if (!is_new && (!earlier || file != &*earlier) && known->second.first != one)
        refuse_file(*file,
                    fmt::format("has another result of a case that is in {}, too; name one of "
                                "them",
                                known->second.second->path));
    }
    for (const Json& item : file->json.value("items", empty)) {
      const std::string id = text_at(item, "id");
      const auto [known, is_new] = items.emplace(id, item);
      if (is_new) {
        item_order.push_back(id);
        continue;
      }
      Json& keys = known->second["cases"];
      for (const Json& key : item.value("cases", empty)) {
        if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
      }
    }
  }
  merged.json = parts.front().json;
  merged.json["runs"] = std::move(runs);
  merged.json["items"] = merged.json["cases"] = Json::array();
  std::set<std::string> planned, added;
  const auto add_case = [&](const std::string& key) {
    const auto found = cases.find(key);
    if (found == cases.end() || !added.insert(key).second) return;
    merged.json["cases"].push_back(found->second.first);
    for (const Json& result : found->second.first.at("results")) merged.failed += !is_ok(result);
  };
  for (const std::string& id : item_order) {
    merged.json["items"].push_back(items[id]);
    for (const Json& key : items[id].value("cases", Json::array())) {
      if (!key.is_string()) continue;
      planned.insert(key);
      add_case(key);
    }
  }
  std::sort(case_order.begin(), case_order.end());
  for (const std::string& key : case_order) add_case(key);
  merged.results = added.size();
  std::size_t missing = 0;
  for (const std::string& key : planned) missing += !added.contains(key);
  if (missing > 0) merged.missing.push_back(fmt::format("{} of {} cases", missing, planned.size()));
  return merged;
}

}  // namespace heapwood::bench
