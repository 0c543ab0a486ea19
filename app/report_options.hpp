// SPDX-License-Identifier: MIT
// What the commands that measure allocators have in common: options, the report's file, and the
// exit status.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/program/command_options.hpp"
#include "bench/program/output_file.hpp"
#include "bench/results/json_report.hpp"
#include "simt/control.hpp"
#include "simt/error.hpp"

namespace heapwood::app {

void add_allocators_option(bench::CommandOptions& command, std::string& allocators);
void add_allocator_option(bench::CommandOptions& command, std::string& allocator);
void add_format_option(bench::CommandOptions& command, std::string& format, const char* what);
void add_json_option(bench::CommandOptions& command, std::string& json);
// --format, whose lines of CSV are one per `line`, and --json.
void add_report_options(bench::CommandOptions& command, const char* line, std::string& format,
                        std::string& json);
void add_resume_option(bench::CommandOptions& command, bool& resume);

// After bench::add_earlier() has left this number of earlier results in the file.
void note_better(const std::string& file, std::size_t earlier);

// Writes the report, if there is a file. Returns the error, so that the tables are printed in any
// case.
std::optional<Error> write_report(bench::OutputFile* file, const bench::Json& report);

// Throws Error{Exit::failed} if measurements have failed or were interrupted and, if `strict`,
// Error{Exit::exhausted} if a row has refused requests.
template <class Row>
void check_rows(const std::string& command, const std::vector<Row>& rows, bool strict) {
  const auto failed = std::count_if(
      rows.begin(), rows.end(), [](const Row& row) { return row.status == bench::Status::failed; });
  if (failed != 0) {
    throw Error(Exit::failed,
                fmt::format("{}: {} of {} measurements failed; the reasons are below the table",
                            command, failed, rows.size()));
  }
  if (simt::interrupted())
    throw Error(Exit::failed, command + ": interrupted; the results so far are above");
  if (!strict) return;
  for (const Row& row : rows) {
    if (row.refused == 0) continue;
    throw Error(Exit::exhausted,
                fmt::format("{}: {}: {}; use a larger --pool", command, row.allocator, row.reason));
  }
}

}  // namespace heapwood::app
