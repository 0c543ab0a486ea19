// SPDX-License-Identifier: MIT
#include "app/measuring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "alloc/recording/trace_file.hpp"
#include "bench/earlier_results.hpp"
#include "bench/program/process.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_fields.hpp"
#include "simt/launch.hpp"
#include "simt/nvml.hpp"

namespace heapwood::app {

void add_allocators(CommandOptions& command, std::string& allocators) {
  command.text("--allocators", allocators,
               "all, or ids separated by commas; with settings:\nscatter:page=64K (heapwood list "
               "allocators ID)",
               "IDS");
}

void add_allocator(CommandOptions& command, std::string& allocator) {
  command.text("--allocator", allocator, "allocator id (heapwood list allocators)", "ID");
}

void add_format(CommandOptions& command, std::string& format, const std::string& what) {
  command.choice("--format", format, what, {"table", "markdown", "csv", "json"}, "FORMAT");
}

void add_json(CommandOptions& command, std::string& json) {
  command.text("--json", json, "write all measurements, including raw samples", "FILE");
}

void add_measured_device(CommandOptions& command, DeviceOptions& options) {
  add_device_options(command, options);
  command.flag("--wait-for-gpu", options.waits, "wait while another heapwood measures on the GPU");
}

void add_report(CommandOptions& command, MeasuringOptions& to, const char* line) {
  add_format(command, to.format, fmt::format("table, markdown, csv (one line per {}), json", line));
  add_json(command, to.json);
}

void add_resume(CommandOptions& command, MeasuringOptions& to) {
  command.flag("--resume", to.resume, "reuse results in FILE measured with the same settings");
  to.can_resume = true;
}

void add_shard_and_device(CommandOptions& command, MeasuringOptions& to) {
  add_shard_option(command, to.shard);
  add_measured_device(command, to.device);
}

simt::DeviceInfo choose_measured_device(const DeviceOptions& options,
                                        const Allocators& allocators) {
  const simt::DeviceInfo device = choose_device(options, allocators, CpuNote::when_work_starts);
  const char* shares = std::getenv("HEAPWOOD_SHARE_GPU");
  if (device.id.kind == simt::DeviceKind::cuda && (!shares || !*shares)) {
    const std::string uuid = simt::gpu_address(device.id.index).uuid;
    static std::optional<ProcessLock> lock;  // held until the process ends
    lock.reset();
    lock.emplace(lock_gpu(
        device.key, uuid.empty() ? "cuda-" + std::to_string(device.id.index) : uuid_hash(uuid),
        options.waits));
  }
  begin_device_record(device);
  return device;
}

void require_scene(const std::string& command, const std::string& scene,
                   const std::string& example) {
  if (scene.empty())
    throw_error(Exit::usage,
                "{0}: no scene given: try 'heapwood {0} {1}', or name an OBJ, PLY or "
                "glTF file; see 'heapwood list scenes'",
                command, example);
}

std::unique_ptr<OutputFile> open_output(const std::string& path) {
  return path.empty() ? nullptr : std::make_unique<OutputFile>(path);
}

std::optional<Error> write_report(OutputFile* file, const Json& report) {
  if (file == nullptr) return std::nullopt;
  try {
    file->write(json_text(report));
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
  shard_ = chosen_shard(options.shard);
  check_shard_file(options.json, shard_);
}

const simt::DeviceInfo& Measuring::start(const Allocators& allocators) {
  file_ = open_output(options_.json);
  return device_ = choose_measured_device(options_.device, allocators);
}

Exit Measuring::finish_empty_shard(Json report) {
  add_shard(report, shard_);
  if (file_) file_->write(json_text(report));
  note("shard {}: nothing to measure: there are fewer cases than shards", shard_text(shard_));
  return Exit::done;
}

void Measuring::complete_and_write(Json& report) {
  add_shard(report, shard_);
  if (!earlier_.empty()) better_ = add_earlier(report, earlier_);
  write_error_ = write_report(file_.get(), report);
}

void Measuring::show(Json report, const Printed& printed) {
  const Json results = report["results"];  // results of this run only
  complete_and_write(report);
  if (options_.format == "json") return fmt::print("{}", json_text(report));
  if (options_.format == "csv") {
    const Table table = table_of_json(results, printed.csv_columns, printed.csv_list);
    return fmt::print("{}", to_csv(table));
  }
  std::vector<Table> tables = printed.tables;
  std::erase_if(tables, [](const Table& table) { return table.columns.empty(); });
  std::vector<std::string>& notes = tables.back().notes;
  notes.push_back(fmt::format("device: {}; {}", device_text(device_), version_line()));
  notes.insert(notes.end(), printed.notes.begin(), printed.notes.end());
  print_tables(tables, options_.format);
  if (!printed.closing.empty()) fmt::print("\n{}\n", printed.closing);
}

void Measuring::check(const std::vector<Outcome>& outcomes,
                      const std::optional<Error>& failure) const {
  if (better_ > 0)
    note("{}: kept {} with more runs than the new ones", options_.json,
         plural_text(better_, "earlier result"));
  if (write_error_) throw *write_error_;
  if (failure) throw *failure;
  const auto has = [](Status status) {
    return [status](const Outcome& outcome) { return outcome.status == status; };
  };
  if (const auto failed = std::ranges::count_if(outcomes, has(Status::failed))) {
    throw_error(Exit::failed, "{}: {} of {} measurements failed; the reasons are below the table",
                command_, failed, outcomes.size());
  }
  if (simt::interrupted()) {
    std::string text = command_ + ": interrupted; the results so far are above";
    if (!options_.json.empty()) {
      text += " and in " + options_.json;
      if (options_.can_resume) text += "; continue with --resume";
    }
    throw Error(Exit::failed, text);
  }
  const auto exhausted = std::ranges::find_if(outcomes, has(Status::incomplete));
  if (!options_.strict || exhausted == outcomes.end()) return;
  throw_error(Exit::exhausted, "{}: {}: {}; use a larger --pool", command_, exhausted->allocator,
              exhausted->reason);
}

Exit write_trace(const std::string& path, const std::function<alloc::ProgramTrace()>& record) {
  OutputFile file(path);
  const alloc::ProgramTrace trace = record();
  file.write(alloc::program_trace_file(trace));
  const std::size_t kernels = trace.kernel_ends.size();
  fmt::print("{}: {} and {} in {} kernel{}", path, plural_text(trace.requests, "request"),
             plural_text(trace.events.size() - trace.requests, "free"), kernels,
             kernels == 1 ? "" : "s");
  if (trace.dropped != 0)
    fmt::print("; {} events did not fit into the buffer", count_text(trace.dropped));
  if (trace.refused != 0)
    fmt::print("; {} {} refused", plural_text(trace.refused, "request"),
               trace.refused == 1 ? "was" : "were");
  fmt::print("\n");
  return Exit::done;
}

void warn_of_large_leaf(const std::string& scene, std::uint32_t largest_leaf) {
  if (largest_leaf <= 1000) return;
  warning(
      "{}: the largest leaf has {} refs: no split plane lowers its cost, or the tree has "
      "reached its limit of refs; rays that reach it are slow",
      scene, count_text(largest_leaf));
}

}  // namespace heapwood::app
