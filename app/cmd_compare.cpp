// SPDX-License-Identifier: MIT
// heapwood compare: two results files, cell by cell (docs/sweeps.md).
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "bench/build_settings.hpp"
#include "bench/compare/compare.hpp"
#include "bench/program/names.hpp"
#include "bench/program/output_file.hpp"

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
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const std::string unit(end, text.data() + text.size());
  if (error != std::errc{} || (unit != "%" && !unit.empty()) || !(percent > 0 && percent <= 1000))
    throw Error(Exit::usage,
                fmt::format("--threshold '{}': expected a percentage above 0: 3%", text));
  return percent / 100;
}

std::vector<bench::Verdict> parse_verdicts(const std::string& list) {
  using bench::Verdict;
  constexpr std::pair<const char*, Verdict> known[] = {{"slower", Verdict::slower},
                                                       {"faster", Verdict::faster},
                                                       {"undecided", Verdict::undecided},
                                                       {"missing", Verdict::only_old}};
  std::vector<Verdict> verdicts;
  for (const std::string& text :
       list.empty() ? std::vector<std::string>{} : bench::split(list, ',')) {
    verdicts.push_back(bench::find_in(known, "--fail-on", text));
  }
  return verdicts;
}

Exit compare(const CompareCommand& command) {
  for (const std::string& path : {command.older, command.newer}) {
    if (path.empty())
      throw Error(Exit::usage, "compare: two results files are needed: an old and a new one");
  }
  bench::CompareRules rules;
  rules.threshold = parse_threshold(command.threshold);
  const std::vector<bench::Verdict> failures = parse_verdicts(command.fail_on);
  std::unique_ptr<bench::OutputFile> file;
  if (!command.json.empty()) file = std::make_unique<bench::OutputFile>(command.json);
  const bench::ResultsFile older = bench::read_results(command.older),
                           newer = bench::read_results(command.newer);
  const bench::Comparison result = bench::compare_results(older, newer, rules, command.allow_mixed);
  const bench::Json report = compare_report(result, older, newer);
  const std::optional<Error> write_error = write_report(file.get(), report);
  if (command.format == "json") {
    fmt::print("{}", bench::json_text(report));
  } else if (command.format == "csv") {
    fmt::print("{}", bench::to_csv(compare_flat_table(result)));
  } else {
    bench::Table table = bench::compare_table(result);
    table.notes.insert(table.notes.begin(),
                       fmt::format("old: {}; new: {}; {}", older.version_text(),
                                   newer.version_text(), newer.device_text()));
    bench::print_tables({table}, command.format);
  }
  if (write_error) throw *write_error;
  std::size_t failed = 0;
  for (const bench::Verdict verdict : failures) {
    failed += verdict == bench::Verdict::only_old ? result.missing() : result.count(verdict);
  }
  if (failed > 0)
    throw Error(Exit::failed, fmt::format("compare: {} (--fail-on {})", bench::summary_text(result),
                                          command.fail_on));
  if (!failures.empty() && result.too_few_runs > 0)
    throw Error(
        Exit::usage,
        fmt::format("compare: too few runs to tell: {} of {} cells; measure with more --runs",
                    result.too_few_runs, result.tested));
  return Exit::done;
}

}  // namespace

void add_compare(bench::Program& program, Invocation& invocation) {
  auto options = std::make_shared<CompareCommand>();
  bench::CommandOptions command(program, "compare", "two results files: faster, slower or the same",
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
    invocation.files.reads(options->older);
    invocation.files.reads(options->newer);
    invocation.files.writes(options->json);
    invocation.action = [options] { return compare(*options); };
  });
}

}  // namespace heapwood::app
