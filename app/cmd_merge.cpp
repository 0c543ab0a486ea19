// SPDX-License-Identifier: MIT
// heapwood merge: the results files of a sweep's shards in one file (docs/sweeps.md).
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "app/commands.hpp"
#include "bench/merge.hpp"
#include "bench/program/output_file.hpp"
#include "bench/reproduce/results.hpp"
#include "bench/results/format.hpp"
#include "scenes/file.hpp"

namespace heapwood::app {

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
  bench::OutputFile file(command.out);
  std::optional<bench::ResultsFile> earlier;
  std::error_code ignored;
  if (std::filesystem::exists(command.out, ignored)) {
    earlier = bench::read_results(command.out);
    // Else a shard's file would be replaced if OUT was forgotten. Parts of a reproduction look the
    // same before and after.
    if (!earlier->json.contains("shards") && earlier->schema != bench::reproduce_schema) {
      throw Error(Exit::usage,
                  fmt::format("{}: not written by merge; name the output file first: heapwood "
                              "merge OUT SHARD...",
                              command.out));
    }
  }
  std::vector<bench::ResultsFile> shards;
  for (const std::string& path : command.shards) shards.push_back(bench::read_results(path));
  const bench::Merged merged =
      bench::merge_results(earlier, std::move(shards), command.allow_mixed);
  file.write(bench::json_text(merged.json));
  std::string missing;
  for (const std::string& one : merged.missing) missing += (missing.empty() ? "" : ", ") + one;
  std::string text = fmt::format("{}: {}", scenes::printable(command.out, 400),
                                 bench::plural_text(merged.results, "result"));
  if (merged.failed > 0) text += fmt::format(", {} not ok", bench::count_text(merged.failed));
  fmt::print("{}; {}\n", text, missing.empty() ? "nothing is missing" : "missing: " + missing);
  if (command.strict && !missing.empty())
    throw Error(Exit::failed,
                fmt::format("{}: missing: {}; measure and merge them", command.out, missing));
  return Exit::done;
}

}  // namespace

void add_merge(bench::Program& program, Invocation& invocation) {
  auto options = std::make_shared<MergeCommand>();
  bench::CommandOptions command(program, "merge", "results files of shards in one file",
                                merge_examples);
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
