// SPDX-License-Identifier: MIT
// The command list: allocators, scenes, graphs and devices, and why a device cannot be used.
#include <memory>

#include "app/commands.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/options.hpp"
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
  const Allocator* entry;
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
  for (const Allocator& entry : registry::allocators()) {
    if (!id.empty() && id.substr(0, id.find(':')) != entry.traits->id) continue;
    Kernel kernel{&entry, {}, {}, {}};
    if (gpu && entry.cuda) {
      kernel.use = entry.cuda->kernel_use(gpu->id, kdtree::RefKind::clipped);
      kernel.calls = entry.cuda->call_use(gpu->id, false, alloc::LargeBackend::buddy);
      if (alloc::has_coalesced_form(*entry.traits))
        kernel.coalesced = entry.cuda->call_use(gpu->id, true, alloc::LargeBackend::buddy);
    }
    kernels.push_back(kernel);
  }
  return kernels;
}

Table setting_table(const Allocator& entry) {
  Table table;
  table.title = fmt::format("Settings (--allocator {}:KEY=VALUE,...)", entry.traits->id);
  table.columns = columns_of("key<; value<; default<; what~");
  for (const alloc::AllocatorSetting& setting : entry.settings())
    table.add({setting.key, registry::values_text(setting),
               setting.words ? registry::value_text(setting, {}) : "automatic", setting.about});
  return table;
}

// RegEff table 1; no rows without a GPU.
Table register_table(const std::vector<Kernel>& kernels) {
  Table table;
  table.title = "Registers per thread";
  table.columns =
      columns_of("id<; alone: malloc, free, both; coalesced: malloc, free, both; own; build");
  for (const Kernel& kernel : kernels) {
    if (!kernel.use) continue;
    std::vector<Cell> cells{kernel.entry->traits->id};
    for (const auto& use : {kernel.calls, kernel.coalesced}) {
      const auto figures = register_figures(use);
      cells.insert(cells.end(), figures.begin(), figures.end());
    }
    const bool has_own = kernel.calls && kernel.calls->own;
    append(cells, has_own ? std::to_string(kernel.calls->own->registers) : missing,
           std::to_string(kernel.use->registers));
    table.add(std::move(cells));
  }
  table.notes.push_back(
      "malloc, free, both: kernels with one call of each; coalesced: inside the coalescing "
      "adaptor; own: both, through per-warp state, compiled for 48 warps per multiprocessor; "
      "build: the builder's kernel, clipped refs");
  return table;
}

// A section of the list, as text and as JSON.
struct Listing {
  Json json;
  std::vector<Table> tables;

  Table& add(const char* title, const char* columns) {
    Table& table = tables.emplace_back();
    table.title = title;
    table.columns = columns_of(columns);
    return table;
  }
};

void list_allocators(Listing& listing, const std::string& id,
                     const std::vector<simt::DeviceInfo>& devices) {
  const std::vector<Kernel> kernels = allocators(id, devices);
  Table& table = listing.add("Allocators (--allocator ID, --allocators ID,ID:KEY=VALUE,...)",
                             "id<; name<; published in<; frees<; note~");
  bool bounds = false;
  Json& all = listing.json["allocators"] = Json::array();
  for (const Kernel& kernel : kernels) {
    const alloc::AllocatorTraits& traits = *kernel.entry->traits;
    bounds |= traits.lower_bound;
    table.add({traits.id, std::string(traits.label) + (traits.lower_bound ? " *" : ""),
               traits.paper, name(traits.frees), traits.note});
    Json& one = all.push_back({{"id", traits.id},
                               {"label", traits.label},
                               {"paper", traits.paper},
                               {"note", traits.note},
                               {"frees", name(traits.frees)},
                               {"lower_bound", traits.lower_bound},
                               {"keeps_live_memory", traits.keeps_live_memory},
                               {"cuda", kernel.entry->cuda != nullptr}});
    for (const alloc::AllocatorSetting& setting : kernel.entry->settings()) {
      Json& about = one["settings"].push_back({{"key", setting.key},
                                               {"values", registry::values_text(setting)},
                                               {"about", setting.about}});
      if (setting.words) about["default"] = registry::value_text(setting, {});
    }
    if (kernel.use) one["registers"] = kernel.use->registers;
    if (kernel.calls) one["calls"] = described(*kernel.calls);
    if (kernel.coalesced) one["calls_coalesced"] = described(*kernel.coalesced);
  }
  if (bounds) table.notes.push_back("* lower bound: cannot free, never named the fastest");
  if (!id.empty() && !kernels.front().entry->settings().empty())
    listing.tables.push_back(setting_table(*kernels.front().entry));
  if (Table registers = register_table(kernels); !registers.rows.empty())
    listing.tables.push_back(std::move(registers));
}

