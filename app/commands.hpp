// SPDX-License-Identifier: MIT
// One function per command: declares its options and, if the command is chosen, sets its files and
// its action.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/program/command_files.hpp"
#include "bench/program/host_memory.hpp"
#include "simt/error.hpp"

namespace CLI {
class App;
}

namespace heapwood::app {

struct Invocation {
  std::vector<std::string> argv;
  bench::HostMemoryOptions host;
  // Set by the chosen command's callback.
  bench::CommandFiles files;
  std::function<Exit()> action;
};

void add_list(CLI::App& app, Invocation& invocation);
void add_build(CLI::App& app, Invocation& invocation);
void add_bench(CLI::App& app, Invocation& invocation);
void add_stress(CLI::App& app, Invocation& invocation);
void add_graph(CLI::App& app, Invocation& invocation);
void add_replay(CLI::App& app, Invocation& invocation);
void add_reproduce(CLI::App& app, Invocation& invocation);
void add_animate(CLI::App& app, Invocation& invocation);
void add_render(CLI::App& app, Invocation& invocation);
void add_trace(CLI::App& app, Invocation& invocation);
void add_host_bench(CLI::App& app, Invocation& invocation);
void add_compare(CLI::App& app, Invocation& invocation);
void add_merge(CLI::App& app, Invocation& invocation);

}  // namespace heapwood::app
