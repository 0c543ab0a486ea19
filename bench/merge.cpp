// SPDX-License-Identifier: MIT
#include "bench/compare/compare.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "bench/program/messages.hpp"
#include "bench/reproduce/reproduce.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {

// Throws an Error{Exit::usage} that begins with the file's path.
template <class... Args>
[[noreturn]] void refuse_file(const ResultsFile& file, fmt::format_string<Args...> why,
                              Args&&... args) {
  throw_error(Exit::usage, "{}: {}", file.path, fmt::format(why, std::forward<Args>(args)...));
}

std::string list_text(const std::set<std::string>& values) {
  return scenes::printable(joined(values), 200);
}

// The shard of a file, or of a record in `shards`. read_results() has checked the types.
Shard shard_of_json(const Json& shard) { return {shard.at("number"), shard.at("count")}; }

// The shard that the file was measured for; "1 of 1" if it is of no shard.
Shard shard_in(const ResultsFile& file) {
  const Json* const shard = file.json.find("shard");
  return shard ? shard_of_json(*shard) : Shard{};
}

// The words of the command line, without those that differ between shards of one command.
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
    skipped |= word.starts_with("-o");  // the form -oFILE
    if (!skipped) words.push_back(word);
  }
  return words;
}

// Whether a result is complete; results of `trace` have no status.
bool is_ok(const Json& result) {
  const std::string status = text_at(result, "status");
  return status == "ok" || status.empty();
}

std::string commit_of(const Json& json) { return sorted_text(json.value("git", Json())); }

// The commits of a file; for a reproduction those of all its runs.
std::set<std::string> commits_of(const ResultsFile& file) {
  std::set<std::string> commits;
  if (file.schema != reproduce_schema) return {commit_of(file.json)};
  for (const Json& run : file.json.value("runs", Json())) commits.insert(commit_of(run));
  return commits;
}

// For each run of a reproduction, the options that change the figures of its cases. Items and
// shards are not among them: files of several command lines may form one reproduction.
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

// Throws what merge_results() throws, unless both files are of one sweep.
void check_same_sweep(const ResultsFile& first, const ResultsFile& file, bool allow_mixed) {
  if (file.schema != first.schema)
    refuse_file(file, "a {} file, but {} is a {} file; merge files of one command", file.schema,
                first.path, first.schema);
  const bool is_reproduction = file.schema == reproduce_schema;
  if (is_reproduction && text_at(file.json, "scale") != text_at(first.json, "scale"))
    refuse_file(file, "scale '{}', but {} has '{}'; merge parts of one scale",
                scenes::printable(text_at(file.json, "scale")), first.path,
                scenes::printable(text_at(first.json, "scale")));
  if (file.device() != first.device() && (!allow_mixed || is_reproduction))
    refuse_file(file, "measured on {}, but {} on {}; {}", file.device_text(), first.path,
                first.device_text(),
                is_reproduction ? "merge parts of one device" : "merge them with --allow-mixed");
  if (allow_mixed) return;
  const std::set<std::string> one = first.recorded("driver_version"),
                              other = file.recorded("driver_version");
  if (!one.empty() && !other.empty() && (one != other || one.size() > 1))
    refuse_file(file, "measured with driver {}, but {} with {}; merge them with --allow-mixed",
                list_text(other), first.path, list_text(one));
  std::set<std::string> commits = commits_of(first);
  commits.merge(commits_of(file));
  if (commits.size() > 1)
    refuse_file(file,
                "measured with another commit or state of the sources ({}) than {} "
                "({}); merge them with --allow-mixed",
                file.version_text(), first.path, first.version_text());
  std::set<std::string> settings = reproduction_settings(first);
  settings.merge(reproduction_settings(file));
  if (is_reproduction && settings.size() > 1)
    refuse_file(file,
                "measured with other --allocators or --seconds than {}; merge "
                "them with --allow-mixed",
                first.path);
  if (command_of(file.json) != command_of(first.json))
    refuse_file(file, "another command line than that of {}; merge them with --allow-mixed",
                first.path);
}

// `files`: the parts and then, if there is one, the earlier output.
Merged merge_reproductions(const std::vector<const ResultsFile*>& files,
                           const std::optional<ResultsFile>& earlier) {
  Merged merged;
  Json runs = Json::array();
  std::map<std::string, std::size_t> run_of;  // index in `runs`
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
        // Ignores the state of the GPU, which a later file of the same shard has from a later time.
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
        refuse_file(*file, "has another result of a case that is in {}, too; leave out one of them",
                    known->second.second->path);
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
        if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
      }
    }
  }
  merged.json = files.front()->json;
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
  std::ranges::sort(case_order);
  for (const std::string& key : case_order) add_case(key);
  merged.results = added.size();
  std::size_t missing = 0;
  for (const std::string& key : planned) missing += !added.contains(key);
  if (missing > 0) merged.missing.push_back(fmt::format("{} of {} cases", missing, planned.size()));
  return merged;
}

