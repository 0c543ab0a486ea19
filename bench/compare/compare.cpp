// SPDX-License-Identifier: MIT
#include "bench/compare/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "bench/build_settings.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "scenes/file.hpp"

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
  std::ranges::sort(order, [&](std::size_t i, std::size_t k) { return values[i] < values[k]; });
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
  std::ranges::sort(a);
  std::ranges::sort(b);
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
  return std::ranges::all_of(times, [](double ms) { return ms > 0; });
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

namespace {

std::string cell_key(const ResultCell& cell) { return sorted_text(cell.identity) + cell.metric; }

void check_match(const ResultsFile& older, const ResultsFile& newer, bool allow_mixed,
                 std::vector<std::string>& notes) {
  if (older.schema != newer.schema) {
    throw_error(Exit::usage, "{}: a {} file, but {} is a {} file; compare files of one command",
                newer.path, newer.schema, older.path, older.schema);
  }
  Json old_device = older.device(), new_device = newer.device();
  const bool other_driver =
      old_device.value("driver", Json()) != new_device.value("driver", Json());
  for (Json* device : {&old_device, &new_device}) device->erase("driver");
  if (old_device != new_device) {
    const std::string text = fmt::format("measured on {}, but {} on {}", newer.device_text(),
                                         older.path, older.device_text());
    if (!allow_mixed)
      throw_error(Exit::usage, "{}: {}; compare them with --allow-mixed", newer.path, text);
    notes.push_back(fmt::format("{}: {}", newer.path, text));
  } else if (other_driver) {
    notes.push_back(
        fmt::format("other driver: {}, before {}", newer.device_text(), older.device_text()));
  }
  // Notes other differences between the files' device records, and their warnings.
  const auto note_change = [&](const char* key, const char* name) {
    const std::set<std::string> before = older.recorded(key), after = newer.recorded(key);
    if (before.empty() || after.empty() || before == after) return;
    notes.push_back(scenes::printable(
        fmt::format("other {}: {}, before {}", name, joined(after, " "), joined(before, " ")),
        300));
  };
  if (!other_driver) note_change("driver_version", "driver");
  note_change("uuid_hash", "GPU of this model, by hash");
  for (const ResultsFile* file : {&older, &newer}) {
    for (const std::string& text : file->recorded("warning"))
      notes.push_back(fmt::format("{}: {}", file->path, scenes::printable(text, 300)));
  }
}

std::string samples_text(const ComparedCell& cell) {
  return cell.older.size() == cell.newer.size()
             ? std::to_string(cell.older.size())
             : fmt::format("{}, {}", cell.older.size(), cell.newer.size());
}

// One line that lists each label once, even if it lacks several kinds of time.
std::string not_measured_text(const Comparison& comparison) {
  constexpr std::size_t max_listed = 8;
  std::vector<std::string> labels;
  for (const ComparedCell& cell : comparison.cells) {
    if (cell.verdict.verdict == Verdict::not_measured &&
        std::ranges::find(labels, cell.label) == labels.end())
      labels.push_back(cell.label);
  }
  if (labels.empty()) return "";
  const std::size_t all = labels.size();
  labels.resize(std::min(all, max_listed));
  return "NOT MEASURED, in either file: " + joined(labels, "; ") +
         (all > max_listed ? fmt::format("; and {} more", all - max_listed) : "");
}

bool was_tested(const ComparedCell& cell) { return !cell.older.empty() && !cell.newer.empty(); }

}  // namespace

std::size_t Comparison::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      cells, [&](const ComparedCell& cell) { return cell.verdict.verdict == verdict; }));
}

std::size_t Comparison::missing() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      cells, [](const ComparedCell& cell) { return !cell.older.empty() && cell.newer.empty(); }));
}

Comparison compare_results(const ResultsFile& older, const ResultsFile& newer,
                           const CompareRules& rules, bool allow_mixed) {
  Comparison result;
  result.rules = rules;
  check_match(older, newer, allow_mixed, result.notes);
  const std::vector<ResultCell> old_cells = cells_of(older), new_cells = cells_of(newer);
  std::map<std::string, const ResultCell*> by_key;
  for (const ResultCell& cell : new_cells) by_key[cell_key(cell)] = &cell;

  std::vector<const ResultCell*> shown;
  const auto add = [&](const ResultCell& cell, Verdict verdict) -> ComparedCell& {
    shown.push_back(&cell);
    ComparedCell& added = result.cells.emplace_back();
    added.identity = cell.identity;
    added.metric = scenes::printable(cell.metric);
    added.verdict.verdict = verdict;
    return added;
  };
  std::size_t common = 0;
  for (const ResultCell& cell : old_cells) {
    const auto other = by_key.find(cell_key(cell));
    if (other == by_key.end()) {
      add(cell, Verdict::only_old).older = cell.ms;
      continue;
    }
    ++common;
    const ResultCell& now = *other->second;
    ComparedCell& added =
        add(cell, cell.ms.empty() && now.ms.empty() ? Verdict::not_measured : Verdict::undecided);
    added.older = cell.ms;
    added.newer = now.ms;
    for (const auto& [which, one] : {std::pair("old", &cell), std::pair("new", &now)}) {
      if (one->reason.empty()) continue;
      added.reason += fmt::format("{}{} file: {}", added.reason.empty() ? "" : "; ", which,
                                  scenes::printable(one->reason, 200));
    }
    if (was_tested(added)) {
      const CellTimes times{cell.ms, now.ms, cell.paired && now.paired};
      added.verdict = judge(times, rules);
      ++result.tested;
      result.too_few_runs += !has_enough_runs(times, rules);
    }
    by_key.erase(other);
  }
  if (common == 0)
    throw_error(Exit::usage,
                "{}: no measurement in common with {}; compare files of "
                "the same scenes, allocators and settings",
                newer.path, older.path);
  for (const ResultCell& cell : new_cells) {
    if (by_key.contains(cell_key(cell))) add(cell, Verdict::only_new).newer = cell.ms;
  }
  const std::vector<std::string> labels = cell_labels(shown);
  for (std::size_t i = 0; i < labels.size(); ++i) result.cells[i].label = labels[i];
  return result;
}

