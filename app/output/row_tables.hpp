// SPDX-License-Identifier: MIT
// What the tables of measured rows have in common: the fastest row, notes.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "bench/results/footnotes.hpp"
#include "bench/results/measured_row.hpp"
#include "bench/results/samples.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {

// The row that is clearly fastest among those that are complete and no lower bounds, or nullptr.
// samples(row) points to the times of a row; nullptr: it is not compared.
template <class Row, class Samples>
const Row* find_fastest(const std::vector<const Row*>& rows, Samples samples) {
  std::vector<const Row*> compared;
  std::vector<const std::vector<double>*> times;
  for (const Row* row : rows) {
    if (row == nullptr || row->status != bench::Status::ok || row->lower_bound) continue;
    const std::vector<double>* const ms = samples(*row);
    if (ms == nullptr || ms->empty()) continue;
    compared.push_back(row);
    times.push_back(ms);
  }
  const std::optional<std::size_t> best = bench::clearly_fastest(times);
  return best ? compared[*best] : nullptr;
}

template <class Row>
std::vector<const Row*> pointers_to(const std::vector<Row>& rows) {
  std::vector<const Row*> pointers;
  for (const Row& row : rows) pointers.push_back(&row);
  return pointers;
}

// Explains the marks of a table: "◂", if a fastest one is named, and "*", if a row has it.
template <class Row>
void explain_marks(bench::Table& table, bool has_fastest, const std::vector<Row>& rows) {
  if (has_fastest)
    table.notes.push_back("◂ fastest allocator that frees: its quartiles overlap no other's");
  if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.lower_bound; }))
    table.notes.push_back("* lower bound: cannot free, never named the fastest");
}

}  // namespace heapwood::app