void list_scenes(Listing& listing) {
  Table& still =
      listing.add("Scenes (also NAME:TRIANGLES, as in atrium:1m, or an OBJ, PLY or glTF file)",
                  "name<; triangles; what~");
  for (const scenes::Procedural& scene : scenes::procedural_scenes()) {
    still.add({scene.name, compact_text(scene.default_triangles), scene.description});
    listing.json["scenes"].push_back({{"name", scene.name},
                                      {"description", scene.description},
                                      {"default_triangles", scene.default_triangles}});
  }
  Table& moving =
      listing.add("Moving scenes (heapwood animate; also NAME:TRIANGLES, frame_###.obj)",
                  "name<; triangles; frames; what~");
  for (const scenes::Procedural& scene : scenes::moving_scenes()) {
    moving.add({scene.name, compact_text(scene.default_triangles),
                std::to_string(scenes::procedural_frames), scene.description});
    listing.json["moving_scenes"].push_back({{"name", scene.name},
                                             {"description", scene.description},
                                             {"default_triangles", scene.default_triangles},
                                             {"frames", scenes::procedural_frames}});
  }
}

void list_graphs(Listing& listing) {
  Table& table =
      listing.add("Graphs (heapwood graph NAME:ARGUMENTS)", "name<; arguments<; example<; what~");
  for (const workloads::graph::GeneratorInfo& kind : workloads::graph::generators()) {
    table.add({kind.id, kind.arguments, kind.example, kind.description});
    listing.json["graphs"].push_back({{"name", kind.id},
                                      {"arguments", kind.arguments},
                                      {"description", kind.description},
                                      {"stands_for", kind.stands_for},
                                      {"example", kind.example}});
  }
}

void list_devices(Listing& listing, const std::vector<simt::DeviceInfo>& devices) {
  Table& table = listing.add("Devices (--device ID)", "id<; units; memory; usable<; name~");
  for (const simt::DeviceInfo& device : devices) {
    std::string text = device.name;
    if (!device.driver.empty()) text += ", " + device.driver;
    if (!device.usable) text += ": " + device.reason;
    table.add({device.key,
               device.multiprocessors ? std::to_string(device.multiprocessors) : missing,
               device.memory_bytes ? bytes_text(device.memory_bytes) : missing,
               device.usable ? "yes" : "no", text});
    Json& one = listing.json["devices"].push_back(to_json(device));
    one["usable"] = device.usable;
    if (!device.usable) one["reason"] = device.reason;
  }
}

Exit list(const ListOptions& options) {
  if (!options.id.empty()) {
    if (options.what != "allocators")
      throw Error(Exit::usage,
                  "list: an ID can follow allocators only: heapwood list allocators ID");
    find_allocator(options.id);
  }
  const std::vector<simt::DeviceInfo> devices = simt::list_devices();
  Listing listing{{{"schema", "heapwood.list/1"}, {"version", version()}}, {}};
  if (options.wants("allocators")) list_allocators(listing, options.id, devices);
  if (options.wants("scenes")) list_scenes(listing);
  if (options.wants("graphs")) list_graphs(listing);
  if (options.wants("devices")) list_devices(listing, devices);
  if (options.json)
    fmt::print("{}", json_text(listing.json));
  else
    print_tables(listing.tables);
  return Exit::done;
}

}  // namespace

void add_list(Program& program, Invocation& invocation) {
  auto options = std::make_shared<ListOptions>();
  CommandOptions command(program, "list", "list allocators, scenes, graphs and devices",
                         list_examples);
  command.choice("what", options->what, "allocators, scenes, graphs or devices; default: all",
                 {"allocators", "scenes", "graphs", "devices"}, " ");
  command.text("id", options->id, "allocators: only this one, with its settings", "");
  command.flag("--json", options->json, "write JSON");
  command.when_chosen(
      [options, &invocation] { invocation.action = [options] { return list(*options); }; });
}

}  // namespace heapwood::app
