// SPDX-License-Identifier: MIT
#include <cstdio>
#include <new>

#include "app/commands.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/options.hpp"
#include "bench/program/process.hpp"
#include "bench/results/json_report.hpp"
#include "simt/device.hpp"

namespace heapwood::app {

namespace {

constexpr const char* examples = R"(Examples:
  heapwood list                                 allocators, scenes, devices
  heapwood build atrium                         build one tree: time, quality, memory
  heapwood bench atrium statue --json out.json  all allocators, slowdown table
  heapwood stress malloc-free                   malloc and free without a builder
  heapwood graph uniform:100K:8                 a dynamic graph, every allocator
  heapwood strings                              strings of a data frame
  heapwood particles                            lists of particles
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

// Warns at the end of a command, even of a failed one, because what was measured is stored.
struct ThrottlingWarning {
  ThrottlingWarning() = default;
  ThrottlingWarning(const ThrottlingWarning&) = delete;
  ThrottlingWarning& operator=(const ThrottlingWarning&) = delete;
  ~ThrottlingWarning() { warn_if_throttled(); }
};

int fail(Exit exit, const std::string& message) {
  clear_progress_line();
  // Flushes standard output first: if both streams go to one file, this keeps the order.
  std::fflush(stdout);
  write_error(fmt::format("heapwood: error: {}\n", one_line(message)));
  return static_cast<int>(exit);
}

int cannot_print() {
  end_if_pipe_is_broken();
  return fail(Exit::failed, "standard output: cannot write the results; is the disk full?");
}

// Prints what is still waiting and returns the exit code of the program.
int finish(int exit) {
  print_waiting_note();
  return std::fflush(stdout) != 0 || std::ferror(stdout) ? cannot_print() : exit;
}

// If not `acts`, ends before the command's action.
int parse_and_run(int argc, char** argv, Commands commands, bool acts) {
  Program program("heapwood",
                  "Heapwood builds k-d trees on the GPU in one kernel, with the memory "
                  "allocator as a parameter.",
                  examples, version_line());
  Invocation invocation;
  add_host_memory_options(program, invocation.host);
  invocation.argv.assign(argv, argv + argc);
  for (const auto add : commands) add(program, invocation);
  if (!program.parse(argc, argv)) return finish(static_cast<int>(Exit::done));
  invocation.files.writes(invocation.host.trace);
  invocation.files.check();
  if (!acts) return static_cast<int>(Exit::done);
  install_signal_handlers(on_signal);
  const ThrottlingWarning warning;
  return finish(static_cast<int>(with_host_memory(invocation.host, invocation.action)));
}

int run_and_report(int argc, char** argv, Commands commands, bool acts) {
  try {
    return parse_and_run(argc, argv, commands, acts);
  } catch (const Error& error) {
    return fail(error.exit(), error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    // A failed write: fmt's message does not name the file.
    return std::ferror(stdout) ? cannot_print() : fail(Exit::failed, error_text(error));
  }
}

}  // namespace

int run(int argc, char** argv, Commands commands) {
  hold_standard_streams();
  ignore_write_signals();
  try {
    prepare_for_lack_of_memory();
    return run_and_report(argc, argv, commands, true);
  } catch (const std::bad_alloc&) {  // also of the message
    return out_of_memory();
  }
}

int check(int argc, char** argv, Commands commands) {
  return run_and_report(argc, argv, commands, false);
}

}  // namespace heapwood::app
