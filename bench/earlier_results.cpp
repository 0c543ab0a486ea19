// SPDX-License-Identifier: MIT
#include "bench/earlier_results.hpp"

#include <algorithm>
#include <map>

#include "bench/compare/compare.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/json.hpp"
#include "scenes/file.hpp"
#include "scenes/scene.hpp"

namespace heapwood::bench {

namespace {

struct Source {
  std::string path, digest;
};

// Whether the job measures this allocator; adds the allocator's settings.
bool measures(const BenchJob& job, const Json& result, std::vector<BuildSettings>& settings) {
  const std::string allocator = text_at(result, "allocator");
  const auto entry = std::ranges::find_if(
      job.allocators, [&](const auto* one) { return allocator == one->traits->id; });
  if (entry == job.allocators.end()) return false;
  for (BuildSettings& one : settings) one.allocator = (*entry)->options_over(one.allocator);
  return true;
}

std::size_t runs_of(const Json& result) {
  const std::string status = text_at(result, "status");
  if (status != name(Status::ok) && status != name(Status::incomplete)) return 0;
  // The number of runs: builds and replays have runs_ms, animations frame_ms, graphs reset_ms.
  for (const char* key : {"runs_ms", "frame_ms", "reset_ms"}) {
    if (const Json* const runs = result.find(key)) return runs->is_array() ? runs->size() : 0;
  }
  return 0;
}

// Whether an earlier result is to be kept instead of a new one of the same measurement.
bool is_better(const Json& earlier, const Json& now) {
  if (now.value("wrong_tree", Json()) == true) return false;
  const std::size_t runs = runs_of(now);
  return runs_of(earlier) > runs &&
         (runs == 0 || earlier.value("settings", Json()) == now.value("settings", Json()));
}

// Two keys of a measurement: one has the digest of its scene file, wherever that is; the other one
// has the path of the file, whatever it contains. Results of graphs have a name instead of a path,
// which other files may share.
std::vector<std::string> keys_of(Json result) {
  std::vector<std::string> keys{sorted_text(identity_of(result))};
  if (!result.is_object() || result.contains("graph")) return keys;
  result.erase("digest");
  keys.push_back(sorted_text(identity_of(result)));
  return keys;
}

}  // namespace

Earlier<Result> read_earlier_results(const std::string& path, const BenchJob& job) {
  std::vector<BuildSettings> settings;  // one for each pool size
  for (const PoolSize& pool : job.pools.empty() ? std::vector{job.settings.pool} : job.pools) {
    settings.push_back(job.settings);
    settings.back().pool = pool;
  }
  std::map<std::string, Source> sources;  // by the text in the file
  for (const std::string& scene : job.scenes)
    sources[scenes::utf8_text(scene)] = {scene, scenes::digest(scene)};
  bool changed = false;
  const auto reuse = [&](const Json& result) -> std::optional<Result> {
    const auto source = sources.find(text_at(result, "source"));
    std::vector<BuildSettings> mine = settings;
    if (source == sources.end() || !measures(job, result, mine)) return std::nullopt;
    const auto of_pool = std::ranges::find_if(mine, [&](const BuildSettings& one) {
      return result.value("settings", Json()) == to_json(one);
    });
    if (of_pool == mine.end()) return std::nullopt;
    // The digest may be absent: earlier versions did not write it.
    const bool other_mesh =
        result.contains("digest") && text_at(result, "digest") != source->second.digest;
    changed |= other_mesh;
    if (other_mesh || !reusable(result, *of_pool)) return std::nullopt;
    Result kept = result_from_json(result);
    kept.source = source->second.path;
    return kept;
  };
  Earlier<Result> earlier = read_earlier<Result>(path, job.device, bench_schema, reuse);
  if (changed) note(path + ": a scene's file has changed: its results are measured again");
  if (!earlier.kept.empty()) {
    note("{}: {} of {} results reused{}", path, earlier.kept.size(),
         job.scenes.size() * job.allocators.size() * settings.size(),
         earlier.git_sha == git_sha() ? "" : ", measured with version " + earlier.git_sha);
  }
  return earlier;
}

std::size_t add_earlier(Json& report, const std::vector<Json>& earlier) {
  Json& results = report["results"];
  std::map<std::string, std::size_t> index_of_key;  // of the new results, by key
  for (std::size_t i = 0; i < results.size(); ++i) {
    for (const std::string& key : keys_of(results[i])) index_of_key.emplace(key, i);
  }
  std::size_t kept = 0;
  for (const Json& one : earlier) {
    auto found = index_of_key.end();
    for (const std::string& key : keys_of(one)) {
      if (found == index_of_key.end()) found = index_of_key.find(key);
    }
    if (found == index_of_key.end()) {
      results.push_back(one);
    } else if (Json& now = results[found->second]; is_better(one, now)) {
      now = one;
      ++kept;
    }
  }
  return kept;
}

}  // namespace heapwood::bench
