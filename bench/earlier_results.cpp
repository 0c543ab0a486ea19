// SPDX-License-Identifier: MIT
#include "bench/earlier_results.hpp"

#include <algorithm>
#include <map>

#include "bench/results/json.hpp"

namespace heapwood::bench {

namespace {

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
