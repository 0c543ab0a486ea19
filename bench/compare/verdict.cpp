// SPDX-License-Identifier: MIT
#include "bench/compare/verdict.hpp"

#include <algorithm>
#include <cmath>

#include "bench/compare/rank_tests.hpp"
#include "bench/results/samples.hpp"

namespace heapwood::bench {

namespace {

std::vector<double> log_ratios(const CellTimes& cell) {
  std::vector<double> logs;
  logs.reserve(cell.older.size());
  for (std::size_t i = 0; i < cell.older.size(); ++i)
    logs.push_back(std::log(cell.newer[i] / cell.older[i]));
  return logs;
}

bool is_positive(const std::vector<double>& times) {
  return std::all_of(times.begin(), times.end(), [](double ms) { return ms > 0; });
}

// The new times of a cell against its old ones multiplied by a factor.
class Evidence {
 public:
  explicit Evidence(const CellTimes& cell) : cell_(cell) {
    if (cell.paired) logs_ = log_ratios(cell);
  }

  // 1: all new times are longer.
  double share_longer(double factor) const {
    if (cell_.paired) {
      std::vector<double> differences = logs_;
      for (double& difference : differences) difference -= std::log(factor);
      return positive_rank_share(differences);
    }
    std::vector<double> scaled = cell_.older;
    for (double& ms : scaled) ms *= factor;
    return exceedance(cell_.newer, std::move(scaled));
  }
  // One-sided, of a share as far from 1/2.
  double p(double share) const {
    return cell_.paired ? p_of_share(share, logs_.size())
                        : p_of_exceedance(share, cell_.newer.size(), cell_.older.size());
  }

 private:
  const CellTimes& cell_;
  std::vector<double> logs_;
};

std::optional<double> ratio_of(const CellTimes& cell) {
  if (cell.paired) {
    const std::optional<double> log = median(log_ratios(cell));
    return log ? std::optional(std::exp(*log)) : std::nullopt;
  }
  const std::optional<double> older = median(cell.older), newer = median(cell.newer);
  if (!older || !newer || *older <= 0 || *newer <= 0) return std::nullopt;
  return *newer / *older;
}

}  // namespace

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::same:
      return "SAME";
    case Verdict::faster:
      return "FASTER";
    case Verdict::slower:
      return "SLOWER";
    case Verdict::only_old:
      return "ONLY OLD";
    case Verdict::only_new:
      return "ONLY NEW";
    case Verdict::not_measured:
      return "NOT MEASURED";
    case Verdict::undecided:
      break;
  }
  return "UNDECIDED";
}

CellVerdict judge(CellTimes cell, const CompareRules& rules) {
  cell.paired = cell.paired && cell.older.size() == cell.newer.size() && is_positive(cell.older) &&
                is_positive(cell.newer);
  CellVerdict result;
  result.ratio = ratio_of(cell);
  if (!result.ratio) return result;
  const double limit = 1 + rules.threshold;
  const Evidence evidence(cell);
  const double longer = evidence.share_longer(1);
  const double distance = std::max(longer, 1 - longer), p_distance = evidence.p(distance);
  result.p = std::min(1.0, 2 * p_distance);
  const bool is_slower = *result.ratio > limit && longer > .5,
             is_faster = *result.ratio < 1 / limit && longer < .5;
  double needed_share = distance, needed_p = rules.false_alarms / 2;  // for each direction
  if (is_slower || is_faster) {
    if (p_distance <= needed_p) {
      result.verdict = is_slower ? Verdict::slower : Verdict::faster;
      return result;
    }
  } else {
    // Clearly shorter than the threshold allows, and clearly longer than its inverse allows.
    needed_share = std::min(1 - evidence.share_longer(limit), evidence.share_longer(1 / limit));
    needed_p = rules.false_same;
    if (evidence.p(needed_share) <= needed_p) {
      result.verdict = Verdict::same;
      return result;
    }
  }
  result.runs_needed = samples_needed(needed_p, needed_share, cell.paired);
  return result;
}

bool has_enough_runs(const CellTimes& cell, const CompareRules& rules) {
  return std::min(cell.older.size(), cell.newer.size()) >=
         samples_needed(rules.false_alarms / 2, 1, cell.paired);
}

}  // namespace heapwood::bench
