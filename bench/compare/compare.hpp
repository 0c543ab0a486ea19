// SPDX-License-Identifier: MIT
// `heapwood compare`: two results files, cell by cell (docs/sweeps.md).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "bench/compare/cells.hpp"
#include "bench/compare/verdict.hpp"
#include "bench/results/table.hpp"

namespace heapwood::bench {

inline constexpr const char* compare_schema = "heapwood.compare/1";

struct ComparedCell {
  Json identity;
  std::string label;  // printable
  std::string metric;
  std::vector<double> older, newer;
  std::string reason;  // why there are no samples; "" if there are
  CellVerdict verdict;
};

struct Comparison {
  std::vector<ComparedCell> cells;  // those of the old file, then those of the new one only
  CompareRules rules;
  std::size_t tested = 0;           // cells with samples in both files
  std::size_t tested_in_pairs = 0;  // of these: rounds and frames, compared one by one
  std::size_t too_few_runs = 0;     // of these: no times could decide them
  std::vector<std::string> notes;   // about the files

  std::size_t count(Verdict verdict) const;
  // Cells with times in the old file only: not measured again, or failed.
  std::size_t missing() const;
};

// Throws Error{Exit::usage} if the files are of different commands or, without `allow_mixed`, of
// different devices, or have no cell in common.
Comparison compare_results(const ResultsFile& older, const ResultsFile& newer,
                           const CompareRules& rules, bool allow_mixed);

Table compare_table(const Comparison& comparison);       // without cells that are SAME
Table compare_flat_table(const Comparison& comparison);  // all cells, for CSV
Json compare_report(const Comparison& comparison, const ResultsFile& older,
                    const ResultsFile& newer);
// "12 SAME, 1 SLOWER, 2 UNDECIDED"
std::string summary_text(const Comparison& comparison);

}  // namespace heapwood::bench
