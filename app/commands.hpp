// SPDX-License-Identifier: MIT
// One function per command: declares its options and, if the command is chosen, sets its files and
// its action.
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
  // Set by the chosen command's callback.
  CommandFiles files;
  std::function<Exit()> action;
};

void add_list(Program& program, Invocation& invocation);
void add_build(Program& program, Invocation& invocation);
void add_bench(Program& program, Invocation& invocation);
void add_stress(Program& program, Invocation& invocation);
void add_graph(Program& program, Invocation& invocation);
void add_replay(Program& program, Invocation& invocation);
void add_reproduce(Program& program, Invocation& invocation);
void add_animate(Program& program, Invocation& invocation);
void add_render(Program& program, Invocation& invocation);
void add_trace(Program& program, Invocation& invocation);
void add_host_bench(Program& program, Invocation& invocation);
void add_compare(Program& program, Invocation& invocation);
void add_merge(Program& program, Invocation& invocation);

// Returns the exit code (simt/error.hpp). Ctrl-C and SIGTERM make running launches stop; a second
// signal ends the process.
int run(int argc, char** argv);

// Reads the command line and ends before the command's action; for tests. Returns the exit code.
int check(int argc, char** argv);

}  // namespace heapwood::app
