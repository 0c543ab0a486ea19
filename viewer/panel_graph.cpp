// SPDX-License-Identifier: MIT
// What the Heap tab records: a build of the scene, or updates of a dynamic graph.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"
#include "workloads/graph/generators.hpp"

namespace heapwood::viewer {

namespace {

void choose_graph(State& state) {
  GraphSettings& graph = state.choice.graph;
  ui::field("graph");
  ImGui::InputText("##graph", &graph.graph);
  state.places.note("graph");
  if (ImGui::IsItemHovered()) {
    std::string text = "A generator with a size, or the path of a .mtx, .graph or edge-list file:";
    for (const auto& one : workloads::graph::generators())
      text += fmt::format("\n{}: {}", one.example, one.description);
    ui::hint(text.c_str());
  }
  ui::field("rounds");
  ImGui::SliderInt("##rounds", &graph.rounds, 1, 1000, "%d",
                   ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_AlwaysClamp);
  ui::field("edges");
  ImGui::SliderInt("##batch", &graph.batch, 1, 1000000, "%d per round",
                   ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_AlwaysClamp);
  ui::hint("Each round inserts so many edges and deletes those of the round before.");
  ui::field("updates");
  const char* names[] = {"of all vertices", "of 1,000 vertices"};
  if (ui::begin_combo(state, "##updates", names[graph.pressure])) {
    for (const bool pressure : {false, true}) {
      if (ImGui::Selectable(names[pressure], graph.pressure == pressure)) graph.pressure = pressure;
    }
    ImGui::EndCombo();
  }
  state.places.note("updates");
  ui::hint(
      "Where the edges begin: anywhere, or at few vertices whose blocks then grow and shrink.");
}

}  // namespace

void draw_record_section(State& state) {
  if (!ui::section("Record a build")) return;
  choose_allocator(state);
  choose_pool(state);
  const bool running = state.jobs.progress().running;
  if (ui::button(state, "Heap map", true, !running, ImGui::GetContentRegionAvail().x))
    start_recording(state);
  ui::hint("Builds the tree of this scene once more and records every request (H)");
}

void draw_graph_section(State& state) {
  if (!ui::section("Record a dynamic graph")) return;
  choose_graph(state);
  const bool running = state.jobs.progress().running;
  const char* reason = cannot_update_graphs(*state.choice.allocator->traits);
  if (ui::button(state, "Record graph", true, !running && !reason,
                 ImGui::GetContentRegionAvail().x))
    start_graph_recording(state);
  ui::hint("Each vertex has one block for its edges. The map shows the pool after each round.");
  if (reason)
    ui::wrapped_text(fmt::format("{} {}.", state.choice.allocator->traits->label, reason),
                     colour::warning);
}

}  // namespace heapwood::viewer
