// SPDX-License-Identifier: MIT
// What the Heap tab records: a build of the scene, updates of a dynamic graph, the requests of a
// program trace or of a stress test.
#include "viewer/panels.hpp"
#include "workloads/graph/source.hpp"

namespace heapwood::viewer {

namespace {

constexpr ImGuiSliderFlags logarithmic =
    ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_AlwaysClamp;

void choose_graph(State& state) {
  GraphSettings& graph = state.choice.graph;
  ui::field("graph");
  ImGui::InputText("##graph", &graph.graph);
  state.places.note("graph");
  std::string text = "A generator with a size, or the path of a .mtx, .graph or edge-list file:";
  for (const auto& one : workloads::graph::generators())
    text += fmt::format("\n{}: {}", one.example, one.description);
  ui::hint(text);
  ui::slider("rounds", graph.rounds, 1, 1000, "%d", logarithmic);
  const std::string edges =
      bench::count_text(static_cast<std::uint64_t>(std::max(graph.batch, 0))) + " per round";
  ui::slider("edges", graph.batch, 1, 1000000, edges.c_str(), logarithmic);
  ui::hint("Each round inserts this many edges and deletes those of the round before.");
  ui::field("updates");
  const char* names[] = {"of all vertices", "of 1,000 vertices"};
  if (ui::begin_combo(state, "##updates", names[graph.pressure])) {
    for (const bool pressure : {false, true})
      if (ui::item(names[pressure], graph.pressure == pressure)) graph.pressure = pressure;
    ImGui::EndCombo();
  }
  state.places.note("updates");
  ui::hint(
      "Where the edges begin: anywhere, or at few vertices whose blocks then grow and shrink.");
}

constexpr struct {
  const char *label, *hint;
  std::string (*text)(const Recording&, const Recording::Point&);
} figures[] = {
    {"in use", "Requested bytes of all blocks",
     [](const auto&, const auto& p) { return bench::bytes_text(p.used_bytes); }},
    {"blocks", "Blocks in use; of a graph, one for each vertex that has edges",
     [](const auto&, const auto& p) { return bench::count_text(p.pool.blocks); }},
    {"reached", "The highest address of a block so far",
     [](const auto&, const auto& p) { return bench::bytes_text(p.pool.mark_bytes); }},
    {"largest hole", "The largest free region below the highest address reached so far",
     [](const auto&, const auto& p) { return bench::bytes_text(p.pool.largest_below_bytes); }},
    {"external", "1 - largest hole / all holes, below the highest address reached",
     [](const auto&, const auto& p) { return fmt::format("{:.3f}", p.pool.external_below()); }},
    {"internal", "Mean of (served - requested) / served over blocks, served estimated",
     [](const auto&, const auto& p) {
       return p.internal ? fmt::format("{:.3f}", *p.internal) : std::string(bench::missing);
     }},
    {"refused", "Requests of the whole recording",
     [](const auto& r, const auto&) { return bench::count_text(r.requests.failures); }},
    {"pool", "The same for both allocators",
     [](const auto& r, const auto&) { return bench::bytes_text(r.pool_bytes); }}};

}  // namespace

bool draw_moment_section(State& state) {
  const auto& recordings = state.heap.recordings;
  const bool trace = shows_trace(state);
  if (recordings.empty() || (!trace && !recordings.front()->in_rounds())) return false;
  if (!ui::section(trace ? "Figures at this event" : "Round")) return true;
  const Recording& first = *recordings.front();
  ui::dim_text(state.places.texts["moment"] =
                   recorded_name(state) + ", " + first.time_text(state.heap.time(first)));
  const std::size_t maps = std::min<std::size_t>(recordings.size(), 2);
  if (!ImGui::BeginTable("figures", static_cast<int>(maps) + 1, ImGuiTableFlags_SizingStretchProp))
    return true;
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  for (std::size_t i = 0; i < maps; ++i) {
    ImGui::TableNextColumn();
    ui::text(recordings[i]->label, ui::shade_of(i));
  }
  for (const auto& one : figures) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ui::text(one.label, colour::dim);
    ui::hint(one.hint);
    for (std::size_t i = 0; i < maps; ++i) {
      ImGui::TableNextColumn();
      ui::text(one.text(*recordings[i], recordings[i]->at(state.heap.time(*recordings[i]))));
    }
  }
  ImGui::EndTable();
  return true;
}

void draw_record_section(State& state) {
  if (!ui::section("Record a build")) return;
  allocator_field(state);
  choose_pool(state);
  if (build_button(state, "Heap map", true, ui::share_of_line(1),
                   "Builds the tree of this scene once more and records every request (H)"))
    start_recording(state);
}

void draw_graph_section(State& state) {
  if (!ui::section("Record a dynamic graph")) return;
  choose_graph(state);
  const bool running = state.jobs.progress().running;
  const char* reason = cannot_update_graphs(*state.choice.allocator->traits);
  if (ui::button(state, "Record graph", true, !running && !reason, ui::share_of_line(1)))
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
  const bool pressed = ui::button(state, "Open##trace", false, !path.empty(), ui::share_of_line(1));
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
    for (std::size_t i = 0; i < choices.size(); ++i)
      if (ui::item(choices[i].name, chosen == i, choices[i].hint)) chosen = i;
    ImGui::EndCombo();
  }
  state.places.note("stress test");
  ui::hint(choices[chosen].hint);
  ImGui::SameLine();
  if (ui::button(state, "Open##stress", false, !state.jobs.progress().running,
                 ui::share_of_line(1)))
    open_stress(state);
  ui::hint(
      "Requests of 'heapwood stress lifetimes': 1,000 threads, sizes of every order of magnitude. "
      "The chosen allocators serve them, one at a time.");
}

}  // namespace heapwood::viewer
