// SPDX-License-Identifier: MIT
#include "bench/compare/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "bench/build_settings.hpp"
#include "bench/results/format.hpp"

namespace heapwood::bench {

namespace {

constexpr std::size_t max_exact = 40;

// P(X > z) of a standard normal X.
double normal_tail(double z) { return std::erfc(z / std::sqrt(2.0)) / 2; }

double normal_quantile(double tail) {
  double low = 0, high = 40;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (normal_tail(middle) > tail ? low : high) = middle;
  }
  return high;
}

// Ranks from 1; equal values share the mean of their ranks.
std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t k) { return values[i] < values[k]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i)
      ranks[order[i]] = static_cast<double>(first + 1 + end) / 2;
    first = end;
  }
  return ranks;
}

// Turns counts of the values 0, 1, 2, ... into P(X <= 0), P(X <= 1), P(X <= 2), ...
std::vector<double> cumulated(std::vector<double> counts) {
  std::partial_sum(counts.begin(), counts.end(), counts.begin());
  const double all = counts.back();
  for (double& count : counts) count /= all;
  return counts;
}

// The cumulative distribution of the rank statistic U for sets of a and b samples. The counts are
// the coefficients of the Gaussian binomial. The small counts of the tail are exact, because each
// count depends on lower ones only.
std::vector<double> cumulative_u(std::size_t a, std::size_t b) {
  std::vector<double> counts(a * b + 1);
  counts[0] = 1;
  for (std::size_t i = 1; i <= a; ++i) {
    for (std::size_t u = counts.size(); u-- > b + i;) counts[u] -= counts[u - b - i];
    for (std::size_t u = i; u < counts.size(); ++u) counts[u] += counts[u - i];
  }
  return cumulated(std::move(counts));
}

std::vector<double> cumulative_rank_sum(std::size_t pairs) {
  std::vector<double> counts(pairs * (pairs + 1) / 2 + 1);
  counts[0] = 1;
  for (std::size_t i = 1; i <= pairs; ++i) {
    for (std::size_t w = counts.size(); w-- > i;) counts[w] += counts[w - i];
  }
  return cumulated(std::move(counts));
}

// The probability that a rank statistic reaches at least this share of its maximum: U for sets of a
// and b samples or, if b is 0, the signed ranks of a pairs. Both distributions are symmetric.
double exact_tail(std::size_t a, std::size_t b, double share) {
  static std::map<std::pair<std::size_t, std::size_t>, std::vector<double>> known;
  std::vector<double>& cumulative = known[{a, b}];
  if (cumulative.empty()) cumulative = b == 0 ? cumulative_rank_sum(a) : cumulative_u(a, b);
  const auto last = static_cast<double>(cumulative.size() - 1);
  return cumulative[static_cast<std::size_t>(std::ceil((1 - share) * last - 1e-9))];
}

double full_separation(std::size_t n, bool paired) {
  const auto size = static_cast<double>(n);
  return paired ? std::exp2(-size)
                : std::exp(2 * std::lgamma(size + 1) - std::lgamma(2 * size + 1));
}

}  // namespace

double exceedance(std::vector<double> a, std::vector<double> b) {
  if (a.empty() || b.empty()) return 0.5;
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double below = 0;
  std::size_t lower = 0, upper = 0;
  for (const double value : a) {
    while (lower < b.size() && b[lower] < value) ++lower;
    while (upper < b.size() && b[upper] <= value) ++upper;
    below += static_cast<double>(lower + upper) / 2;
  }
  return below / (static_cast<double>(a.size()) * static_cast<double>(b.size()));
}

double positive_rank_share(const std::vector<double>& differences) {
  if (differences.empty()) return 0.5;
  std::vector<double> sizes;
  sizes.reserve(differences.size());
  for (const double difference : differences) sizes.push_back(std::abs(difference));
  const std::vector<double> ranks = ranks_of(sizes);
  double positive = 0, all = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    all += ranks[i];
    positive += differences[i] > 0 ? ranks[i] : differences[i] < 0 ? 0 : ranks[i] / 2;
  }
  return positive / all;
}

double p_of_exceedance(double exceedance, std::size_t a, std::size_t b) {
  if (a == 0 || b == 0) return 1;
  if (std::max(a, b) <= max_exact) return exact_tail(a, b, exceedance);
  const auto x = static_cast<double>(a), y = static_cast<double>(b);
  const double sigma = std::sqrt(x * y * (x + y + 1) / 12);
  return normal_tail(((exceedance - 0.5) * x * y - 0.5) / sigma);
}

double p_of_share(double share, std::size_t pairs) {
  if (pairs == 0) return 1;
  if (pairs <= max_exact) return exact_tail(pairs, 0, share);
  const auto n = static_cast<double>(pairs);
  const double all = n * (n + 1) / 2, sigma = std::sqrt(n * (n + 1) * (2 * n + 1) / 24);
  return normal_tail(((share - 0.5) * all - 0.5) / sigma);
}

std::size_t samples_needed(double p, double exceedance, bool paired) {
  constexpr std::size_t max = 1'000'000;
  std::size_t n = 2;
  while (full_separation(n, paired) > p) ++n;
  const double distance = exceedance - 0.5;
  if (distance <= 1e-3) return max;
  if (distance >= 0.5 - 1e-9) return n;
  // Variances: U / n^2 has (2 n + 1) / (12 n^2); the share of signed ranks has about 1 / (3 n).
  const double z = normal_quantile(p), variance = paired ? 1.0 / 3 : 1.0 / 6;
  const double by_distance = std::ceil(z * z * variance / (distance * distance));
  return std::max(n, static_cast<std::size_t>(std::min(by_distance, double{max})));
}

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

// Compares the new times of a cell with its old ones multiplied by a factor.
class Evidence {
 public:
  explicit Evidence(const CellTimes& cell) : cell_(cell) {
    if (cell.paired) logs_ = log_ratios(cell);
  }

  // The share of new times that are longer; 1: all.
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
  // The one-sided p value of a share.
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

const char* name(Verdict verdict) { return name_in(verdicts, verdict); }

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
  const bool is_slower = *result.ratio > limit && longer > 0.5,
             is_faster = *result.ratio < 1 / limit && longer < 0.5;
  double needed_share = distance, needed_p = rules.false_alarms / 2;  // for each of two directions
  if (is_slower || is_faster) {
    if (p_distance <= needed_p) {
      result.verdict = is_slower ? Verdict::slower : Verdict::faster;
      return result;
    }
  } else {
    // SAME needs both: clearly shorter than the threshold, clearly longer than its inverse.
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
