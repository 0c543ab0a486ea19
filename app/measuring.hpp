// SPDX-License-Identifier: MIT
// Shared by the commands that measure: options, device, the results file that --resume continues,
// the tables, and the exit status.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/recording/program_trace.hpp"
#include "bench/program/command_files.hpp"
#include "bench/program/command_options.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/options.hpp"
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
// Declares --device, --threads and --wait-for-gpu.
void add_measured_device(CommandOptions& command, DeviceOptions& options);
// Declares --json and --format; `line` says what a line of CSV stands for.
void add_report(CommandOptions& command, MeasuringOptions& to, const char* line);
void add_resume(CommandOptions& command, MeasuringOptions& to);
void add_shard_and_device(CommandOptions& command, MeasuringOptions& to);

// Chooses the device by choose_device(). From then on no other process may measure on this GPU
// while this one runs, unless HEAPWOOD_SHARE_GPU is in the environment, and reports contain the
// GPU's state (bench/results/json_report.hpp).
simt::DeviceInfo choose_measured_device(const DeviceOptions& options, const Allocators& allocators);

// Throws Error{Exit::usage} if no scene is given; the message suggests `example`.
void require_scene(const std::string& command, const std::string& scene,
                   const std::string& example = "atrium");

// Opens a file; returns nullptr for "".
std::unique_ptr<OutputFile> open_output(const std::string& path);

// Writes the report, if there is a file. Returns an error instead of throwing it, so that the
// tables are always printed.
std::optional<Error> write_report(OutputFile* file, const Json& report);

struct Printed {
  const char* csv_columns;           // columns of CSV (bench/results/json_fields.hpp)
  std::vector<Table> tables;         // those without columns are not printed
  std::vector<std::string> notes{};  // printed below the last table
  std::string closing{};             // the last paragraph
  const char* csv_list = "";         // key of a list, each of whose elements is a line of CSV
};

class Measuring {
 public:
  // Chooses the shard, unless the command has none (`whole`). Throws Error{Exit::usage} if --resume
  // has no file.
  Measuring(std::string command, const MeasuringOptions& options, bool whole = false);

  const Shard& shard() const { return shard_; }
  // Opens the results file, then chooses the device.
  const simt::DeviceInfo& start(const Allocators& allocators);
  // For a shard without cases, because there are fewer cases than shards: writes the report without
  // results, for merge, and a note.
  Exit finish_empty_shard(Json report);
  // Returns run(on_step) and shows a progress line meanwhile.
  template <class F>
  auto measure(F run) const {
    Progress progress;
    return run([&](std::size_t done, std::size_t total, const std::string& what) {
      progress.update(done, total, what);
    });
  }
  // With --resume, read() returns the file's report, whose results stay in the file. Returns the
  // rows that need not be measured again.
  template <class Read>
  auto resume(Read read) -> decltype(read().kept) {
    if (!options_.resume) return {};
    auto earlier = read();
    earlier_ = std::move(earlier.results);
    return std::move(earlier.kept);
  }
  // Adds shard and earlier results to a report and writes it. check() throws an error that occurs.
  void write(Json report) { complete_and_write(report); }
  void show(Json report, const Printed& printed);
  // Throws Error{Exit::failed} if the report could not be written, or if measurements failed or
  // were interrupted; with --strict Error{Exit::exhausted} if requests were refused. `failure`
  // takes precedence over failures of the measurements.
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
  std::size_t better_ = 0;            // number of earlier results kept because they have more runs
  std::optional<Error> write_error_;  // of the last attempt; thrown after the tables are printed
};

// For --record-trace: writes what record() returns and prints a line about it.
Exit write_trace(const std::string& path, const std::function<alloc::ProgramTrace()>& record);

// Warns of a leaf with more than 1,000 refs. For complete trees only: an incomplete one has large
// leaves for lack of memory, and a warning of its own.
void warn_of_large_leaf(const std::string& scene, std::uint32_t largest_leaf);

}  // namespace heapwood::app
