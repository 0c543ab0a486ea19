// SPDX-License-Identifier: MIT
// One function per command, which declares its options. If the command is chosen, the function's
// callback sets the files and the action.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/program/command_files.hpp"
#include "bench/program/command_options.hpp"
#include "bench/program/options.hpp"
#include "simt/error.hpp"

namespace heapwood::app {

using namespace bench;

struct Invocation {
  std::vector<std::string> argv;
  HostMemoryOptions host;
  // Both are set by the chosen command's callback.
  CommandFiles files;
  std::function<Exit()> action;
};

void add_list(Program& program, Invocation& invocation);
void add_build(Program& program, Invocation& invocation);
void add_bench(Program& program, Invocation& invocation);
void add_stress(Program& program, Invocation& invocation);
void add_graph(Program& program, Invocation& invocation);
void add_strings(Program& program, Invocation& invocation);
void add_particles(Program& program, Invocation& invocation);
void add_replay(Program& program, Invocation& invocation);
void add_reproduce(Program& program, Invocation& invocation);
void add_animate(Program& program, Invocation& invocation);
void add_render(Program& program, Invocation& invocation);
void add_trace(Program& program, Invocation& invocation);
void add_host_bench(Program& program, Invocation& invocation);
void add_compare(Program& program, Invocation& invocation);
void add_merge(Program& program, Invocation& invocation);

// Runs the program and returns the exit code (simt/error.hpp). Ctrl-C and SIGTERM make running
// launches stop; a second signal ends the process.
int run(int argc, char** argv);

// For tests: reads the command line and ends before the command's action. Returns the exit code.
int check(int argc, char** argv);

}  // namespace heapwood::app
