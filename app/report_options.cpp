// SPDX-License-Identifier: MIT
#include "app/report_options.hpp"

#include <fmt/format.h>

#include "bench/program/messages.hpp"
#include "bench/program/options.hpp"

namespace heapwood::app {

void add_allocators_option(bench::CommandOptions& command, std::string& allocators) {
  command.text("--allocators", allocators,
               "all, or ids separated by commas; with settings:\nscatter:page=64K (heapwood list "
               "allocators ID)",
               "IDS");
}

void add_allocator_option(bench::CommandOptions& command, std::string& allocator) {
  command.text("--allocator", allocator, "allocator id (heapwood list allocators)", "ID");
}

void add_format_option(bench::CommandOptions& command, std::string& format, const char* what) {
  command.choice("--format", format, what, {"table", "markdown", "csv", "json"}, "FORMAT");
}

void add_json_option(bench::CommandOptions& command, std::string& json) {
  command.text("--json", json, "write all measurements, including raw samples", "FILE");
}

void add_report_options(bench::CommandOptions& command, const char* line, std::string& format,
                        std::string& json) {
  add_format_option(command, format,
                    fmt::format("table, markdown, csv (one line per {}), json", line).c_str());
  add_json_option(command, json);
}

void add_resume_option(bench::CommandOptions& command, bool& resume) {
  command.flag("--resume", resume, "reuse results in FILE measured with the same settings");
}

void note_better(const std::string& file, std::size_t earlier) {
  if (earlier == 0) return;
  bench::note(fmt::format("{}: {} earlier result{} kept: more runs than measured now", file,
                          earlier, earlier == 1 ? "" : "s"));
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

}  // namespace heapwood::app
