// SPDX-License-Identifier: MIT
#include "bench/compare/compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {

std::string cell_key(const ResultCell& cell) { return sorted_text(cell.identity) + cell.metric; }

void check_match(const ResultsFile& older, const ResultsFile& newer, bool allow_mixed,
                 std::vector<std::string>& notes) {
  if (older.schema != newer.schema) {
    throw_error(Exit::usage,
                "{}: a {} file, but {} is a {} file; compare files of one "
                "command",
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

std::string change_text(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:+.1f}%", 100 * (*ratio - 1)) : missing;
}

std::string needed_text(std::size_t runs) {
  if (runs == 0) return "";
  return runs > 1000 ? "> 1,000" : std::to_string(runs);
}

// One line that lists each label once, even if it lacks several kinds of time.
std::string not_measured_text(const Comparison& comparison) {
  constexpr std::size_t max_listed = 8;
  std::vector<std::string> labels;
  for (const ComparedCell& cell : comparison.cells) {
    if (cell.verdict.verdict == Verdict::not_measured &&
        std::find(labels.begin(), labels.end(), cell.label) == labels.end())
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
  return static_cast<std::size_t>(
      std::count_if(cells.begin(), cells.end(),
                    [&](const ComparedCell& cell) { return cell.verdict.verdict == verdict; }));
}

std::size_t Comparison::missing() const {
  return static_cast<std::size_t>(std::count_if(
      cells.begin(), cells.end(),
      [](const ComparedCell& cell) { return !cell.older.empty() && cell.newer.empty(); }));
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
    const Verdict verdict = cell.verdict.verdict;
    if (verdict == Verdict::same || verdict == Verdict::not_measured) continue;
    table.add({cell.label, cell.metric, name(verdict), change_text(cell.verdict.ratio),
               figure_text(median(cell.older)), figure_text(median(cell.newer)), samples_text(cell),
               needed_text(cell.verdict.runs_needed)});
    if (!cell.reason.empty())
      table.notes.push_back(fmt::format("{}, {}: {}", cell.label, cell.metric, cell.reason));
  }
  if (std::string text = not_measured_text(comparison); !text.empty())
    table.notes.push_back(std::move(text));
  const CompareRules& rules = comparison.rules;
  table.notes.insert(table.notes.end(), comparison.notes.begin(), comparison.notes.end());
  table.notes.push_back(
      fmt::format("FASTER, SLOWER: medians differ by more than {:g}%, by a rank test; SAME: by "
                  "less, not listed; "
                  "{:g}% error per cell",
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

Table compare_flat_table(const Comparison& comparison) {
  Table table;
  table.columns = columns_of(
      "cell; time; verdict; ratio; old_median_ms; new_median_ms; old_runs; new_runs; p; "
      "runs_needed; reason");
  for (const ComparedCell& cell : comparison.cells) {
    const CellVerdict& verdict = cell.verdict;
    const bool tested = was_tested(cell);
    table.add({cell.label, cell.metric, name(verdict.verdict), csv_text(verdict.ratio),
               csv_text(median(cell.older)), csv_text(median(cell.newer)),
               std::to_string(cell.older.size()), std::to_string(cell.newer.size()),
               csv_text(tested ? std::optional(verdict.p) : std::nullopt),
               csv_text(verdict.runs_needed > 0, verdict.runs_needed), cell.reason});
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
