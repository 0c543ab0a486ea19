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

void add_to(Autocorrelation& correlation, const CellTimes& cell) {
  if (cell.paired) return correlation.add(log_ratios(cell));
  correlation.add(cell.older);
  correlation.add(cell.newer);
}

// Upper bounds of the cells' correlations. A cell's own estimate is uncertain: it is shrunk towards
// that of all cells (empirical Bayes), more strongly the less the cells differ. Two margins are
// added: twice the error that remains of the cell's estimate, and the error of that of all cells.
std::vector<double> correlations_of(const std::vector<CellTimes>& cells) {
  Autocorrelation all;
  std::vector<Autocorrelation> own(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    add_to(all, cells[i]);
    add_to(own[i], cells[i]);
  }
  double variance = 0;  // between cells
  for (const Autocorrelation& one : own) {
    const double distance = one.estimate() - all.estimate(), error = one.standard_error();
    variance += (distance * distance - error * error) / static_cast<double>(cells.size());
  }
  variance = std::max(variance, 0.0);
  std::vector<double> bounds;
  bounds.reserve(cells.size());
  for (const Autocorrelation& one : own) {
    const double error = one.standard_error(), weight = variance / (variance + error * error);
    const double estimate =
        all.estimate() + weight * (one.estimate() - all.estimate()) + 2 * std::sqrt(weight) * error;
    bounds.push_back(std::clamp(std::max(0.0, estimate) + all.standard_error(), 0.0, .95));
  }
  return bounds;
}

// The new times of a cell against its old ones multiplied by a factor.
class Evidence {
 public:
  Evidence(const CellTimes& cell, double correlation)
      : cell_(cell),
        older_(effective_size(cell.older.size(), correlation)),
        newer_(effective_size(cell.newer.size(), correlation)) {
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
    return cell_.paired ? p_of_share(share, older_) : p_of_exceedance(share, newer_, older_);
  }

 private:
  const CellTimes& cell_;
  std::size_t older_, newer_;
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

CellVerdict judge(const CellTimes& cell, double correlation, const CompareRules& rules,
                  std::size_t cells) {
  CellVerdict result;
  result.correlation = correlation;
  result.ratio = ratio_of(cell);
  if (!result.ratio) return result;
  const double limit = 1 + rules.threshold;
  // Two-sided: half of the cell's part for each direction.
  const double p_different = rules.false_alarms / static_cast<double>(cells) / 2;
  const Evidence evidence(cell, correlation);
  const double longer = evidence.share_longer(1);
  const double distance = std::max(longer, 1 - longer), p_distance = evidence.p(distance);
  result.p = std::min(1.0, 2 * p_distance);
  const bool is_slower = *result.ratio > limit && longer > .5,
             is_faster = *result.ratio < 1 / limit && longer < .5;
  double needed_share = distance, needed_p = p_different;
  if (is_slower || is_faster) {
    if (p_distance <= p_different) {
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
  const auto independent = static_cast<double>(samples_needed(needed_p, needed_share, cell.paired));
  result.runs_needed =
      static_cast<std::size_t>(std::ceil(independent * (1 + correlation) / (1 - correlation)));
  return result;
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

std::vector<CellVerdict> judge_cells(const std::vector<CellTimes>& cells,
                                     const CompareRules& rules) {
  std::vector<CellTimes> usable = cells;
  for (CellTimes& cell : usable) {
    cell.paired = cell.paired && cell.older.size() == cell.newer.size() &&
                  is_positive(cell.older) && is_positive(cell.newer);
  }
  const std::vector<double> correlations = correlations_of(usable);
  std::vector<CellVerdict> verdicts;
  verdicts.reserve(cells.size());
  for (std::size_t i = 0; i < usable.size(); ++i)
    verdicts.push_back(judge(usable[i], correlations[i], rules, cells.size()));
  return verdicts;
}

}  // namespace heapwood::bench
