// SPDX-License-Identifier: MIT
#include "bench/program/options.hpp"

#include <algorithm>
#include <memory>

#include "bench/program/command_files.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "host_alloc/host_memory.hpp"
#include "simt/memory.hpp"

namespace heapwood::bench {

void add_device_options(CommandOptions& command, DeviceOptions& options) {
  const auto parse = [&options](const std::string& text) {
    if (text == "cuda:all")
      throw Error(Exit::usage,
                  "--device cuda:all: start one process per GPU with --device cuda:N --shard I/N, "
                  "then 'heapwood merge' their files (docs/sweeps.md)");
    options.device = text;
  };
  command.parsed("--device", parse, "auto (first usable GPU, else CPU), cuda[:N], cpu", "DEVICE",
                 options.device);
  command.number("--threads", options.threads, "CPU threads; 0 = all", {0, 4096});
}

void add_watertight_option(CommandOptions& command, bool& watertight) {
  command.flag("--watertight", watertight, "slower intersection test without gaps at edges");
}

void add_size_option(CommandOptions& command, ImageSize& size, const char* what) {
  command.parsed(
      "--size", [&size](const std::string& text) { size = parse_image_size(text); }, what, "WxH",
      fmt::format("{}x{}", size.width, size.height));
}

void add_build_options(CommandOptions& command, BuildSettings& settings, bool with_runs,
                       std::vector<PoolSize>* pools) {
  command.parsed(
      "--refs", [&](const std::string& text) { settings.refs = parse_refs(text); },
      "refs of nodes: clipped (32 B), ids (4 B, as in the\npapers), boxes (4 B, not clipped)",
      "KIND", "clipped");
  const auto set_pools = [&settings, pools](const std::string& text) {
    if (pools) *pools = parse_pools(text);
    settings.pool = pools ? pools->front() : parse_pool(text);
  };
  command.parsed(
      "--pool", set_pools,
      std::string("memory for the allocator: auto (about what a build\nneeds), fast "
                  "(also what allocators cache per warp),\nboth enlarged until the "
                  "build completes; 512M, 2G;\n200x: 200 times 4 bytes per triangle (the "
                  "papers);\nlive:4: 4 times the peak bytes in use") +
          (pools ? ";\nseveral separated by commas: slowdown over the pool" : ""),
      pools ? "LIST" : "SIZE", "fast");
  if (with_runs) command.number("--runs", settings.runs, "timed builds per allocator", {1, 100000});
  // Parsed before the costs, so that a cost overrides the preset whatever their order.
  const auto set_costs = [&](const std::string& text) {
    settings.prefer = &parse_prefer(text);
    settings.costs = settings.prefer->costs;
  };
  command.parsed("--prefer", set_costs,
                 "SAH costs: build = faster builds, trace = faster\nrays, update = fastest builds, "
                 "slower rays",
                 "WHAT", settings.prefer->name);
  kdtree::SahCosts& costs = settings.costs;
  command.number("--traversal-cost", costs.traversal, "SAH: cost of a traversal step", {0, 1e6},
                 "C");
  command.number("--intersection-cost", costs.intersection, "SAH: cost of a triangle test",
                 {1e-6, 1e6}, "C");
  command.number("--empty-bonus", costs.empty_bonus, "SAH: discount if one side is empty",
                 {0, 0.99}, "B");
  command.number("--duplicate-cost", costs.duplicate, "SAH: cost of each ref added by a split",
                 {0, 1e6}, "C");
  command.flag("--keep-degenerate", settings.keep_degenerate, "keep zero-area triangles");
  command.number(
      "--timeout", settings.timeout,
      "time limit of one build, including restarts with\nlarger arrays or pools (exit 1)",
      {0.001, 86400}, "SECONDS");
}

simt::DeviceInfo choose_device(const DeviceOptions& options, const Allocators& allocators,
                               CpuNote when) {
  simt::DeviceInfo device = simt::find_device(options.device, options.threads);
  if (options.device == "auto" && device.id.kind == simt::DeviceKind::cpu) {
    for (const simt::DeviceInfo& other : simt::list_devices()) {
      if (other.usable || other.id.kind != simt::DeviceKind::cuda) continue;
      const std::string text = fmt::format("running on the CPU: no usable GPU: {}", other.reason);
      when == CpuNote::at_once ? note(text) : note_when_work_starts(text);
      break;
    }
  }
  if (options.threads > 0 && device.id.kind == simt::DeviceKind::cuda)
    note("--threads applies to the CPU only; ignored on " + device.key);
  if (std::any_of(allocators.begin(), allocators.end(), [](const Allocator* entry) {
        return !entry->traits->in_pool ||
               entry->options.large_backend == alloc::LargeBackend::builtin;
      }))
    simt::reserve_malloc_heap(device.id, 1);  // the least: 1/16 of the memory
  return device;
}

void add_host_memory_options(CommandOptions& command, HostMemoryOptions& options) {
  std::vector<std::string> ids{"auto"};
  for (const host_alloc::HostAllocatorInfo& info : host_alloc::host_allocators())
    ids.emplace_back(info.id);
  command.choice("--host-allocator", options.allocator,
                 "allocator of device buffers: auto (of the\nplatform), segfit, tlsf, bitmask, "
                 "hybrid, cudamalloc,\ncudamallocasync, mmap",
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
    // If both the action and the trace fail, the action's error is reported.
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

namespace {

const Allocator& find_known(const std::string& name) {
  if (const Allocator* entry = registry::find(name)) return *entry;
  std::vector<std::string> ids;
  for (const Allocator& entry : registry::allocators()) ids.emplace_back(entry.traits->id);
  throw_error(Exit::usage, "unknown allocator '{}': use one of {}", name, joined(ids, " "));
}

void refuse_large(const Allocator& entry) {
  if (entry.options.large_backend != alloc::LargeBackend::buddy)
    throw_error(Exit::usage,
                "{}: only 'heapwood stress' has large=builtin; the published forms of "
                "'heapwood list allocators' have it everywhere",
                entry.traits->id);
}

// Splits a list. An item with '=' that begins with no id is one more setting of the item before.
std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string& item : split(list, ',')) {
    const bool is_setting = !names.empty() && item.find('=') != std::string::npos &&
                            !registry::find(item.substr(0, item.find(':')));
    if (is_setting)
      names.back() += "," + item;
    else
      names.push_back(item);
  }
  return names;
}

}  // namespace

const Allocator& find_allocator(const std::string& name) {
  const Allocator& entry = find_known(name);
  refuse_large(entry);
  return entry;
}

Allocators find_allocators(const std::string& list, bool for_stress) {
  Allocators entries;
  const auto add = [&](const Allocator& entry) {
    if (!for_stress) refuse_large(entry);
    if (std::ranges::find(entries, &entry) == entries.end()) entries.push_back(&entry);
  };
  if (list == "all") {
    for (const Allocator& entry : registry::allocators()) add(entry);
  } else {
    for (const std::string& name : names_of(list)) add(find_known(name));
  }
  return entries;
}

}  // namespace heapwood::bench
