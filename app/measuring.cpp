// SPDX-License-Identifier: MIT
#include "app/measuring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "alloc/recording/trace_file.hpp"
#include "bench/earlier_results.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/process_lock.hpp"
#include "bench/program/version.hpp"
#include "bench/record_trace.hpp"
#include "bench/results/device_record.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_columns.hpp"
#include "simt/launch.hpp"
#include "simt/nvml.hpp"

namespace heapwood::app {

void add_allocators(bench::CommandOptions& command, std::string& allocators) {
  command.text("--allocators", allocators,
               "all, or ids separated by commas; with settings:\nscatter:page=64K (heapwood list "
               "allocators ID)",
               "IDS");
}

void add_allocator(bench::CommandOptions& command, std::string& allocator) {
  command.text("--allocator", allocator, "allocator id (heapwood list allocators)", "ID");
}

void add_format(bench::CommandOptions& command, std::string& format, const std::string& what) {
  command.choice("--format", format, what, {"table", "markdown", "csv", "json"}, "FORMAT");
}

void add_json(bench::CommandOptions& command, std::string& json) {
  command.text("--json", json, "write all measurements, including raw samples", "FILE");
}

void add_measured_device(bench::CommandOptions& command, bench::DeviceOptions& options) {
  bench::add_device_options(command, options);
  command.flag("--wait-for-gpu", options.waits, "wait while another heapwood measures on the GPU");
}

void add_report(bench::CommandOptions& command, MeasuringOptions& to, const char* line) {
  add_format(command, to.format, fmt::format("table, markdown, csv (one line per {}), json", line));
  add_json(command, to.json);
}

void add_resume(bench::CommandOptions& command, MeasuringOptions& to) {
  command.flag("--resume", to.resume, "reuse results in FILE measured with the same settings");
  to.can_resume = true;
}

void add_shard_and_device(bench::CommandOptions& command, MeasuringOptions& to) {
  bench::add_shard_option(command, to.shard);
  add_measured_device(command, to.device);
}

simt::DeviceInfo choose_measured_device(const bench::DeviceOptions& options) {
  const simt::DeviceInfo device = bench::choose_device(options, bench::CpuNote::when_work_starts);
  const char* shares = std::getenv("HEAPWOOD_SHARE_GPU");
  if (device.id.kind == simt::DeviceKind::cuda && (!shares || !*shares)) {
    const std::string uuid = simt::gpu_address(device.id.index).uuid;
    static std::optional<bench::ProcessLock> lock;  // until the process ends
    lock.reset();
    lock.emplace(bench::lock_gpu(
        device.key,
        uuid.empty() ? "cuda-" + std::to_string(device.id.index) : bench::uuid_hash(uuid),
        options.waits));
  }
  bench::begin_device_record(device);
  return device;
}

std::optional<Error> write_report(bench::OutputFile* file, const bench::Json& report) {
  if (file == nullptr) return std::nullopt;
  try {
    file->write(bench::json_text(report));
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

Measuring::Measuring(std::string command, const MeasuringOptions& options, bool whole)
    : command_(std::move(command)), options_(options) {
  if (options.resume && options.json.empty())
    throw Error(Exit::usage, command_ + ": --resume needs the file to continue: add --json FILE");
  if (whole) return;
  shard_ = bench::chosen_shard(options.shard);
  bench::check_shard_file(options.json, shard_);
}

const simt::DeviceInfo& Measuring::start() {
  if (!options_.json.empty()) file_ = std::make_unique<bench::OutputFile>(options_.json);
  return device_ = choose_measured_device(options_.device);
}

Exit Measuring::finish_empty_shard(const bench::Json& report) {
  bench::finish_empty_shard(file_.get(), report, shard_);
  return Exit::done;
}

void Measuring::complete_and_write(bench::Json& report) {
  bench::add_shard(report, shard_);
  if (!earlier_.empty()) better_ = bench::add_earlier(report, earlier_);
  write_error_ = write_report(file_.get(), report);
}

void Measuring::show(bench::Json report, const Printed& printed) {
  const bench::Json results = report["results"];  // without those of earlier runs
  complete_and_write(report);
  if (options_.format == "json") return fmt::print("{}", bench::json_text(report));
  if (options_.format == "csv") {
    const bench::Table table = bench::table_of_json(results, printed.csv_columns, printed.csv_list);
    return fmt::print("{}", bench::to_csv(table));
  }
  std::vector<bench::Table> tables = printed.tables;
  std::erase_if(tables, [](const bench::Table& table) { return table.columns.empty(); });
  std::vector<std::string>& notes = tables.back().notes;
  notes.push_back(
      fmt::format("device: {}; {}", bench::device_text(device_), bench::version_line()));
  notes.insert(notes.end(), printed.notes.begin(), printed.notes.end());
  bench::print_tables(tables, options_.format);
  if (!printed.closing.empty()) fmt::print("\n{}\n", printed.closing);
}

void Measuring::check(const std::vector<Outcome>& outcomes,
                      const std::optional<Error>& failure) const {
  if (better_ > 0)
    bench::note(fmt::format("{}: {} kept: more runs than measured now", options_.json,
                            bench::plural_text(better_, "earlier result")));
  if (write_error_) throw *write_error_;
  if (failure) throw *failure;
  const auto has = [](bench::Status status) {
    return [status](const Outcome& outcome) { return outcome.status == status; };
  };
  if (const auto failed =
          std::count_if(outcomes.begin(), outcomes.end(), has(bench::Status::failed))) {
    throw Error(Exit::failed,
                fmt::format("{}: {} of {} measurements failed; the reasons are below the table",
                            command_, failed, outcomes.size()));
  }
  if (simt::interrupted()) {
    std::string text = command_ + ": interrupted; the results so far are above";
    if (!options_.json.empty()) {
      text += " and in " + options_.json;
      if (options_.can_resume) text += "; continue with --resume";
    }
    throw Error(Exit::failed, text);
  }
  const auto exhausted =
      std::find_if(outcomes.begin(), outcomes.end(), has(bench::Status::incomplete));
  if (!options_.strict || exhausted == outcomes.end()) return;
  throw Error(Exit::exhausted, fmt::format("{}: {}: {}; use a larger --pool", command_,
                                           exhausted->allocator, exhausted->reason));
}

Exit write_trace(const std::string& path, const std::function<alloc::ProgramTrace()>& record) {
  bench::OutputFile file(path);
  const alloc::ProgramTrace trace = record();
  file.write(alloc::program_trace_file(trace));
  fmt::print("{}\n", bench::recorded_text(path, trace));
  return Exit::done;
}

}  // namespace heapwood::app
