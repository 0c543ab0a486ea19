// SPDX-License-Identifier: MIT
#include "viewer/trace_export.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/results/format.hpp"

namespace heapwood::viewer {

namespace {

using Json = nlohmann::ordered_json;

class Exporter {
 public:
  Exporter(Json& events, const Recording& recording, int process)
      : events_(events), recording_(recording), process_(process) {}

  void write() {
    Json name = meta("process_name");
    name["args"]["name"] = recording_.label + ", " + recording_.scene;
    events_.push_back(std::move(name));
    write_curves();
    write_blocks();
  }

 private:
  Json meta(const char* what) const {
    return {{"ph", "M"}, {"pid", process_}, {"tid", 0}, {"name", what}};
  }
  void counter(const char* name, std::uint32_t time, Json values) {
    events_.push_back({{"ph", "C"},
                       {"pid", process_},
                       {"tid", 0},
                       {"ts", time},
                       {"name", name},
                       {"args", std::move(values)}});
  }
  void write_curves() {
    for (const Recording::Point& point : recording_.points) {
      counter("bytes", point.time,
              {{"in use", point.used_bytes}, {"peak", point.high_water_bytes}});
      if (!recording_.in_pool) continue;
      counter("pool", point.time,
              {{"mark", point.pool.mark_bytes}, {"largest hole", point.pool.largest_below_bytes}});
      counter("fragmentation", point.time, {{"external", point.pool.external_below()}});
    }
  }

  // The largest blocks, in the order of their births, each on the first track that is free.
  void write_blocks() {
    std::vector<const workloads::Block*> blocks;
    for (const workloads::Block& block : recording_.blocks()) blocks.push_back(&block);
    if (blocks.size() > max_exported_blocks) {
      std::nth_element(blocks.begin(), blocks.begin() + max_exported_blocks, blocks.end(),
                       [](const auto* a, const auto* b) { return a->bytes > b->bytes; });
      blocks.resize(max_exported_blocks);
    }
    std::sort(blocks.begin(), blocks.end(),
              [](const auto* a, const auto* b) { return a->born < b->born; });
    std::vector<std::uint32_t> busy_until;
    for (const workloads::Block* block : blocks) {
      const std::uint32_t end =
          std::max(std::min(block->released, recording_.events), block->born + 1);
      auto track = std::find_if(busy_until.begin(), busy_until.end(),
                                [&](std::uint32_t until) { return until <= block->born; });
      if (track == busy_until.end()) {
        if (busy_until.size() == max_exported_tracks) continue;
        track = busy_until.insert(track, 0);
      }
      *track = end;
      events_.push_back(
          {{"ph", "X"},
           {"pid", process_},
           {"tid", track - busy_until.begin() + 1},
           {"ts", block->born},
           {"dur", end - block->born},
           {"name", bench::bytes_text(block->bytes)},
           {"args", {{"bytes", block->bytes}, {"offset", block->offset}, {"warp", block->warp}}}});
    }
    for (std::size_t i = 0; i < busy_until.size(); ++i) {
      Json name = meta("thread_name");
      name["tid"] = i + 1;
      name["args"]["name"] = "blocks " + std::to_string(i + 1);
      events_.push_back(std::move(name));
    }
  }

  Json& events_;
  const Recording& recording_;
  int process_;
};

}  // namespace

std::string chrome_trace(const std::vector<std::shared_ptr<const Recording>>& recordings) {
  Json events = Json::array();
  int process = 1;
  for (const auto& recording : recordings) Exporter(events, *recording, process++).write();
  const Json trace = {{"traceEvents", std::move(events)},
                      {"displayTimeUnit", "ns"},
                      {"otherData", {{"time", "one microsecond is one event"}}}};
  return trace.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace heapwood::viewer
