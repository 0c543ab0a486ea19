// SPDX-License-Identifier: MIT
#include "app/report_options.hpp"

#include <CLI/CLI.hpp>

#include "bench/program/messages.hpp"
#include "bench/program/options.hpp"

namespace heapwood::app {

void add_allocators_option(CLI::App& command, std::string& allocators) {
  command
      .add_option("--allocators", allocators,
                  "all, or ids separated by commas; with settings:\nscatter:page=64K (heapwood "
                  "list allocators ID)")
      ->capture_default_str()
      ->type_name("IDS");
}

void add_report_options(CLI::App& command, const char* line, std::string& format,
                        std::string& json) {
  command
      .add_option("--format", format,
                  fmt::format("table, markdown, csv (one line per {}), json", line))
      ->capture_default_str()
      ->check(bench::quiet(CLI::IsMember({"table", "markdown", "csv", "json"})))
      ->type_name("FORMAT");
  command.add_option("--json", json, "write all measurements, including raw samples")
      ->type_name("FILE");
}

void add_resume_option(CLI::App& command, bool& resume) {
  command.add_flag("--resume", resume, "reuse results in FILE measured with the same settings");
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
