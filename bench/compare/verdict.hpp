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
  // Max probability that a table of identical programs contains FASTER or SLOWER. Each cell has an
  // equal part of it (Bonferroni).
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
  double p = 1;            // two-sided, of no difference; not corrected for the number of cells
  double correlation = 0;  // that the samples were discounted by
  std::size_t runs_needed = 0;  // UNDECIDED: about this many in each file
};

// One verdict per cell. A cell's correlation of successive times is estimated from all cells
// together and, the more the cells differ in it, from the cell itself.
std::vector<CellVerdict> judge_cells(const std::vector<CellTimes>& cells,
                                     const CompareRules& rules);

}  // namespace heapwood::bench
