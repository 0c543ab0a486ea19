// SPDX-License-Identifier: MIT
// What the Heap tab records: a build of the scene, updates of a dynamic graph, the requests of a
// program trace or of a stress test.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>

#include "bench/results/format.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"
#include "workloads/graph/source.hpp"

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
  const std::string edges =
      bench::count_text(static_cast<std::uint64_t>(std::max(graph.batch, 0))) + " per round";
  ImGui::SliderInt("##batch", &graph.batch, 1, 1000000, edges.c_str(),
                   ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_AlwaysClamp);
  ui::hint("Each round inserts this many edges and deletes those of the round before.");
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

using Figure = std::string (*)(const Recording&, const Recording::Point&);
constexpr struct {
  const char *label, *hint;
  Figure figure;
} figures[] = {
    {"in use", "Requested bytes of all blocks",
     [](const Recording&, const Recording::Point& p) { return bench::bytes_text(p.used_bytes); }},
    {"blocks", "Blocks in use; of a graph, one for each vertex that has edges",
     [](const Recording&, const Recording::Point& p) { return bench::count_text(p.pool.blocks); }},
    {"reached", "The highest address of a block so far",
     [](const Recording&, const Recording::Point& p) {
       return bench::bytes_text(p.pool.mark_bytes);
     }},
    {"largest hole", "The largest free region below the highest address reached so far",
     [](const Recording&, const Recording::Point& p) {
       return bench::bytes_text(p.pool.largest_below_bytes);
     }},
    {"external", "1 - largest hole / all holes, below the highest address reached",
     [](const Recording&, const Recording::Point& p) {
       return fmt::format("{:.3f}", p.pool.external_below());
     }},
    {"internal", "Mean of (served - requested) / served over blocks, served estimated",
     [](const Recording&, const Recording::Point& p) {
       return p.internal ? fmt::format("{:.3f}", *p.internal) : std::string(bench::missing);
     }},
    {"refused", "Requests of the whole recording",
     [](const Recording& r, const Recording::Point&) {
       return bench::count_text(r.requests.failures);
     }},
    {"pool", "The same for both allocators",
     [](const Recording& r, const Recording::Point&) { return bench::bytes_text(r.pool_bytes); }}};

}  // namespace

bool draw_moment_section(State& state) {
  const auto& recordings = state.heap.recordings;
  const bool trace = shows_trace(state);
  if (recordings.empty() || (!trace && !recordings.front()->in_rounds())) return false;
  const std::uint32_t time = state.heap.time(*recordings.front());
  if (!ui::section(trace ? "Figures at this event" : "Round")) return true;
  const std::string moment = recorded_name(state) + ", " + recordings.front()->time_text(time);
  state.places.texts["moment"] = moment;
  ui::dim_text(moment);
  const auto maps = static_cast<int>(std::min<std::size_t>(recordings.size(), 2));
  if (!ImGui::BeginTable("figures", maps + 1, ImGuiTableFlags_SizingStretchProp)) return true;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  for (int i = 0; i < maps; ++i) {
    ImGui::TableNextColumn();
    ImGui::TextColored(i == 0 ? colour::accent : colour::second, "%s",
                       recordings[static_cast<std::size_t>(i)]->label.c_str());
  }
  for (const auto& one : figures) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::TextDisabled("%s", one.label);
    ui::hint(one.hint);
    for (int i = 0; i < maps; ++i) {
      const Recording& recording = *recordings[static_cast<std::size_t>(i)];
      ImGui::TableNextColumn();
      ImGui::TextUnformatted(
          one.figure(recording, recording.at(state.heap.time(recording))).c_str());
    }
  }
  ImGui::EndTable();
  return true;
}

void draw_record_section(State& state) {
  if (!ui::section("Record a build")) return;
  choose_allocator(state);
  choose_pool(state);
  if (build_button(state, "Heap map", true, ImGui::GetContentRegionAvail().x,
                   "Builds the tree of this scene once more and records every request (H)"))
    start_recording(state);
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

void draw_trace_section(State& state) {
  if (!ui::section("Open a program trace")) return;
  ui::field("file");
  ImGui::SetNextItemWidth(-ImGui::GetFontSize() * 4);
  std::string& path = state.choice.trace_text;
  const bool entered = ImGui::InputTextWithHint("##trace", "program.trace", &path,
                                                ImGuiInputTextFlags_EnterReturnsTrue);
  state.places.note("trace path");
  ImGui::SameLine();
  const bool pressed =
      ui::button(state, "Open##trace", false, !path.empty(), ImGui::GetContentRegionAvail().x);
  ui::hint(
      "Requests that a program made, recorded by heapwood::recording_heap or --record-trace. The "
      "chosen allocators serve them once more, one at a time.");
  if ((entered || pressed) && !path.empty()) open_trace(state, path);
}

void draw_stress_section(State& state) {
  if (!ui::section("Open a stress test")) return;
  const auto choices = stress_choices();
  std::size_t& chosen = state.choice.stress;
  ui::field("lifetimes");
  ImGui::SetNextItemWidth(-ImGui::GetFontSize() * 4);
  if (ui::begin_combo(state, "##stress", choices[chosen].name)) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (ImGui::Selectable(choices[i].name, chosen == i)) chosen = i;
      ui::hint(choices[i].hint);
    }
    ImGui::EndCombo();
  }
  state.places.note("stress test");
  ui::hint(choices[chosen].hint);
  ImGui::SameLine();
  if (ui::button(state, "Open##stress", false, !state.jobs.progress().running,
                 ImGui::GetContentRegionAvail().x))
    open_stress(state);
  ui::hint(
      "Requests of 'heapwood stress lifetimes': 1,000 threads, sizes of every order of magnitude. "
      "The chosen allocators serve them, one at a time.");
}

}  // namespace heapwood::viewer
