// SPDX-License-Identifier: MIT
// One function per command: declares its options and, if the command is chosen, sets its files and
// its action.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/program/command_files.hpp"
#include "bench/program/command_options.hpp"
#include "bench/program/host_memory.hpp"
#include "simt/error.hpp"

namespace heapwood::app {

struct Invocation {
  std::vector<std::string> argv;
  bench::HostMemoryOptions host;
  // Set by the chosen command's callback.
  bench::CommandFiles files;
  std::function<Exit()> action;
};

void add_list(bench::Program& program, Invocation& invocation);
void add_build(bench::Program& program, Invocation& invocation);
void add_bench(bench::Program& program, Invocation& invocation);
void add_stress(bench::Program& program, Invocation& invocation);
void add_graph(bench::Program& program, Invocation& invocation);
void add_replay(bench::Program& program, Invocation& invocation);
void add_reproduce(bench::Program& program, Invocation& invocation);
void add_animate(bench::Program& program, Invocation& invocation);
void add_render(bench::Program& program, Invocation& invocation);
void add_trace(bench::Program& program, Invocation& invocation);
void add_host_bench(bench::Program& program, Invocation& invocation);
void add_compare(bench::Program& program, Invocation& invocation);
void add_merge(bench::Program& program, Invocation& invocation);

}  // namespace heapwood::app
