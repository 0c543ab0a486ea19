// SPDX-License-Identifier: MIT
// One function per command, which declares its options. If the command is chosen, the function's
// callback sets the files and the action.
#pragma once

#include <functional>
#include <span>
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

using AddCommand = void(Program& program, Invocation& invocation);
AddCommand add_list, add_build, add_bench, add_stress, add_graph, add_strings, add_particles,
    add_replay, add_reproduce, add_animate, add_render, add_trace, add_host_bench, add_compare,
    add_merge;
inline constexpr AddCommand* all_commands[] = {
    add_list,    add_build,     add_bench,      add_stress,    add_graph,
    add_strings, add_particles, add_replay,     add_reproduce, add_animate,
    add_render,  add_trace,     add_host_bench, add_compare,   add_merge};
using Commands = std::span<AddCommand* const>;

// Runs the program, which has these commands, and returns the exit code (simt/error.hpp). Ctrl-C
// and SIGTERM make running launches stop; a second signal ends the process.
int run(int argc, char** argv, Commands commands = all_commands);

// For tests: reads the command line and ends before the command's action. Returns the exit code.
int check(int argc, char** argv, Commands commands = all_commands);

}  // namespace heapwood::app
