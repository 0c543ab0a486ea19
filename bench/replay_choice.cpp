// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/replay_bench.hpp"
#include "bench/results/format.hpp"

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

}  // namespace heapwood::bench
