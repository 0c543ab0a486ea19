// SPDX-License-Identifier: MIT
// `heapwood compare`: compares two results files cell by cell (docs/sweeps.md). A cell is one kind
// of time of one measurement. Its times are compared by rank tests, which assume nothing about the
// distribution of times with its long tail: Mann and Whitney's U, and for pairs Wilcoxon's signed
// ranks.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bench/results/json_report.hpp"
#include "bench/results/table.hpp"
#include "bench/shard.hpp"

namespace heapwood::bench {

// A results file as read: an object with a known schema, a device, and results or cases.
struct ResultsFile {
  std::string path;
  std::string schema;
  Json json;

  // The device, without the host's memory, which varies, and the number of the GPU in its host.
  Json device() const;
  // Printable: "9f3c2ab", "NVIDIA H100, driver CUDA 13.0".
  std::string version_text() const;
  std::string device_text() const;
  // The values at this key in all device records: `uuid_hash`, `driver_version`, `warning`.
  std::set<std::string> recorded(const char* key) const;
};

// Throws Error{Exit::scene} if the file does not exist, is damaged or is not one of this program.
ResultsFile read_results(const std::string& path);

struct ResultCell {
  Json identity;
  std::string metric;  // "build", "insert@1000"
  std::vector<double> ms;
  bool paired = false;  // samples belong to frames or rounds, which differ
  std::string reason;   // why there are no samples; "" if there are
};

// All cells of a file in order. Throws Error{Exit::scene} if a result is malformed or repeated.
std::vector<ResultCell> cells_of(const ResultsFile& file);

// The shortest names that tell the cells of a table apart.
std::vector<std::string> cell_labels(const std::vector<const ResultCell*>& cells);

// P(a > b) + P(a = b) / 2 for a time of each set: 1/2 if the sets are alike, 1 if all of `a` are
// above `b`.
double exceedance(std::vector<double> a, std::vector<double> b);
// The share of positive differences a[i] - b[i] in the sum of all ranks; 1 if all are positive.
double positive_rank_share(const std::vector<double>& differences);

// One-sided p values: the probability of at least this exceedance or share if there is no
// difference. Exact up to 40 samples.
double p_of_exceedance(double exceedance, std::size_t a, std::size_t b);
double p_of_share(double share, std::size_t pairs);

// Samples per set that reach this p value, at full separation or with this exceedance or share.
std::size_t samples_needed(double p, double exceedance, bool paired);

// not_measured: neither file has times.
enum class Verdict { same, faster, slower, undecided, only_old, only_new, not_measured };
// Names of verdicts, in the order of the summary.
inline constexpr std::pair<const char*, Verdict> verdicts[] = {
    {"SLOWER", Verdict::slower},
    {"FASTER", Verdict::faster},
    {"SAME", Verdict::same},
    {"UNDECIDED", Verdict::undecided},
    {"ONLY OLD", Verdict::only_old},
    {"ONLY NEW", Verdict::only_new},
    {"NOT MEASURED", Verdict::not_measured}};
const char* name(Verdict verdict);

// The limits by which cells are judged.
struct CompareRules {
  // Ratios of times between 1 / (1 + threshold) and 1 + threshold count as no change.
  double threshold = .03;
  // Max probability that a cell is called FASTER or SLOWER although the programs are identical.
  double false_alarms = .01;
  // Max probability that a cell is called SAME although its times differ by the threshold.
  double false_same = .01;
};

struct CellTimes {
  std::vector<double> older, newer;
  bool paired = false;  // the i-th times of both files belong together, for example to one frame
};

struct CellVerdict {
  Verdict verdict = Verdict::undecided;
  std::optional<double> ratio;  // new median / old median; for pairs the median of ratios
  double p = 1;                 // two-sided p value; not corrected for the number of cells
  std::size_t runs_needed = 0;  // UNDECIDED: about this many in each file would decide
};

CellVerdict judge(CellTimes cell, const CompareRules& rules);
// Whether as many times as the cell has can decide it, if those of the two files do not overlap.
bool has_enough_runs(const CellTimes& cell, const CompareRules& rules);

inline constexpr const char* compare_schema = "heapwood.compare/1";
// The columns of CSV, for the report's "cells".
inline constexpr const char* compare_columns =
    "cell time verdict ratio old_median_ms new_median_ms old_runs new_runs p runs_needed reason";

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
  std::size_t too_few_runs = 0;    // tested cells that no times could decide
  std::vector<std::string> notes;  // about the files

  std::size_t count(Verdict verdict) const;
  // The number of cells that have times in the old file only: not measured again, or failed.
  std::size_t missing() const;
};

// Throws Error{Exit::usage} if the files are of different commands, have no cell in common or,
// without `allow_mixed`, are of different devices.
Comparison compare_results(const ResultsFile& older, const ResultsFile& newer,
                           const CompareRules& rules, bool allow_mixed);

Table compare_table(const Comparison& comparison);  // without cells that are SAME
Json compare_report(const Comparison& comparison, const ResultsFile& older,
                    const ResultsFile& newer);
// "12 SAME, 1 SLOWER, 2 UNDECIDED"
std::string summary_text(const Comparison& comparison);

// `heapwood merge`: joins the results files of one sweep.
struct Merged {
  Json json;
  std::size_t results = 0;  // for a reproduction the number of cases
  std::size_t failed = 0;   // results that are not `ok`
  // What the merged file lacks: "shard 3 of 4", "2 scenes of shard 1 of 4", "12 of 80 cases", "the
  // rest of an interrupted run".
  std::vector<std::string> missing;
};

// Merges the results of all shards, ordered by shard, and those that only `earlier`, a previous
// output, has. The order of the files does not matter, and merging twice changes nothing.
//
// Throws an Error{Exit::usage} that names a file which is of another command or other settings, or
// has a result that differs from another file's; without `allow_mixed` also one of another device,
// driver or commit. With `allow_mixed` each result says on which device it was measured. Each
// result also says on which GPU of a model, if that is known.
Merged merge_results(const std::optional<ResultsFile>& earlier, std::vector<ResultsFile> shards,
                     bool allow_mixed);

}  // namespace heapwood::bench
