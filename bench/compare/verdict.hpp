// SPDX-License-Identifier: MIT
// Compares the times of one cell in two files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace heapwood::bench {

// not_measured: no times in either file.
enum class Verdict { same, faster, slower, undecided, only_old, only_new, not_measured };
const char* name(Verdict verdict);  // "SAME", ..., "ONLY OLD"

// What decides a table.
struct CompareRules {
  // Ratios up to 1 + threshold, and their inverses, do not matter.
  double threshold = .03;
  // Max probability that a cell of identical programs is FASTER or SLOWER.
  double false_alarms = .01;
  // Max probability that a cell whose times differ by the threshold is SAME.
  double false_same = .01;
};

struct CellTimes {
  std::vector<double> older, newer;
  bool paired = false;  // the i-th times belong together: of the same frame
};

struct CellVerdict {
  Verdict verdict = Verdict::undecided;
  std::optional<double> ratio;  // new median / old median; of pairs, the median ratio
  double p = 1;  // two-sided, of no difference; not corrected for the number of cells
  std::size_t runs_needed = 0;  // UNDECIDED: about this many in each file
};

CellVerdict judge(CellTimes cell, const CompareRules& rules);
// Whether that many times in each file can decide a cell, if none of them overlap.
bool has_enough_runs(const CellTimes& cell, const CompareRules& rules);

}  // namespace heapwood::bench