std::string summary_text(const Comparison& comparison) {
  std::string text;
  for (const auto& [name, verdict] : verdicts) {
    if (const std::size_t count = comparison.count(verdict))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  }
  return text;
}

Table compare_table(const Comparison& comparison) {
  Table table;
  table.title = fmt::format("New times against old ones, {} cells: {}", comparison.cells.size(),
                            summary_text(comparison));
  table.columns = columns_of("cell<; time<; verdict<; change; old ms; new ms; runs; runs needed");
  for (const ComparedCell& cell : comparison.cells) {
    const auto& [verdict, ratio, p, needed] = cell.verdict;
    if (verdict == Verdict::same || verdict == Verdict::not_measured) continue;
    table.add({cell.label, cell.metric, name(verdict),
               ratio ? fmt::format("{:+.1f}%", 100 * (*ratio - 1)) : missing,
               figure_text(median(cell.older)), figure_text(median(cell.newer)), samples_text(cell),
               needed > 1000 ? "> 1,000"
               : needed > 0  ? std::to_string(needed)
                             : ""});
    if (!cell.reason.empty())
      table.notes.push_back(fmt::format("{}, {}: {}", cell.label, cell.metric, cell.reason));
  }
  if (std::string text = not_measured_text(comparison); !text.empty())
    table.notes.push_back(std::move(text));
  const CompareRules& rules = comparison.rules;
  table.notes.insert(table.notes.end(), comparison.notes.begin(), comparison.notes.end());
  table.notes.push_back(
      fmt::format("FASTER, SLOWER: medians differ by more than {:g}%, by a rank test; SAME: by "
                  "less, not listed; {:g}% error per cell",
                  100 * rules.threshold, 100 * rules.false_alarms));
  if (comparison.too_few_runs > 0) {
    table.notes.push_back(
        fmt::format("too few runs to tell: {} of {} cells; {} runs in each file are enough, or {} "
                    "rounds or frames",
                    comparison.too_few_runs, comparison.tested,
                    samples_needed(rules.false_alarms / 2, 1, false),
                    samples_needed(rules.false_alarms / 2, 1, true)));
  }
  return table;
}

Json compare_report(const Comparison& comparison, const ResultsFile& older,
                    const ResultsFile& newer) {
  Json json;
  json["schema"] = compare_schema;
  for (const auto& [key, file] : {std::pair("old", &older), std::pair("new", &newer)}) {
    json[key] = {{"file", scenes::utf8_text(file->path)},
                 {"schema", file->schema},
                 {"device", file->json.at("device")}};
    if (file->json.contains("git")) json[key]["git"] = file->json["git"];
  }
  const CompareRules& rules = comparison.rules;
  json["rules"] = {{"threshold", rules.threshold},
                   {"false_alarms_per_table",
                    1 - std::pow(1 - rules.false_alarms, static_cast<double>(comparison.tested))},
                   {"false_alarms_per_cell", rules.false_alarms},
                   {"false_same_per_cell", rules.false_same},
                   {"tested_cells", comparison.tested}};
  for (const auto& [name, verdict] : verdicts) json["counts"][name] = comparison.count(verdict);
  json["cells"] = Json::array();
  for (const ComparedCell& cell : comparison.cells) {
    const CellVerdict& verdict = cell.verdict;
    Json one = cell.identity;
    one["cell"] = cell.label;
    one["time"] = cell.metric;
    one["verdict"] = name(verdict.verdict);
    put(one, "ratio", verdict.ratio);
    put(one, "old_median_ms", median(cell.older));
    put(one, "new_median_ms", median(cell.newer));
    one["old_runs"] = cell.older.size();
    one["new_runs"] = cell.newer.size();
    if (was_tested(cell)) one["p"] = verdict.p;
    if (verdict.runs_needed > 0) one["runs_needed"] = verdict.runs_needed;
    if (!cell.reason.empty()) one["reason"] = cell.reason;
    json["cells"].push_back(std::move(one));
  }
  return json;
}

}  // namespace heapwood::bench
