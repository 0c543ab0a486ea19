// SPDX-License-Identifier: MIT
#include "bench/program/options.hpp"

#include <fmt/format.h>

#include "bench/program/messages.hpp"
#include "bench/program/progress.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {

void add_device_options(CommandOptions& command, DeviceOptions& options) {
  const auto parse = [&options](const std::string& text) {
    if (text == "cuda:all")
      throw Error(Exit::usage,
                  "--device cuda:all: start one process per GPU with --device cuda:N --shard I/N, "
                  "then 'heapwood merge' their files (docs/sweeps.md)");
    options.device = text;
  };
  command.parsed("--device", parse, "auto (first usable GPU, else CPU), cuda:N, cpu", "DEVICE",
                 options.device);
  command.number("--threads", options.threads, "CPU threads; 0 = all", {0, 4096});
}

void add_watertight_option(CommandOptions& command, bool& watertight) {
  command.flag("--watertight", watertight,
               "slower intersection without leaks at edges;\nalways for small models in large "
               "scenes");
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
  command.parsed("--pool", set_pools,
                 std::string("memory for the allocator: auto (about what a build\nneeds), fast "
                             "(also what allocators cache per warp),\nboth enlarged until the "
                             "build completes; 512M, 2G;\n200x the root node at 4 bytes/triangle "
                             "(the papers);\nlive:4 times the peak bytes in use") +
                     (pools ? ";\nseveral separated by commas: slowdown over the pool" : ""),
                 pools ? "LIST" : "SIZE", "fast");
  if (with_runs) command.number("--runs", settings.runs, "timed builds per allocator", {1, 100000});
  // Before the costs, so that a cost overrides the preset regardless of its place on the command
  // line.
  const auto set_costs = [&](const std::string& text) {
    settings.prefer = &parse_prefer(text);
    settings.costs = settings.prefer->costs;
  };
  command.parsed("--prefer", set_costs,
                 "SAH cost preset: build = fastest build,\ntrace = fastest rays, balanced = both",
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

void add_builder_option(CommandOptions& command, BuildSettings& settings, bool with_both) {
  command.parsed(
      "--builder",
      [&settings, with_both](const std::string& text) {
        settings.builder = parse_builder(text, with_both);
      },
      std::string("single (one kernel), per-level (one kernel per phase\nand level, memory from "
                  "the host)") +
          (with_both ? ", both" : ""),
      "BUILDER", with_both ? "both" : "single");
}

simt::DeviceInfo choose_device(const DeviceOptions& options, CpuNote when) {
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
  return device;
}

}  // namespace heapwood::bench