// Orders files by shard number (1 for a file of no shard), then by contents. Drops repeated files.
void order_shards(std::vector<ResultsFile>& shards) {
  std::ranges::stable_sort(shards, {}, [](const ResultsFile& file) {
    return std::pair(shard_in(file).number, sorted_text(file.json));
  });
  for (std::size_t i = 1; i < shards.size();) {
    const ResultsFile &before = shards[i - 1], &file = shards[i];
    const Shard shard = shard_in(file);
    if (before.json == file.json) {
      shards.erase(shards.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (!shard.is_whole() && shard == shard_in(before) && before.device() == file.device())
      refuse_file(file, "is shard {}, as is {}; leave one of them out", shard_text(shard),
                  before.path);
    ++i;
  }
}

// The shards from which a file was merged.
std::vector<Shard> shards_in(const ResultsFile& file) {
  std::vector<Shard> shards;
  if (const Shard own = shard_in(file); !own.is_whole()) shards.push_back(own);
  for (const Json& record : file.json.value("shards", Json())) {
    if (record.contains("shard")) shards.push_back(shard_of_json(record["shard"]));
  }
  return shards;
}

std::size_t shard_count(const std::vector<ResultsFile>& files) {
  std::size_t count = 0;
  for (const ResultsFile& file : files) {
    for (const Shard& shard : shards_in(file)) {
      if (count != 0 && count != shard.count)
        refuse_file(file, "is shard {}, but others are of {}; merge shards of one split",
                    shard_text(shard), count);
      count = shard.count;
    }
  }
  return count;
}

// Key in the file of a `bench` that ended before its last scene: the number of scenes not measured.
constexpr const char* remaining_scenes = "remaining_scenes";
// Key in the file of a command that ended after Ctrl-C: true.
constexpr const char* interrupted = "interrupted";

// The entry that describes a file in the merged one.
Json shard_record(const ResultsFile& file) {
  Json record;
  add_shard(record, shard_in(file));
  for (const char* key :
       {"argv", "version", "git", "device", "device_record", remaining_scenes, interrupted}) {
    if (file.json.contains(key)) record[key] = file.json[key];
  }
  return record;
}

struct MergedResult {
  std::size_t shard;
  std::string path;
  Json json;
};

// The number of the shard that a result is from; 0 if from an unsharded file.
std::size_t tag_of(const Json& result) {
  const Json* const tag = result.find("shard");
  return tag && tag->is_unsigned() ? tag->get<std::size_t>() : 0;
}

std::string measured_on(const ResultsFile& file) {
  const std::set<std::string> drivers = file.recorded("driver_version");
  return file.device_text() + (drivers.size() == 1 ? ", " + list_text(drivers) : "");
}

// The shards' results, and those of an earlier merge that are missing or failed in them.
Json merged_results(const std::vector<ResultsFile>& shards,
                    const std::optional<ResultsFile>& earlier, bool mixed) {
  std::vector<MergedResult> results;
  std::map<std::string, std::size_t> index_of;  // of the shards' results, by identity
  for (const ResultsFile& file : shards) {
    const std::set<std::string> gpus = file.recorded("uuid_hash");
    for (Json result : file.json.at("results")) {
      if (!shard_in(file).is_whole()) result["shard"] = shard_in(file).number;
      if (gpus.size() == 1) result["gpu"] = *gpus.begin();
      if (mixed && (!file.json.contains("shards") || !result.contains("measured_on")))
        result["measured_on"] = measured_on(file);
      const auto [found, is_new] =
          index_of.emplace(sorted_text(identity_of(result)), results.size());
      if (is_new)
        results.push_back({tag_of(result), file.path, std::move(result)});
      else if (const MergedResult& other = results[found->second]; other.json != result)
        refuse_file(file,
                    "has another result of a measurement that is in {}, too; leave out one of them",
                    other.path);
    }
  }
  for (Json result : earlier ? earlier->json.at("results") : Json::array()) {
    if (mixed && !result.contains("measured_on")) result["measured_on"] = measured_on(*earlier);
    const auto known = index_of.find(sorted_text(identity_of(result)));
    if (known == index_of.end())
      results.push_back({tag_of(result), earlier->path, std::move(result)});
    else if (is_ok(result) && !is_ok(results[known->second].json))
      results[known->second].json = std::move(result);
  }
  std::ranges::stable_sort(results, {}, &MergedResult::shard);
  Json all = Json::array();
  for (MergedResult& result : results) all.push_back(std::move(result.json));
  return all;
}

// The entries of the shards, and of those that only the earlier file has.
std::vector<Json> shard_records(const std::optional<ResultsFile>& earlier,
                                const std::vector<ResultsFile>& shards) {
  std::vector<Json> records;
  std::map<std::string, std::size_t> known;  // index in `records`
  const auto key = [](const Json& record) {
    if (record.contains("shard"))
      return sorted_text(Json{record["shard"], record.value("device", Json())});
    Json without = record;
    for (const char* changing : {"device_record", remaining_scenes, interrupted})
      without.erase(changing);
    without["argv"] = command_of(record);
    return sorted_text(without);
  };
  const auto add = [&](const Json& record) {
    const auto [found, is_new] = known.emplace(key(record), records.size());
    if (is_new) {
      records.push_back(record);
    } else if (!record.contains(remaining_scenes) && !record.contains(interrupted)) {
      // Not if one of the files has all cases.
      for (const char* key : {remaining_scenes, interrupted}) records[found->second].erase(key);
    }
  };
  const auto add_all = [&](const ResultsFile& file) {
    const Json* const list = file.json.find("shards");
    if (!list) return false;
    for (const Json& record : *list) add(record);
    return true;
  };
  for (const ResultsFile& file : shards) {
    if (!add_all(file)) add(shard_record(file));
  }
  if (earlier) add_all(*earlier);
  std::ranges::stable_sort(records, {}, [](const Json& record) {
    const bool has = record.contains("shard");
    return std::pair(has ? shard_of_json(record["shard"]).number : 0, sorted_text(record));
  });
  return records;
}

// What the file that this entry describes lacks: "2 scenes of shard 1 of 4"; empty if nothing.
std::string unfinished_text(const Json& record) {
  std::string whose = "an interrupted run";
  if (record.contains("shard")) {
    const Shard shard = shard_of_json(record["shard"]);
    whose = fmt::format("shard {} of {}", shard.number, shard.count);
  }
  const Json* const remaining = record.find(remaining_scenes);
  if (remaining && remaining->is_integer()) {
    const auto scenes = remaining->get<std::int64_t>();
    return fmt::format("{} scene{}{}", scenes, scenes == 1 ? "" : "s",
                       record.contains("shard") ? " of " + whose : "");
  }
  return record.contains(interrupted) ? "the rest of " + whose : "";
}

Merged merge_lists(const std::optional<ResultsFile>& earlier,
                   const std::vector<ResultsFile>& shards, std::size_t count, bool mixed) {
  Merged merged;
  merged.json = shards.front().json;
  for (const char* key : {"shard", "shards", "device_record", remaining_scenes, interrupted})
    merged.json.erase(key);
  merged.json.erase("choice");  // of replay; it compares the allocators of one file only
  merged.json["argv"] = Json::array({"heapwood"});
  for (const std::string& word : command_of(shards.front().json))
    merged.json["argv"].push_back(word);
  const std::vector<Json> records = shard_records(earlier, shards);
  std::set<std::size_t> present;
  for (const Json& record : records) {
    if (record.contains("shard")) present.insert(shard_of_json(record["shard"]).number);
  }
  for (std::size_t number = 1; number <= count; ++number) {
    if (!present.contains(number))
      merged.missing.push_back(fmt::format("shard {} of {}", number, count));
  }
  for (const Json& record : records) {
    if (std::string text = unfinished_text(record); !text.empty())
      merged.missing.push_back(std::move(text));
  }
  merged.json["shards"] = records;
  merged.json["results"] = merged_results(shards, earlier, mixed);
  merged.results = merged.json["results"].size();
  for (const Json& result : merged.json["results"]) merged.failed += !is_ok(result);
  return merged;
}

}  // namespace

Merged merge_results(const std::optional<ResultsFile>& earlier, std::vector<ResultsFile> shards,
                     bool allow_mixed) {
  order_shards(shards);
  bool is_mixed = false;
  std::set<std::string> drivers;
  std::vector<const ResultsFile*> files;
  files.reserve(shards.size() + 1);
  for (const ResultsFile& file : shards) files.push_back(&file);
  if (earlier) files.push_back(&*earlier);
  for (const ResultsFile* file : files) {
    if (file != files.front()) check_same_sweep(*files.front(), *file, allow_mixed);
    is_mixed |= file->device() != files.front()->device();
    drivers.merge(file->recorded("driver_version"));
    cells_of(*file);  // throws if it is damaged
    if (file->schema != reproduce_schema) {
      for (const Json& result : file->json.at("results"))
        is_mixed |= result.contains("measured_on");
    }
  }
  is_mixed |= drivers.size() > 1;
  std::size_t count = shard_count(shards);
  if (earlier) {
    for (const Shard& shard : shards_in(*earlier)) {
      if (count != 0 && shard.count != count)
        refuse_file(*earlier,
                    "was merged from {} shards, but these are of {}; choose another output file",
                    shard.count, count);
      count = shard.count;
    }
  }
  return files.front()->schema == reproduce_schema ? merge_reproductions(files, earlier)
                                                   : merge_lists(earlier, shards, count, is_mixed);
}

}  // namespace heapwood::bench
