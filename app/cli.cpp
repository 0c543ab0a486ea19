// SPDX-License-Identifier: MIT
#include "app/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <new>

#include "app/commands.hpp"
#include "bench/program/allocator_names.hpp"
#include "bench/program/host_memory.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/out_of_memory.hpp"
#include "bench/program/process.hpp"
#include "bench/program/progress.hpp"
#include "bench/program/version.hpp"
#include "bench/results/device_record.hpp"
#include "simt/device.hpp"

namespace heapwood::app {

namespace {

constexpr const char* examples = R"(Examples:
  heapwood list                                 allocators, scenes, devices
  heapwood build atrium                         build one tree: time, quality, memory
  heapwood bench atrium statue --json out.json  all allocators, slowdown table
  heapwood stress ad                            malloc and free without a builder
  heapwood graph uniform:100K:8                 a dynamic graph, every allocator
  heapwood replay program.trace                 recorded requests, every allocator
  heapwood animate statue~                      a moving scene, rebuilt every frame
  heapwood reproduce --out out/reproduce        the papers' tables and figures
  heapwood render stadium -o stadium.png        render a picture
  heapwood trace stadium                        rays per second
  heapwood compare before.json after.json       faster, slower or the same
A scene is a name from 'heapwood list scenes' (also atrium:1m for a million
triangles) or the path of an OBJ, PLY or glTF file. See also 'heapwood COMMAND --help'.

Exit codes: 0 done, 1 failed while running, 2 wrong usage, 3 unreadable file,
4 no such device or one in use, 5 pool exhausted with --strict.)";

void on_signal(int) { simt::interrupt(); }

// At the end of a command, also if it fails: what was measured so far is stored.
struct ThrottlingWarning {
  ThrottlingWarning() = default;
  ThrottlingWarning(const ThrottlingWarning&) = delete;
  ThrottlingWarning& operator=(const ThrottlingWarning&) = delete;
  ~ThrottlingWarning() { bench::warn_if_throttled(); }
};

int fail(Exit exit, const std::string& message) {
  bench::clear_progress_line();
  // Keeps the order of output and error if both streams go to one file.
  std::fflush(stdout);
  bench::write_error(fmt::format("heapwood: error: {}\n", bench::one_line(message)));
  return static_cast<int>(exit);
}

int cannot_print() {
  bench::end_if_pipe_is_broken();
  return fail(Exit::failed, "standard output: cannot write the results; is the disk full?");
}

// The exit code of a program that has printed everything.
int finish(int exit) {
  bench::print_waiting_note();
  return std::fflush(stdout) != 0 || std::ferror(stdout) ? cannot_print() : exit;
}

std::string command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// CLI11's message, in words of the command line where it is not.
std::string usage_text(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (const std::size_t end = text.find(": At Most 1 required"); end != std::string::npos)
    return text.substr(0, end) + " is given more than once";
  // Text that is no number at all is refused by the option's own check: a whole number is expected.
  constexpr std::string_view start = "Could not convert: ";
  const std::size_t equals = text.find(" = ");
  if (text.starts_with(start) && equals != std::string::npos)
    return fmt::format("{}: '{}' is not a whole number",
                       text.substr(start.size(), equals - start.size()), text.substr(equals + 3));
  return text;
}

int usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    std::string problem = usage_text(error);  // about the value of an option
    if (dynamic_cast<const CLI::RequiredError*>(&error)) {
      const std::vector<std::string> unknown = app.remaining();
      if (unknown.empty())
        problem = "no command given: use one of " + command_names(app);
      else if (unknown.front().starts_with('-'))
        problem = fmt::format("unknown option '{}': give a command first", unknown.front());
      else
        problem =
            fmt::format("unknown command '{}': use one of {}", unknown.front(), command_names(app));
    }
    return fail(Exit::usage, problem + "; see 'heapwood --help'");
  }
  const std::string name = chosen.front()->get_name();
  return fail(Exit::usage,
              fmt::format("{}: {}; see 'heapwood {} --help'", name, usage_text(error), name));
}

// The name of an option with the value "" (in a script, an unset variable), or "".
std::string empty_option(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty() && !option->get_positional()) return option->get_name();
    }
  }
  return "";
}

// Without `acts`, ends before the command's action.
int parse_and_run(int argc, char** argv, bool acts) {
  CLI::App app{
      "Heapwood builds k-d trees on the GPU in one kernel, with the memory allocator as a "
      "parameter.",
      "heapwood"};
  app.footer(examples);
  app.get_formatter()->column_width(36);
  app.set_help_flag("-h,--help", "options and examples");
  app.set_version_flag("--version", bench::version_line(), "version and commit");
  app.require_subcommand(1);
  Invocation invocation;
  bench::add_host_memory_options(app, invocation.host);
  bench::add_old_allocator_options(app);
  invocation.argv.assign(argv, argv + argc);
  add_list(app, invocation);
  add_build(app, invocation);
  add_bench(app, invocation);
  add_stress(app, invocation);
  add_graph(app, invocation);
  add_replay(app, invocation);
  add_reproduce(app, invocation);
  add_animate(app, invocation);
  add_render(app, invocation);
  add_trace(app, invocation);
  add_host_bench(app, invocation);
  add_compare(app, invocation);
  add_merge(app, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return finish(app.exit(error));  // --help, --version
    return usage_error(app, error);
  }
  const CLI::App& command = *app.get_subcommands().front();
  for (const CLI::App* options : std::initializer_list<const CLI::App*>{&app, &command}) {
    if (const std::string name = empty_option(*options); !name.empty())
      return fail(Exit::usage, fmt::format("{}: {}: the value is empty; see 'heapwood {} --help'",
                                           command.get_name(), name, command.get_name()));
  }
  invocation.files.writes(invocation.host.trace);
  invocation.files.check();
  if (!acts) return static_cast<int>(Exit::done);
  bench::install_signal_handlers(on_signal);
  const ThrottlingWarning warning;
  return finish(static_cast<int>(bench::with_host_memory(invocation.host, invocation.action)));
}

int run_and_report(int argc, char** argv, bool acts) {
  try {
    return parse_and_run(argc, argv, acts);
  } catch (const Error& error) {
    return fail(error.exit(), error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    // fmt's message does not name the file.
    return std::ferror(stdout) ? cannot_print() : fail(Exit::failed, bench::error_text(error));
  }
}

}  // namespace

int run(int argc, char** argv) {
  bench::hold_standard_streams();
  bench::ignore_write_signals();
  try {
    bench::prepare_for_lack_of_memory();
    return run_and_report(argc, argv, true);
  } catch (const std::bad_alloc&) {  // also of the report
    return bench::out_of_memory();
  }
}

int check(int argc, char** argv) { return run_and_report(argc, argv, false); }

}  // namespace heapwood::app
