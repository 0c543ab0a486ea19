// SPDX-License-Identifier: MIT
// One function a command: declares its options on the parser and, when the command was chosen, sets what to do.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/host_memory.hpp"
#include "simt/error.hpp"

namespace CLI {
class App;
}

namespace heapwood::app {

struct Invocation {
  std::vector<std::string> argv;
  HostMemoryOptions host;
  std::function<Exit()> action;  // of the command that was given
};

void add_list(CLI::App& app, Invocation& invocation);
void add_build(CLI::App& app, Invocation& invocation);
void add_bench(CLI::App& app, Invocation& invocation);
void add_stress(CLI::App& app, Invocation& invocation);
void add_reproduce(CLI::App& app, Invocation& invocation);
void add_render(CLI::App& app, Invocation& invocation);
void add_trace(CLI::App& app, Invocation& invocation);
void add_host_bench(CLI::App& app, Invocation& invocation);

// One line on standard error: "heapwood: note: ...".
void note(const std::string& text);
void warning(const std::string& text);

}  // namespace heapwood::app
