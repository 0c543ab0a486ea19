// SPDX-License-Identifier: MIT
#include <algorithm>

#include "bench/program/output_file.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json.hpp"
#include "viewer/state.hpp"

namespace heapwood::viewer {

namespace {

using bench::Json;

Json meta(int process, std::size_t track, const char* what, const std::string& name) {
  return {
      {"ph", "M"}, {"pid", process}, {"tid", track}, {"name", what}, {"args", {{"name", name}}}};
}

void write_curves(Json& events, const Recording& recording, int process) {
  const auto counter = [&](const char* name, std::uint32_t time, Json values) {
    events.push_back({{"ph", "C"},
                      {"pid", process},
                      {"tid", 0},
                      {"ts", time},
                      {"name", name},
                      {"args", std::move(values)}});
  };
  for (const Recording::Point& point : recording.points) {
    counter("bytes", point.time, {{"in use", point.used_bytes}, {"peak", point.high_water_bytes}});
    if (!recording.in_pool) continue;
    counter("pool", point.time,
            {{"mark", point.pool.mark_bytes}, {"largest hole", point.pool.largest_below_bytes}});
    counter("fragmentation", point.time, {{"external", point.pool.external_below()}});
  }
}

// The largest blocks, in the order of their births, each on the first track that is free.
void write_blocks(Json& events, const Recording& recording, int process) {
  std::vector<workloads::Block> blocks = recording.blocks();
  if (blocks.size() > max_exported_blocks) {
    std::nth_element(blocks.begin(), blocks.begin() + max_exported_blocks, blocks.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    blocks.resize(max_exported_blocks);
    std::sort(blocks.begin(), blocks.end(),
              [](const auto& a, const auto& b) { return a.born < b.born; });
  }
  std::vector<std::uint32_t> busy_until;
  for (const workloads::Block& block : blocks) {
    const std::uint32_t end = std::max(std::min(block.released, recording.events), block.born + 1);
    auto track = std::find_if(busy_until.begin(), busy_until.end(),
                              [&](std::uint32_t until) { return until <= block.born; });
    if (track == busy_until.end()) {
      if (busy_until.size() == max_exported_tracks) continue;
      track = busy_until.insert(track, 0);
    }
    *track = end;
    events.push_back(
        {{"ph", "X"},
         {"pid", process},
         {"tid", track - busy_until.begin() + 1},
         {"ts", block.born},
         {"dur", end - block.born},
         {"name", bench::bytes_text(block.bytes)},
         {"args", {{"bytes", block.bytes}, {"offset", block.offset}, {"warp", block.warp}}}});
  }
  for (std::size_t i = 1; i <= busy_until.size(); ++i)
    events.push_back(meta(process, i, "thread_name", "blocks " + std::to_string(i)));
}

}  // namespace

std::string chrome_trace(const std::vector<std::shared_ptr<const Recording>>& recordings) {
  Json events = Json::array();
  int process = 0;
  for (const auto& recording : recordings) {
    ++process;
    events.push_back(meta(process, 0, "process_name", recording->label + ", " + recording->scene));
    write_curves(events, *recording, process);
    write_blocks(events, *recording, process);
  }
  const Json trace = {{"traceEvents", std::move(events)},
                      {"displayTimeUnit", "ns"},
                      {"otherData", {{"time", "one microsecond is one event"}}}};
  return trace.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void export_recordings(State& state, const std::string& path) {
  const auto& recordings = state.heap.recordings;
  if (recordings.empty()) return state.warn("Nothing has been recorded yet.");
  const std::string name = path.empty() ? free_name(recordings.front()->scene, ".json") : path;
  try {
    bench::OutputFile(name).write(chrome_trace(recordings));
    state.note("Saved " + name + ". Open it with ui.perfetto.dev or chrome://tracing.");
  } catch (const Error& error) {
    state.fail(error);
  }
}

}  // namespace heapwood::viewer
