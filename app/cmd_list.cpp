// SPDX-License-Identifier: MIT
// heapwood list: allocators, scenes, graphs and devices, with the reason if a device cannot be
// used.
#include <fmt/format.h>

#include <memory>

#include "app/commands.hpp"
#include "bench/program/version.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "bench/results/result.hpp"
#include "bench/results/table.hpp"
#include "scenes/moving/moving_scene.hpp"
#include "scenes/scene.hpp"
#include "workloads/graph/source.hpp"

namespace heapwood::app {

namespace {

constexpr const char* list_examples = R"(Examples:
  heapwood list
  heapwood list devices         with the reason if unusable
  heapwood list allocators ouroboros-c-s    and its settings
  heapwood list scenes --json)";

struct ListOptions {
  std::string what, id;
  bool json = false;
  bool wants(const char* section) const { return what.empty() || what == section; }
};

struct Kernel {
  const registry::RegisteredAllocator* entry;
  std::optional<registry::KernelUse> use;
  std::optional<registry::CallUse> calls, coalesced;
};

// Registers of the build kernel on the first usable GPU; nullopt without one.
std::vector<Kernel> allocators(const std::string& id,
                               const std::vector<simt::DeviceInfo>& devices) {
  const simt::DeviceInfo* gpu = nullptr;
  for (const simt::DeviceInfo& device : devices) {
    if (!gpu && device.usable && device.id.kind == simt::DeviceKind::cuda) gpu = &device;
  }
  std::vector<Kernel> kernels;
  for (const registry::RegisteredAllocator& entry : registry::allocators()) {
    if (!id.empty() && id.substr(0, id.find(':')) != entry.traits->id) continue;
    Kernel kernel{&entry, {}, {}, {}};
    if (gpu && entry.cuda) {
      kernel.use = entry.cuda->kernel_use(gpu->id, kdtree::RefKind::clipped);
      kernel.calls = entry.cuda->call_use(gpu->id, false, alloc::LargeBackend::buddy);
      kernel.coalesced = entry.cuda->call_use(gpu->id, true, alloc::LargeBackend::buddy);
    }
    kernels.push_back(kernel);
  }
  return kernels;
}

bench::Table allocator_table(const std::vector<Kernel>& kernels) {
  bench::Table table;
  table.title = "Allocators (--allocator ID, --allocators ID,ID:KEY=VALUE,...)";
  table.columns = {
      {"id", true}, {"name", true}, {"published in", true}, {"frees", true}, {"note", true, true}};
  bool bounds = false;
  for (const Kernel& kernel : kernels) {
    const alloc::AllocatorTraits& traits = *kernel.entry->traits;
    bounds |= traits.lower_bound;
    table.add({traits.id, std::string(traits.label) + (traits.lower_bound ? " *" : ""),
               traits.paper, bench::name(traits.frees), traits.note});
  }
  if (bounds) table.notes.push_back("* lower bound: cannot free, never named the fastest");
  return table;
}

bench::Table setting_table(const registry::RegisteredAllocator& entry) {
  bench::Table table;
  table.title = fmt::format("Settings (--allocator {}:KEY=VALUE,...)", entry.traits->id);
  table.columns = {{"key", true}, {"value", true}, {"default", true}, {"what", true, true}};
  for (const alloc::AllocatorSetting& setting : entry.settings())
    table.add({setting.key, registry::values_text(setting),
               setting.words ? registry::value_text(setting, {}) : "automatic", setting.about});
  return table;
}

// RegEff table 1; no rows without a GPU.
bench::Table register_table(const std::vector<Kernel>& kernels) {
  bench::Table table;
  table.title = "Registers per thread";
  table.columns = {{"id", true}};
  for (const char* group : {"alone", "coalesced"}) {
    for (const char* kernel : {"malloc", "free", "both"})
      table.columns.push_back({kernel, false, false, group});
  }
  table.columns.push_back({"own"});
  table.columns.push_back({"build"});
  for (const Kernel& kernel : kernels) {
    if (!kernel.use) continue;
    std::vector<bench::Cell> cells{kernel.entry->traits->id};
    for (const auto& use : {kernel.calls, kernel.coalesced}) {
      const auto figures = bench::register_figures(use);
      cells.insert(cells.end(), figures.begin(), figures.end());
    }
    const bool has_own = kernel.calls && kernel.calls->own;
    cells.emplace_back(has_own ? std::to_string(kernel.calls->own->registers) : bench::missing);
    cells.emplace_back(std::to_string(kernel.use->registers));
    table.add(std::move(cells));
  }
  table.notes.push_back(
      "malloc, free, both: kernels with one call of each; coalesced: inside the coalescing "
      "adaptor; own: both, through "
      "per-warp state, compiled for 48 warps per multiprocessor; build: the builder's kernel, "
      "clipped refs");
  return table;
}

bench::Table scene_table() {
  bench::Table table;
  table.title = "Scenes (also NAME:TRIANGLES, as in atrium:1m, or an OBJ, PLY or glTF file)";
  table.columns = {{"name", true}, {"triangles"}, {"what", true, true}};
  for (const scenes::Procedural& scene : scenes::procedural_scenes()) {
    table.add({scene.name, bench::compact_text(scene.default_triangles), scene.description});
  }
  return table;
}

bench::Table moving_scene_table() {
  bench::Table table;
  table.title = "Moving scenes (heapwood animate; also NAME:TRIANGLES, frame_###.obj)";
  table.columns = {{"name", true}, {"triangles"}, {"frames"}, {"what", true, true}};
  for (const scenes::Procedural& scene : scenes::moving_scenes()) {
    table.add({scene.name, bench::compact_text(scene.default_triangles),
               std::to_string(scenes::procedural_frames), scene.description});
  }
  return table;
}

bench::Table graph_table() {
  bench::Table table;
  table.title = "Graphs (heapwood graph NAME:ARGUMENTS)";
  table.columns = {{"name", true}, {"arguments", true}, {"example", true}, {"what", true, true}};
  for (const workloads::graph::GeneratorInfo& kind : workloads::graph::generators())
    table.add({kind.id, kind.arguments, kind.example, kind.description});
  return table;
}

bench::Table device_table(const std::vector<simt::DeviceInfo>& devices) {
  bench::Table table;
  table.title = "Devices (--device ID)";
  table.columns = {{"id", true}, {"units"}, {"memory"}, {"usable", true}, {"name", true, true}};
  for (const simt::DeviceInfo& device : devices) {
    std::string text = device.name;
    if (!device.driver.empty()) text += ", " + device.driver;
    if (!device.usable) text += ": " + device.reason;
    table.add({device.key,
               device.multiprocessors ? std::to_string(device.multiprocessors) : bench::missing,
               device.memory_bytes ? bench::bytes_text(device.memory_bytes) : bench::missing,
               device.usable ? "yes" : "no", text});
  }
  return table;
}

bench::Json list_json(const ListOptions& options, const std::vector<simt::DeviceInfo>& devices) {
  bench::Json json;
  json["schema"] = "heapwood.list/1";
  json["version"] = bench::version();
  if (options.wants("allocators")) {
    json["allocators"] = bench::Json::array();
    for (const Kernel& kernel : allocators(options.id, devices)) {
      const alloc::AllocatorTraits& traits = *kernel.entry->traits;
      bench::Json one{{"id", traits.id},
                      {"label", traits.label},
                      {"paper", traits.paper},
                      {"note", traits.note}};
      one["frees"] = bench::name(traits.frees);
      one["lower_bound"] = traits.lower_bound;
      one["keeps_live_memory"] = traits.keeps_live_memory;
      one["cuda"] = kernel.entry->cuda != nullptr;
      for (const alloc::AllocatorSetting& setting : kernel.entry->settings()) {
        one["settings"].push_back({{"key", setting.key},
                                   {"values", registry::values_text(setting)},
                                   {"about", setting.about}});
        if (setting.words) one["settings"].back()["default"] = registry::value_text(setting, {});
      }
      if (kernel.use) one["registers"] = kernel.use->registers;
      if (kernel.calls) one["calls"] = bench::to_json(*kernel.calls);
      if (kernel.coalesced) one["calls_coalesced"] = bench::to_json(*kernel.coalesced);
      json["allocators"].push_back(one);
    }
  }
  if (options.wants("scenes")) {
    json["scenes"] = bench::Json::array();
    for (const scenes::Procedural& scene : scenes::procedural_scenes()) {
      json["scenes"].push_back({{"name", scene.name},
                                {"description", scene.description},
                                {"default_triangles", scene.default_triangles}});
    }
  }
  if (options.wants("scenes")) {
    json["moving_scenes"] = bench::Json::array();
    for (const scenes::Procedural& scene : scenes::moving_scenes()) {
      json["moving_scenes"].push_back({{"name", scene.name},
                                       {"description", scene.description},
                                       {"default_triangles", scene.default_triangles},
                                       {"frames", scenes::procedural_frames}});
    }
  }
  if (options.wants("graphs")) {
    json["graphs"] = bench::Json::array();
    for (const workloads::graph::GeneratorInfo& kind : workloads::graph::generators()) {
      json["graphs"].push_back({{"name", kind.id},
                                {"arguments", kind.arguments},
                                {"description", kind.description},
                                {"stands_for", kind.stands_for},
                                {"example", kind.example}});
    }
  }
  if (options.wants("devices")) {
    json["devices"] = bench::Json::array();
    for (const simt::DeviceInfo& device : devices) {
      bench::Json one = bench::to_json(device);
      one["usable"] = device.usable;
      if (!device.usable) one["reason"] = device.reason;
      json["devices"].push_back(one);
    }
  }
  return json;
}

Exit list(const ListOptions& options) {
  if (!options.id.empty()) {
    if (options.what != "allocators")
      throw Error(Exit::usage, "list: only allocators have an ID: heapwood list allocators ID");
    bench::find_allocator(options.id);
  }
  const std::vector<simt::DeviceInfo> devices = simt::list_devices();
  if (options.json) {
    fmt::print("{}", bench::json_text(list_json(options, devices)));
    return Exit::done;
  }
  std::vector<bench::Table> tables;
  if (options.wants("allocators")) {
    const std::vector<Kernel> kernels = allocators(options.id, devices);
    tables.push_back(allocator_table(kernels));
    if (!options.id.empty() && !kernels.front().entry->settings().empty())
      tables.push_back(setting_table(*kernels.front().entry));
    if (bench::Table registers = register_table(kernels); !registers.rows.empty())
      tables.push_back(std::move(registers));
  }
  if (options.wants("scenes")) {
    tables.push_back(scene_table());
    tables.push_back(moving_scene_table());
  }
  if (options.wants("graphs")) tables.push_back(graph_table());
  if (options.wants("devices")) tables.push_back(device_table(devices));
  for (std::size_t i = 0; i < tables.size(); ++i)
    fmt::print("{}{}", i ? "\n" : "", bench::to_text(tables[i], bench::terminal_style()));
  return Exit::done;
}

}  // namespace

void add_list(bench::Program& program, Invocation& invocation) {
  auto options = std::make_shared<ListOptions>();
  bench::CommandOptions command(program, "list", "list allocators, scenes, graphs and devices",
                                list_examples);
  command.choice("what", options->what, "allocators, scenes, graphs or devices; default: all",
                 {"allocators", "scenes", "graphs", "devices"}, " ");
  command.text("id", options->id, "allocators: only this one, with its settings", "");
  command.flag("--json", options->json, "write JSON");
  command.when_chosen(
      [options, &invocation] { invocation.action = [options] { return list(*options); }; });
}

}  // namespace heapwood::app
