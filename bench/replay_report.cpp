// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/replay_bench.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

namespace {

using Rows = std::vector<const ReplayRow*>;
using RowSamples = std::vector<double> ReplayRow::*;

bool is_candidate(const ReplayRow& row) {
  return row.status == Status::ok && !row.lower_bound && row.frees == alloc::Frees::individually;
}

// The candidates of a pool, with samples, the lowest median first.
Rows ranked(const std::vector<ReplayRow>& rows, std::uint64_t pool_bytes, RowSamples samples) {
  Rows found;
  for (const ReplayRow& row : rows) {
    if (row.pool_bytes == pool_bytes && is_candidate(row) && !(row.*samples).empty())
      found.push_back(&row);
  }
  std::stable_sort(found.begin(), found.end(), [&](const ReplayRow* a, const ReplayRow* b) {
    return median(a->*samples) < median(b->*samples);
  });
  return found;
}

// Whether the first of the ranked rows is clearly below all others.
bool is_first_clear(const Rows& rows, RowSamples samples) {
  std::vector<const std::vector<double>*> all;
  for (const ReplayRow* row : rows) all.push_back(&(row->*samples));
  return clearly_fastest(all) == std::size_t{0};
}

std::string times_text(const ReplayRow& row, const ReplayRow& over) {
  return ratio_text(*over.median_ms() / *row.median_ms());
}

std::string held_text(const ReplayRow& row) {
  const std::optional<double> ratio = row.held_over_live();
  return ratio ? ratio_text(*ratio) : std::string(missing);
}

struct Finding {
  const ReplayRow* row = nullptr;  // nullptr: undecided
  std::string reason;
};

Finding find_fastest(const Rows& rows) {
  if (rows.size() < 2) return {};
  const ReplayRow &first = *rows[0], &second = *rows[1];
  if (!is_first_clear(rows, &ReplayRow::runs_ms)) {
    const char* const why = first.runs_ms.size() < 3 || second.runs_ms.size() < 3
                                ? "fewer than three runs"
                                : "their times overlap";
    return {nullptr,
            fmt::format("undecided between {} and {} ({})", first.label, second.label, why)};
  }
  return {&first, fmt::format("{} ms, {} times as fast as {}", figure_text(first.median_ms()),
                              times_text(first, second), second.label)};
}

// `smallest`: the candidates in the smallest pool that any of them is served in.
Finding find_smallest(const std::vector<ReplayRow>& rows, std::uint64_t smallest, bool has_larger) {
  const Rows all = ranked(rows, smallest, &ReplayRow::runs_ms);
  if (has_larger && all.size() == 1)
    return {all[0],
            fmt::format("the only one that serves every request in {}", size_text(smallest))};
  const Rows held = ranked(rows, smallest, &ReplayRow::peak_held_bytes);
  if (held.size() < 2) return {};
  if (!is_first_clear(held, &ReplayRow::peak_held_bytes)) {
    return {nullptr,
            fmt::format("undecided between {} and {} ({} and {} bytes held per byte in use "
                        "at the peak)",
                        held[0]->label, held[1]->label, held_text(*held[0]), held_text(*held[1]))};
  }
  return {held[0],
          fmt::format("{} bytes held per byte in use at the peak, tables not counted; {} with {}",
                      held_text(*held[0]), held_text(*held[1]), held[1]->label)};
}

}  // namespace

ReplayChoice choose_allocators(const std::vector<ReplayRow>& rows) {
  std::vector<std::uint64_t> pools;
  for (const ReplayRow& row : rows) {
    if (is_candidate(row)) pools.push_back(row.pool_bytes);
  }
  ReplayChoice choice;
  if (pools.empty()) {
    choice.text = "Undecided: no allocator that frees single blocks served every request.";
    return choice;
  }
  const std::uint64_t largest = *std::max_element(pools.begin(), pools.end()),
                      smallest = *std::min_element(pools.begin(), pools.end());
  const bool has_larger = std::any_of(
      rows.begin(), rows.end(), [&](const ReplayRow& row) { return row.pool_bytes > smallest; });
  Rows by_time = ranked(rows, largest, &ReplayRow::runs_ms);
  const Finding fastest = find_fastest(by_time),
                leanest = find_smallest(rows, smallest, has_larger);
  if (fastest.row != nullptr) choice.fastest = fastest.row->allocator;
  if (leanest.row != nullptr) choice.smallest = leanest.row->allocator;
  if (fastest.reason.empty() && leanest.reason.empty()) {
    choice.text = fmt::format("Undecided: only {} served every request.", by_time[0]->label);
    return choice;
  }
  const auto sentence = [](const char* goal, const Finding& finding) {
    if (finding.reason.empty()) return fmt::format("For {}: undecided.", goal);
    if (finding.row == nullptr) return fmt::format("For {}: {}.", goal, finding.reason);
    return fmt::format("For {}, use {}: {}.", goal, finding.row->label, finding.reason);
  };
  choice.text = sentence("speed", fastest) + " " + sentence("memory", leanest);
  if (fastest.row != nullptr && choice.fastest == choice.smallest && by_time.size() > 1) {
    by_time.erase(by_time.begin());
    const bool is_clear = by_time.size() == 1 || is_first_clear(by_time, &ReplayRow::runs_ms);
    choice.text += is_clear
                       ? fmt::format(" Second: {}, {} ms.", by_time[0]->label,
                                     figure_text(by_time[0]->median_ms()))
                       : fmt::format(" Second: undecided between {} and {} (their times overlap).",
                                     by_time[0]->label, by_time[1]->label);
  }
  return choice;
}

