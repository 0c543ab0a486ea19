// SPDX-License-Identifier: MIT
// What the commands have in common: options, and the report's file.
#pragma once

#include <optional>
#include <string>

#include "bench/program/command_options.hpp"
#include "bench/program/output_file.hpp"
#include "bench/results/json_report.hpp"
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

}  // namespace heapwood::app
