// SPDX-License-Identifier: MIT
#include "bench/program/host_memory.hpp"

#include <memory>

#include "bench/program/options.hpp"
#include "bench/program/output_file.hpp"
#include "host_alloc/host_memory.hpp"

namespace heapwood::bench {

std::string level_allocator(const HostMemoryOptions& options) {
  return options.allocator == "auto" ? "tlsf" : options.allocator;
}

void add_host_memory_options(CommandOptions& command, HostMemoryOptions& options) {
  std::vector<std::string> ids{"auto"};
  for (const host_alloc::HostAllocatorInfo& info : host_alloc::host_allocators())
    ids.emplace_back(info.id);
  command.choice("--host-allocator", options.allocator,
                 "allocator of device buffers and per-level builds:\nauto (the platform's own; "
                 "tlsf for builds),\nsegfit, tlsf, bitmask, hybrid, cudamalloc,\ncudamallocasync, "
                 "mmap",
                 ids, "ID");
  command.text("--host-trace", options.trace,
               "record requests for device buffers (host-bench --trace)", "FILE");
}

Exit with_host_memory(const HostMemoryOptions& options, const std::function<Exit()>& action) {
  std::unique_ptr<OutputFile> file;
  if (!options.trace.empty()) file = std::make_unique<OutputFile>(options.trace);
  host_alloc::HostMemory memory(options.allocator, file != nullptr);
  const auto store_trace = [&] {
    if (file) file->write(host_alloc::host_trace_text(memory.trace()));
  };
  Exit exit = Exit::failed;
  try {
    exit = action();
  } catch (const std::exception&) {
    // The action's error is reported, not one of the trace.
    try {
      store_trace();
    } catch (const std::exception&) {
    }
    throw;
  }
  store_trace();
#ifndef NDEBUG
  for (const std::string& leak : memory.leaks())
    throw Error(Exit::failed, "device memory: " + leak);
#endif
  return exit;
}

}  // namespace heapwood::bench
