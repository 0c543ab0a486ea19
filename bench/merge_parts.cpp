// SPDX-License-Identifier: MIT
#include "bench/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "bench/program/messages.hpp"
#include "bench/reproduce/reproduce.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

void refuse_file(const ResultsFile& file, const std::string& why) {
  throw_error(Exit::usage, "{}: {}", file.path, why);
}

std::string list_text(const std::set<std::string>& values) {
  return scenes::printable(joined(values), 200);
}

Shard shard_of_json(const Json& shard) { return {shard.at("number"), shard.at("count")}; }

Shard shard_in(const ResultsFile& file) {
  const Json* const shard = file.json.find("shard");
  return shard ? shard_of_json(*shard) : Shard{};
}

std::vector<std::string> command_of(const Json& json) {
  std::vector<std::string> words;
  const Json argv = json.value("argv", Json());
  for (std::size_t i = 1; argv.is_array() && i < argv.size(); ++i) {
    const std::string word = argv[i].is_string() ? argv[i].get<std::string>() : "";
    bool skipped = word == "--resume" || word == "--wait-for-gpu";
    for (const char* option :
         {"--shard", "--part", "--json", "--device", "--format", "-o", "--output", "--video"}) {
      if (word == option) ++i;
      skipped |= word == option || word.starts_with(std::string(option) + "=");
    }
    skipped |= word.starts_with("-o");  // -oFILE
    if (!skipped) words.push_back(word);
  }
  return words;
}

bool is_ok(const Json& result) {
  const std::string status = text_at(result, "status");
  return status == "ok" || status.empty();
}

namespace {

std::string commit_of(const Json& json) { return sorted_text(json.value("git", Json())); }

// The commits of a file; those of all its runs if it is of a reproduction.
std::set<std::string> commits_of(const ResultsFile& file) {
  std::set<std::string> commits;
  if (file.schema != reproduce_schema) return {commit_of(file.json)};
  for (const Json& run : file.json.value("runs", Json())) commits.insert(commit_of(run));
  return commits;
}

// The options that change the figures of a reproduction's cases, of each of its runs. Its items and
// their part of the cases may differ: parts of several command lines are one reproduction.
std::set<std::string> reproduction_settings(const ResultsFile& file) {
  std::set<std::string> settings;
  for (const Json& run : file.json.value("runs", Json())) {
    const std::vector<std::string> words = command_of(run);
    std::map<std::string, std::string> values;
    for (std::size_t i = 0; i < words.size(); ++i) {
      for (const std::string option : {"--allocators", "--seconds"}) {
        if (words[i] == option && i + 1 < words.size()) values[option] = words[i + 1];
        if (words[i].starts_with(option + "=")) values[option] = words[i].substr(option.size() + 1);
      }
    }
    settings.insert(fmt::format("{} {}", values["--allocators"], values["--seconds"]));
  }
  return settings;
}

}  // namespace

void check_same_sweep(const ResultsFile& first, const ResultsFile& file, bool allow_mixed) {
  if (file.schema != first.schema)
    refuse_file(file, fmt::format("a {} file, but {} is a {} file; merge files of one command",
                                  file.schema, first.path, first.schema));
  const bool is_reproduction = file.schema == reproduce_schema;
  if (is_reproduction && text_at(file.json, "scale") != text_at(first.json, "scale"))
    refuse_file(file, fmt::format("scale '{}', but {} has '{}'; merge parts of one scale",
                                  scenes::printable(text_at(file.json, "scale")), first.path,
                                  scenes::printable(text_at(first.json, "scale"))));
  if (file.device() != first.device() && (!allow_mixed || is_reproduction))
    refuse_file(file, fmt::format("measured on {}, but {} on {}; {}", file.device_text(),
                                  first.path, first.device_text(),
                                  is_reproduction ? "merge parts of one device"
                                                  : "merge them with --allow-mixed"));
  if (allow_mixed) return;
  const std::set<std::string> one = first.recorded("driver_version"),
                              other = file.recorded("driver_version");
  if (!one.empty() && !other.empty() && (one != other || one.size() > 1))
    refuse_file(
        file, fmt::format("measured with driver {}, but {} with {}; merge them with --allow-mixed",
                          list_text(other), first.path, list_text(one)));
  std::set<std::string> commits = commits_of(first);
  commits.merge(commits_of(file));
  if (commits.size() > 1)
    refuse_file(file,
                fmt::format("measured with another commit or state of the sources ({}) than {} "
                            "({}); merge them with --allow-mixed",
                            file.version_text(), first.path, first.version_text()));
  std::set<std::string> settings = reproduction_settings(first);
  settings.merge(reproduction_settings(file));
  if (is_reproduction && settings.size() > 1)
    refuse_file(file, fmt::format("measured with other --allocators or --seconds than {}; merge "
                                  "them with --allow-mixed",
                                  first.path));
  if (command_of(file.json) != command_of(first.json))
    refuse_file(file,
                fmt::format("another command line than that of {}; merge them with --allow-mixed",
                            first.path));
}

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
        const auto [found, is_new] = run_of.emplace(sorted_text(without), runs.size());
        if (is_new) runs.push_back(own);
        one["run"] = found->second;
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
