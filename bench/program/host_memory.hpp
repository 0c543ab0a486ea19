// SPDX-License-Identifier: MIT
// --host-allocator and --host-trace: the source of device buffers in all commands.
#pragma once

#include <functional>
#include <string>

#include "bench/program/command_options.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {

struct HostMemoryOptions {
  std::string allocator = "auto";
  std::string trace;  // a file; empty: none
};

// The host allocator of per-level builds: the requested one, TLSF for "auto".
std::string level_allocator(const HostMemoryOptions& options);

// The options are accepted before and after the command.
void add_host_memory_options(CommandOptions& command, HostMemoryOptions& options);
// Runs the action with buffers from that allocator and writes the trace. A debug build throws if
// the action leaks a buffer.
Exit with_host_memory(const HostMemoryOptions& options, const std::function<Exit()>& action);

}  // namespace heapwood::bench
