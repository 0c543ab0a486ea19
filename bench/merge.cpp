// SPDX-License-Identifier: MIT
#include "bench/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "bench/reproduce/reproduce.hpp"
#include "bench/results/json.hpp"

namespace heapwood::bench {

namespace {

// By shard number, 1 for a file of no shard, then by contents. A file given twice counts
// once.
void order_shards(std::vector<ResultsFile>& shards) {
  std::stable_sort(shards.begin(), shards.end(), [](const ResultsFile& a, const ResultsFile& b) {
    return std::pair(shard_in(a).number, sorted_text(a.json)) <
           std::pair(shard_in(b).number, sorted_text(b.json));
  });
  for (std::size_t i = 1; i < shards.size();) {
    const ResultsFile &before = shards[i - 1], &file = shards[i];
    const Shard shard = shard_in(file);
    if (before.json == file.json) {
      shards.erase(shards.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    if (!shard.is_whole() && shard == shard_in(before) && before.device() == file.device())
      refuse_file(file, fmt::format("is shard {}, as is {}; name one of them", shard_text(shard),
                                    before.path));
    ++i;
  }
}

// The shards that a file was merged from.
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
        refuse_file(file,
                    fmt::format("is shard {}, but others are of {}; merge shards of one split",
                                shard_text(shard), count));
      count = shard.count;
    }
  }
  return count;
}

// In the file of a `bench` that ended before its last scene: how many it has not measured.
constexpr const char* remaining_scenes = "remaining_scenes";
// In the file of any command that ended after Ctrl-C: true.
constexpr const char* interrupted = "interrupted";

// The record of a file in the merged one.
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

// The number of the shard that a result is from; 0 if it is from a whole file.
std::size_t tag_of(const Json& result) {
  const Json* const tag = result.find("shard");
  return tag && tag->is_unsigned() ? tag->get<std::size_t>() : 0;
}

std::string measured_on(const ResultsFile& file) {
  const std::set<std::string> drivers = file.recorded("driver_version");
  return file.device_text() + (drivers.size() == 1 ? ", " + list_text(drivers) : "");
}

// The results of the shards, and of an earlier merge those that are missing or failed in them.
Json merged_results(const std::vector<ResultsFile>& shards,
                    const std::optional<ResultsFile>& earlier, bool mixed) {
  std::vector<MergedResult> results;
  std::map<std::string, std::size_t> index_of;  // by identity, of those of shards
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
                    fmt::format("has another result of a measurement that is in {}, too; name one "
                                "of them",
                                other.path));
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
  std::stable_sort(results.begin(), results.end(),
                   [](const MergedResult& a, const MergedResult& b) { return a.shard < b.shard; });
  Json all = Json::array();
  for (MergedResult& result : results) all.push_back(std::move(result.json));
  return all;
}

// The records of the shards, and of those that only the earlier file has.
std::vector<Json> shard_records(const std::optional<ResultsFile>& earlier,
                                const std::vector<ResultsFile>& shards) {
  std::vector<Json> records;
  std::map<std::string, std::size_t> known;  // indexes in `records`
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
      for (const char* key : {remaining_scenes, interrupted})  // one of them has all cases
        records[found->second].erase(key);
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
  const auto number = [](const Json& record) {
    return record.contains("shard") ? shard_of_json(record["shard"]).number : std::size_t{0};
  };
  std::stable_sort(records.begin(), records.end(), [&](const Json& a, const Json& b) {
    return std::pair(number(a), sorted_text(a)) < std::pair(number(b), sorted_text(b));
  });
  return records;
}

// What the file of this record lacks: "2 scenes of shard 1 of 4"; empty if nothing.
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
  merged.json.erase("choice");  // of replay: among the allocators of one file
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
        refuse_file(*earlier, fmt::format("was merged from {} shards, but these are of {}; choose "
                                          "another output file",
                                          shard.count, count));
      count = shard.count;
    }
  }
  return files.front()->schema == reproduce_schema ? merge_reproductions(earlier, shards)
                                                   : merge_lists(earlier, shards, count, is_mixed);
}

}  // namespace heapwood::bench
