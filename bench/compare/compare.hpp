// SPDX-License-Identifier: MIT
// `heapwood compare`: two results files, cell by cell (docs/sweeps.md). A cell is one measurement
// and kind of time in a results file. Its times are compared by rank tests: Mann and Whitney's U,
// Wilcoxon's signed ranks for pairs. They assume nothing about the distribution of times, which has
// a long tail.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/results/json_report.hpp"
#include "bench/results/table.hpp"

namespace heapwood::bench {

// A results file as read: an object with a known schema, a device, and results or cases.
struct ResultsFile {
  std::string path;
  std::string schema;
  Json json;

  // Without the host's memory, which varies, and the number of the GPU in its host.
  Json device() const;
  // "9f3c2ab", "NVIDIA H100, driver CUDA 13.0"; printable.
  std::string version_text() const;
  std::string device_text() const;
  // What device records in it have at this key: `uuid_hash`, `driver_version`, `warning`.
  std::set<std::string> recorded(const char* key) const;
};

// Throws Error{Exit::scene} if there is no such file, if it is damaged or not one of this program.
ResultsFile read_results(const std::string& path);

// What identifies the measurement of a result; equal for the same measurement in two files. Limits
// of time and the number of runs are not part of it.
Json identity_of(const Json& result);

struct ResultCell {
  Json identity;
  std::string metric;  // "build", "insert@1000"
  std::vector<double> ms;
  bool paired = false;  // samples belong to frames or rounds that differ
  std::string reason;   // why there are no samples; "" if there are
};

// All cells in order. Throws Error{Exit::scene} if a result does not have the expected form or
// occurs twice.
std::vector<ResultCell> cells_of(const ResultsFile& file);

// Short names of cells: what a table has to show to tell them apart.
std::vector<std::string> cell_labels(const std::vector<const ResultCell*>& cells);

// P(a > b) + P(a = b) / 2 for one time of each set: 1/2 if they are alike, 1 if each time of `a` is
// above all of `b`.
double exceedance(std::vector<double> a, std::vector<double> b);
// The share of positive differences a[i] - b[i] in the sum of the ranks of all differences; 1 if
// all are positive.
double positive_rank_share(const std::vector<double>& differences);

// One-sided p values: the probability of at least this exceedance or share if both sets are samples
// of one distribution. Exact up to 40 samples.
double p_of_exceedance(double exceedance, std::size_t a, std::size_t b);
double p_of_share(double share, std::size_t pairs);

// Samples per set that reach the p value: at full separation, and with this exceedance or share.
std::size_t samples_needed(double p, double exceedance, bool paired);

// not_measured: no times in either file.
enum class Verdict { same, faster, slower, undecided, only_old, only_new, not_measured };
// Names, in the order of summaries.
inline constexpr std::pair<const char*, Verdict> verdicts[] = {
    {"SLOWER", Verdict::slower},
    {"FASTER", Verdict::faster},
    {"SAME", Verdict::same},
    {"UNDECIDED", Verdict::undecided},
    {"ONLY OLD", Verdict::only_old},
    {"ONLY NEW", Verdict::only_new},
    {"NOT MEASURED", Verdict::not_measured}};
const char* name(Verdict verdict);

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
  std::size_t tested = 0;          // cells with samples in both files
  std::size_t too_few_runs = 0;    // of these: no times could decide them
  std::vector<std::string> notes;  // about the files

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