namespace {

using workloads::ReplaySample;

Json replay_settings_json(const ReplaySettings& settings) {
  Json json;
  json["runs"] = settings.runs;
  json["window"] = settings.window;
  json["samples"] = settings.samples;
  json["seconds"] = settings.seconds;
  if (settings.budget_seconds > 0) json["budget_seconds"] = settings.budget_seconds;
  return json;
}

Json summary_json(const ReplayBench& bench) {
  const workloads::TraceSummary& summary = bench.summary;
  Json json;
  json["source"] = bench.trace->source;
  json["pool_bytes"] = bench.trace->pool_bytes;
  json["dropped"] = bench.trace->dropped;
  json["refused"] = bench.trace->refused;
  json["unmatched_frees"] = bench.trace->unmatched;
  json["requests"] = summary.requests;
  json["frees"] = summary.frees;
  json["frees_by_others"] = summary.other_frees;
  json["kernels"] = summary.kernels;
  json["warps"] = summary.warps;
  json["requested_bytes"] = summary.requested;
  json["min_bytes"] = summary.min_bytes;
  json["max_bytes"] = summary.max_bytes;
  json["peak_bytes"] = summary.peak_bytes;
  json["peak_blocks"] = summary.peak_blocks;
  json["peak_event"] = summary.peak_event;
  json["end_bytes"] = summary.end_bytes;
  json["size_histogram"] = summary.sizes;
  json["lifetime_histogram"] = summary.lifetimes;
  return json;
}

}  // namespace

void describe(JsonFields& fields, ReplaySample& sample) {
  fields("event", sample.event);
  fields("blocks", sample.pool.blocks);
  fields("live_bytes", sample.pool.live_bytes);
  alloc::Fragmentation& fragmentation = sample.pool.fragmentation;
  fragmentation.measured = fields.has("held_bytes", fragmentation.measured);
  if (!fragmentation.measured) return;
  fields("held_bytes", sample.held_bytes);
  fields("metadata_bytes", fragmentation.metadata_bytes);
  fields("free_bytes", fragmentation.free_bytes);
  fields("largest_free_bytes", fragmentation.largest_free_bytes);
  fields("touched_bytes", sample.touched_bytes);
  fields("address_bytes", sample.address_bytes);
  fields.optional("internal_fragmentation", fragmentation.internal);
  fields.finite("external_fragmentation", fragmentation.external);
  fields.finite("external_fragmentation_merged", fragmentation.external_merged);
}

void describe(JsonFields& fields, ReplayRow& row) {
  fields("trace", row.trace);
  fields("digest", row.digest);
  describe_allocator(fields, row);
  fields.derived("settings", replay_settings_json(row.settings));
  fields("pool", row.pool);
  fields("pool_bytes", row.pool_bytes);
  describe_outcome(fields, row);
  fields("runs_ms", row.runs_ms);
  fields.derived_quartiles(row.runs_ms);
  fields("floor_ms", row.floor_ms);
  fields("reset_ms", row.reset_ms);
  fields("requests", row.requests);
  fields("refused", row.refused);
  if (row.refused != 0) fields("first_refused_bytes", row.first_refused_bytes);
  if (!fields.has("memory", !row.samples.empty())) return;
  fields.within("memory", [&](JsonFields& memory) {
    memory.derived("held_over_live", row.held_over_live());
    memory.unless_empty("peak_held_bytes", row.peak_held_bytes);
    ReplaySample peak = row.peak_sample ? row.samples[*row.peak_sample] : ReplaySample{};
    const bool has_peak = memory.has("peak", row.peak_sample.has_value());
    if (has_peak) memory.within("peak", [&](JsonFields& part) { describe(part, peak); });
    memory.list("over_time", row.samples);
    for (std::size_t i = 0; i < row.samples.size(); ++i) {
      if (has_peak && row.samples[i].event == peak.event) row.peak_sample = i;
    }
  });
}

Json replay_report(const std::vector<std::string>& argv, const ReplayBench& bench,
                   const std::vector<ReplayRow>& rows, const ReplayChoice& choice) {
  Json json = report_of(replay_schema, argv, bench.device, rows);
  json["trace"] = summary_json(bench);
  json["choice"]["text"] = choice.text;
  if (!choice.fastest.empty()) json["choice"]["fastest"] = choice.fastest;
  if (!choice.smallest.empty()) json["choice"]["smallest"] = choice.smallest;
  return json;
}

Earlier<ReplayRow> read_replays(const std::string& path, const ReplayBench& bench) {
  const Json settings = replay_settings_json(bench.settings);
  const auto reuse = [&](const Json& result) -> std::optional<ReplayRow> {
    ReplayRow row = read_described<ReplayRow>(result);
    row.settings = bench.settings;
    const bool same_work = row.digest == bench.digest && result.at("settings") == settings;
    // With a budget a slow allocator has fewer runs.
    const bool has_all = row.runs_ms.size() == static_cast<std::size_t>(bench.settings.runs) ||
                         (bench.settings.budget_seconds > 0 && !row.runs_ms.empty());
    if (!same_work || !row.is_measured() || !has_all || row.samples.empty()) return std::nullopt;
    return row;
  };
  return read_earlier<ReplayRow>(path, bench.device, replay_schema, reuse);
}

}  // namespace heapwood::bench
