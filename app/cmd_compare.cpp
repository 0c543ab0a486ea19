// SPDX-License-Identifier: MIT
// The commands compare, which compares two results files cell by cell, and merge, which joins the
// results files of a sweep's shards (docs/sweeps.md).
#include <filesystem>
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "bench/build_settings.hpp"
#include "bench/compare/compare.hpp"
#include "bench/program/command_files.hpp"
#include "bench/program/messages.hpp"
#include "bench/reproduce/reproduce.hpp"
#include "bench/results/format.hpp"
#include "scenes/file.hpp"

namespace heapwood::app {

namespace {

constexpr const char* compare_examples = R"(Examples:
  heapwood compare before.json after.json                  cells that are not SAME
  heapwood compare before.json after.json --fail-on slower   for CI: exit code 1
  heapwood compare h100.json h200.json --allow-mixed       two devices
  heapwood compare before.json after.json --format csv     all cells
Files are those of --json, of merge, and results.json of reproduce.)";

struct CompareCommand {
  std::string older, newer, threshold = "3%", fail_on, format = "table", json;
  bool allow_mixed = false;
};

double parse_threshold(const std::string& text) {
  std::string_view number = text;
  if (number.ends_with('%')) number.remove_suffix(1);
  double percent = 0;
  if (!scenes::parse_double(number, percent) || !(percent > 0 && percent <= 1000))
    throw_error(Exit::usage, "--threshold '{}': expected a percentage above 0: 3%", text);
  return percent / 100;
}

std::vector<Verdict> parse_verdicts(const std::string& list) {
  constexpr std::pair<const char*, Verdict> known[] = {{"slower", Verdict::slower},
                                                       {"faster", Verdict::faster},
                                                       {"undecided", Verdict::undecided},
                                                       {"missing", Verdict::only_old}};
  if (list.empty()) return {};
  return parse_list(list,
                    [&](const std::string& text) { return find_in(known, "--fail-on", text); });
}

Exit compare(const CompareCommand& command) {
  for (const std::string& path : {command.older, command.newer}) {
    if (path.empty())
      throw Error(Exit::usage, "compare: two results files are needed: an old and a new one");
  }
  CompareRules rules;
  rules.threshold = parse_threshold(command.threshold);
  const std::vector<Verdict> failures = parse_verdicts(command.fail_on);
  const std::unique_ptr<OutputFile> file = open_output(command.json);
  const ResultsFile older = read_results(command.older), newer = read_results(command.newer);
  const Comparison result = compare_results(older, newer, rules, command.allow_mixed);
  const Json report = compare_report(result, older, newer);
  const std::optional<Error> write_error = write_report(file.get(), report);
  if (command.format == "json") {
    fmt::print("{}", json_text(report));
  } else if (command.format == "csv") {
    fmt::print("{}", to_csv(table_of_json(report["cells"], compare_columns)));
  } else {
    Table table = compare_table(result);
    table.notes.insert(table.notes.begin(),
                       fmt::format("old: {}; new: {}; {}", older.version_text(),
                                   newer.version_text(), newer.device_text()));
    print_tables({table}, command.format);
  }
  if (write_error) throw *write_error;
  std::size_t failed = 0;
  for (const Verdict verdict : failures) {
    failed += verdict == Verdict::only_old ? result.missing() : result.count(verdict);
  }
  if (failed > 0)
    throw_error(Exit::failed, "compare: {} (--fail-on {})", summary_text(result), command.fail_on);
  if (!failures.empty() && result.too_few_runs > 0)
    throw_error(Exit::usage,
                "compare: too few runs to tell: {} of {} cells; measure with more --runs",
                result.too_few_runs, result.tested);
  return Exit::done;
}

}  // namespace

void add_compare(Program& program, Invocation& invocation) {
  auto options = std::make_shared<CompareCommand>();
  CommandOptions command(program, "compare", "two results files: faster, slower or the same",
                         compare_examples);
  command.text("old", options->older, "results file to compare with", "OLD");
  command.text("new", options->newer, "results file of the same command", "NEW");
  command.text("--threshold", options->threshold, "smaller changes of the median do not matter",
               "PERCENT");
  command.text("--fail-on", options->fail_on,
               "exit code 1 if there is such a cell: slower, faster,\nundecided, missing (in the "
               "new file)",
               "LIST");
  command.flag("--allow-mixed", options->allow_mixed, "compare different devices");
  add_format(command, options->format,
             "table, markdown (without cells that are the same),\ncsv, json");
  command.text("--json", options->json, "write all cells and their verdicts", "FILE");
  command.when_chosen([options, &invocation] {
    invocation.files.reads(options->older, options->newer);
    invocation.files.writes(options->json);
    invocation.action = [options] { return compare(*options); };
  });
}

namespace {

constexpr const char* merge_examples = R"(Examples:
  heapwood bench atrium statue --shard 1/2 --json 1.json     one process
  heapwood bench atrium statue --shard 2/2 --json 2.json     another one
  heapwood merge all.json 1.json 2.json
Results that only OUT has stay in it: shards can be merged as they end. Shards
of other devices, drivers, commits or settings are refused.)";

struct MergeCommand {
  std::string out;
  std::vector<std::string> shards;
  bool allow_mixed = false, strict = false;
};

Exit merge(const MergeCommand& command) {
  if (command.out.empty() || command.shards.empty())
    throw Error(Exit::usage, "merge: an output file and at least one results file are needed");
  OutputFile file(command.out);
  std::optional<ResultsFile> earlier;
  std::error_code ignored;
  if (std::filesystem::exists(command.out, ignored)) {
    earlier = read_results(command.out);
    // OUT may have been forgotten; then the first shard's file is in its place and must not be
    // replaced. Merged files of `reproduce` cannot be told from those that it writes.
    if (!earlier->json.contains("shards") && earlier->schema != reproduce_schema) {
      throw_error(Exit::usage,
                  "{}: not written by merge; name the output file first: heapwood "
                  "merge OUT SHARD...",
                  command.out);
    }
  }
  std::vector<ResultsFile> shards;
  for (const std::string& path : command.shards) shards.push_back(read_results(path));
  const Merged merged = merge_results(earlier, std::move(shards), command.allow_mixed);
  file.write(json_text(merged.json));
  const std::string missing = joined(merged.missing);
  std::string text = fmt::format("{}: {}", scenes::printable(command.out, 400),
                                 plural_text(merged.results, "result"));
  if (merged.failed > 0) text += fmt::format(", {} not ok", count_text(merged.failed));
  fmt::print("{}; {}\n", text, missing.empty() ? "nothing is missing" : "missing: " + missing);
  if (command.strict && !missing.empty())
    throw_error(Exit::failed, "{}: missing: {}; measure and merge them", command.out, missing);
  return Exit::done;
}

}  // namespace

void add_merge(Program& program, Invocation& invocation) {
  auto options = std::make_shared<MergeCommand>();
  CommandOptions command(program, "merge", "results files of shards in one file", merge_examples);
  command.text("out", options->out, "results file to write or to complete", "OUT");
  command.texts("shard", options->shards, "results files of one command (--json)", "SHARD");
  command.flag("--allow-mixed", options->allow_mixed,
               "also of several devices, drivers, commits or settings:\nresults say their device");
  command.flag("--strict", options->strict, "exit code 1 if a shard or case is missing");
  command.when_chosen([options, &invocation] {
    invocation.files.writes(options->out);
    for (const std::string& path : options->shards) invocation.files.reads(path);
    invocation.action = [options] { return merge(*options); };
  });
}

}  // namespace heapwood::app
