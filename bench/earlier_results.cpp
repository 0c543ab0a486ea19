// SPDX-License-Identifier: MIT
#include "bench/earlier_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/program/messages.hpp"
#include "bench/program/out_of_memory.hpp"
#include "bench/program/version.hpp"
#include "bench/results/json_file.hpp"
#include "scenes/file.hpp"
#include "scenes/scene.hpp"

namespace heapwood::bench {

namespace {

struct Source {
  std::string path, digest;
};

bool measures(const BenchJob& job, const std::string& builder, const std::string& allocator) {
  if (builder == name(Builder::per_level))
    return job.settings.builder != Builder::single && allocator == job.settings.host_allocator;
  return std::any_of(job.allocators.begin(), job.allocators.end(),
                     [&](const auto* entry) { return allocator == entry->traits->id; });
}

// Of the same measurement, perhaps at another time.
bool same_measurement(const Json& a, const Json& b) {
  for (const char* key : {"source", "builder", "allocator"}) {
    if (text_at(a, key) != text_at(b, key)) return false;
  }
  return same(a.value("settings", Json()), b.value("settings", Json()));
}

std::size_t runs_of(const Json& result) {
  const std::string status = text_at(result, "status");
  const auto runs = result.find("runs_ms");
  const bool built = status == name(Status::ok) || status == name(Status::incomplete);
  return built && runs != result.end() && runs->is_array() ? runs->size() : 0;
}

bool better(const Json& earlier, const Json& now) {
  const auto wrong = now.find("wrong_tree");
  return runs_of(earlier) > runs_of(now) && (wrong == now.end() || *wrong != true);
}

}  // namespace

EarlierResults read_earlier_results(const std::string& path, const BenchJob& job) {
  const LackOfMemoryEnds end;
  const EarlierReport report = read_report(path, job.device);
  std::vector<BuildSettings> settings;  // one for each size of the pool
  for (const PoolSize& pool : job.pools.empty() ? std::vector{job.settings.pool} : job.pools) {
    settings.push_back(job.settings);
    settings.back().pool = pool;
  }
  std::map<std::string, Source> sources;  // by their text in the file
  for (const std::string& scene : job.scenes)
    sources[scenes::utf8_text(scene)] = {scene, scenes::digest(scene)};
  EarlierResults earlier;
  bool changed = false;
  for (const Json& result : report.results) {
    const auto source = sources.find(text_at(result, "source"));
    const auto of_pool =
        std::find_if(settings.begin(), settings.end(), [&](const BuildSettings& one) {
          return result.is_object() && same(result.value("settings", Json()), to_json(one));
        });
    if (source == sources.end() || of_pool == settings.end() ||
        !measures(job, text_at(result, "builder"), text_at(result, "allocator"))) {
      earlier.others.push_back(result);
      continue;
    }
    // Reports of earlier versions have no digest.
    const bool other_mesh =
        result.contains("digest") && text_at(result, "digest") != source->second.digest;
    changed |= other_mesh;
    if (!other_mesh && reusable(result, *of_pool)) {
      earlier.reused.push_back(result_from_json(result));
      earlier.reused.back().source = source->second.path;
    } else {
      earlier.remeasured.push_back(result);
    }
  }
  if (changed) note(path + ": a scene's file has changed: its results are measured again");
  if (!earlier.reused.empty()) {
    const std::size_t per_scene =
        job.allocators.size() * settings.size() + (job.settings.builder != Builder::single ? 1 : 0);
    note(fmt::format(
        "{}: {} of {} results reused{}", path, earlier.reused.size(), job.scenes.size() * per_scene,
        report.git_sha == git_sha() ? "" : ", measured with version " + report.git_sha));
  }
  return earlier;
}

std::size_t keep_better(Json& report, const std::vector<Json>& remeasured) {
  const LackOfMemoryEnds end;
  std::size_t kept = 0;
  Json& results = report["results"];
  for (const Json& earlier : remeasured) {
    const auto now = std::find_if(results.begin(), results.end(), [&](const Json& result) {
      return result.is_object() && same_measurement(result, earlier);
    });
    if (now == results.end()) {
      results.push_back(earlier);
    } else if (better(earlier, *now)) {
      *now = earlier;
      ++kept;
    }
  }
  return kept;
}

}  // namespace heapwood::bench
