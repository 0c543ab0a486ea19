// SPDX-License-Identifier: MIT
// What the commands that measure have in common: options, device, the results file that --resume
// continues, the tables, and the exit status.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/recording/program_trace.hpp"
#include "bench/program/command_options.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/options.hpp"
#include "bench/program/output_file.hpp"
#include "bench/results/json_report.hpp"
#include "bench/results/table.hpp"
#include "bench/row_bench.hpp"
#include "bench/shard.hpp"

namespace heapwood::app {

using namespace bench;

struct MeasuringOptions {
  std::string allocators = "all", format = "table", json, shard;
  bool resume = false, can_resume = false, strict = false;
  DeviceOptions device;
};

void add_allocators(CommandOptions& command, std::string& allocators);
void add_allocator(CommandOptions& command, std::string& allocator);
void add_format(CommandOptions& command, std::string& format, const std::string& what);
void add_json(CommandOptions& command, std::string& json);
// --device, --threads and --wait-for-gpu.
void add_measured_device(CommandOptions& command, DeviceOptions& options);
// --format, whose lines of CSV are one per `line`, and --json.
void add_report(CommandOptions& command, MeasuringOptions& to, const char* line);
// --resume
void add_resume(CommandOptions& command, MeasuringOptions& to);
void add_shard_and_device(CommandOptions& command, MeasuringOptions& to);

// choose_device(); then no other process may measure on this GPU as long as this one runs, unless
// the environment has HEAPWOOD_SHARE_GPU, and the reports contain the GPU's state
// (bench/results/json_report.hpp).
simt::DeviceInfo choose_measured_device(const DeviceOptions& options);

// Throws Error{Exit::usage} if no scene is given; `example` is one.
void require_scene(const std::string& command, const std::string& scene,
                   const std::string& example = "atrium");

// nullptr without a path.
std::unique_ptr<OutputFile> open_output(const std::string& path);

// Writes the report, if there is a file. Returns the error, so that the tables are printed in any
// case.
std::optional<Error> write_report(OutputFile* file, const Json& report);

// What is printed of the results.
struct Printed {
  const char* csv_columns;           // of the report's results (bench/results/json_fields.hpp)
  std::vector<Table> tables;         // those without columns are left out
  std::vector<std::string> notes{};  // below the last table
  std::string closing{};             // a last paragraph
  const char* csv_list = "";         // each of whose elements is a line of CSV
};

class Measuring {
 public:
  // Chooses the shard; `whole`: the command has none. Throws Error{Exit::usage} if --resume has no
  // file.
  Measuring(std::string command, const MeasuringOptions& options, bool whole = false);

  const Shard& shard() const { return shard_; }
  // Opens the results file, then chooses the device.
  const simt::DeviceInfo& start();
  // Writes a report without results.
  Exit finish_empty_shard(const Json& report);
  // Returns run(on_step), with a line of progress.
  template <class F>
  auto measure(F run) const {
    Progress progress;
    return run([&](std::size_t done, std::size_t total, const std::string& what) {
      progress.update(done, total, what);
    });
  }
  // With --resume, read() returns the Earlier of the file: its results stay in the file.
  // Returns the rows among them that are not measured again.
  template <class Read>
  auto resume(Read read) -> decltype(read().kept) {
    if (!options_.resume) return {};
    auto earlier = read();
    earlier_ = std::move(earlier.results);
    return std::move(earlier.kept);
  }
  // Adds shard and earlier results to a report and writes it. An error is thrown by check().
  void write(Json report) { complete_and_write(report); }
  // Writes and prints a report.
  void show(Json report, const Printed& printed);
  // Throws Error{Exit::failed} if the report could not be written, if measurements failed or were
  // interrupted and, with --strict, Error{Exit::exhausted} if requests were refused. `failure`
  // comes before those of the measurements.
  template <class Row>
  void check(const std::vector<Row>& rows, const std::optional<Error>& failure = {}) const {
    std::vector<Outcome> outcomes;
    for (const Row& row : rows) outcomes.push_back({row.status, row.allocator, row.reason});
    check(outcomes, failure);
  }
  template <class Row>
  Exit finish(const std::vector<Row>& rows, const Json& report, const Printed& printed,
              const std::optional<Error>& failure = {}) {
    show(report, printed);
    check(rows, failure);
    return Exit::done;
  }

 private:
  struct Outcome {
    Status status;
    std::string allocator, reason;
  };
  void complete_and_write(Json& report);
  void check(const std::vector<Outcome>& outcomes, const std::optional<Error>& failure) const;

  std::string command_;
  const MeasuringOptions& options_;
  Shard shard_;
  std::unique_ptr<OutputFile> file_;
  simt::DeviceInfo device_;
  std::vector<Json> earlier_;
  std::size_t better_ = 0;            // earlier results that have more runs than the new ones
  std::optional<Error> write_error_;  // of the last attempt: the tables are printed in any case
};

// --record-trace: writes what record() returns and prints a line about it.
Exit write_trace(const std::string& path, const std::function<alloc::ProgramTrace()>& record);

// Warns of a leaf with more than 1,000 refs. Only for complete trees: an incomplete one has large
// leaves for lack of memory and its own warning.
void warn_of_large_leaf(const std::string& scene, std::uint32_t largest_leaf);

}  // namespace heapwood::app
