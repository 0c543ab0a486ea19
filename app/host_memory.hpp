// SPDX-License-Identifier: MIT
// --host-allocator and --host-trace: where every command's device buffers come from.
#pragma once

#include <functional>
#include <string>

#include "simt/error.hpp"

namespace CLI {
class App;
}

namespace heapwood::app {

struct HostMemoryOptions {
  std::string allocator = "auto";
  std::string trace;  // a file; empty: none
};

// They may stand before or behind the command.
void add_host_memory_options(CLI::App& app, HostMemoryOptions& options);
// The action with its buffers from that allocator. Writes the trace. A debug build throws where the action left a buffer
// behind.
Exit with_host_memory(const HostMemoryOptions& options, const std::function<Exit()>& action);

}  // namespace heapwood::app
