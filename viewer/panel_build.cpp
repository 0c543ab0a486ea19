// SPDX-License-Identifier: MIT
// Options of the next build, and times of the last one.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>

#include "bench/results/exhaustion.hpp"
#include "bench/results/format.hpp"
#include "viewer/compare_rows.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

void choose_allocator(State& state) {
  ui::field("allocator");
  if (ui::begin_combo(state, "##allocators", state.choice.allocator->traits->label)) {
    for (const registry::RegisteredAllocator& entry : registry::allocators()) {
      const alloc::AllocatorTraits& traits = *entry.traits;
      const char* reason = why_not_buildable(state, entry);
      ImGui::BeginDisabled(reason != nullptr);
      if (ImGui::Selectable(
              fmt::format("{}{}", traits.label, traits.lower_bound ? " *" : "").c_str(),
              &entry == state.choice.allocator)) {
        state.choice.allocator = &entry;
      }
      ImGui::EndDisabled();
      ui::hint(fmt::format("{}. {}{}{}", traits.paper, traits.note,
                           reason ? " Cannot build trees: " : "", reason ? reason : "")
                   .c_str());
    }
    ImGui::EndCombo();
  }
  state.places.note("allocator");
}

bool choose_pool(State& state) {
  ui::field("pool");
  if (ImGui::InputText("##pool", &state.choice.pool_text)) take_pool_text(state);
  const bool edited = ImGui::IsItemDeactivatedAfterEdit();
  state.places.note("pool");
  ui::hint(
      "fast or auto (enlarged until the build completes), a size such as 512M or 2G, or a multiple "
      "of the root node's array such as 200x or of the peak bytes in use such as live:4.");
  ui::wrapped_text(state.choice.pool_problem, colour::error);
  state.places.texts["pool problem"] = state.choice.pool_problem;
  return edited && state.choice.pool_problem.empty();
}

bool build_button(State& state, const char* label, bool strong, float width, const char* hint) {
  const char* reason = why_only_live(state);
  const bool enabled = !reason && !state.jobs.progress().running;
  const bool pressed = ui::button(state, label, strong, enabled, width);
  ui::hint(reason ? reason : hint);
  if (reason) state.places.texts["disabled"] += std::string(label) + "; ";
  return pressed;
}

namespace {

void choose_refs(State& state) {
  ui::field("refs");
  if (ui::begin_combo(state, "##refs", kdtree::name(state.choice.settings.refs))) {
    for (const kdtree::RefKind kind : kdtree::all_ref_kinds) {
      if (ImGui::Selectable(
              fmt::format("{}, {} B", kdtree::name(kind), kdtree::ref_bytes(kind)).c_str(),
              kind == state.choice.settings.refs)) {
        state.choice.settings.refs = kind;
      }
    }
    ImGui::EndCombo();
  }
  ui::hint(
      "Contents of a node's array per triangle: clipped stores bounds, ids is as in the papers.");
}

void choose_costs(State& state) {
  if (!ImGui::TreeNode("surface area heuristic")) return;
  kdtree::SahCosts& costs = state.choice.settings.costs;
  ui::field("traversal");
  ImGui::SliderFloat("##traversal", &costs.traversal, 0, 10, "%.2f");
  ui::field("intersection");
  ImGui::SliderFloat("##intersection", &costs.intersection, 0.05f, 10, "%.2f",
                     ImGuiSliderFlags_AlwaysClamp);
  ui::field("empty bonus");
  ImGui::SliderFloat("##bonus", &costs.empty_bonus, 0, 0.9f, "%.2f", ImGuiSliderFlags_AlwaysClamp);
  ui::field("duplicates");
  ImGui::SliderFloat("##duplicates", &costs.duplicate, 0, 1, "%.2f", ImGuiSliderFlags_AlwaysClamp);
  ui::field("runs");
  ImGui::SliderInt("##runs", &state.choice.settings.runs, 1, 31, "%d",
                   ImGuiSliderFlags_AlwaysClamp);
  ImGui::TreePop();
}

// Each sample as a dot; median and quartiles as a box.
void plot_samples(const std::vector<double>& samples) {
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
  const float height = ImGui::GetFontSize() * 1.2f, width = ImGui::GetContentRegionAvail().x;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const double from = *low - 0.05 * (*high - *low) - 1e-9,
               to = *high + 0.05 * (*high - *low) + 1e-9;
  const auto x = [&](double ms) {
    return at.x + static_cast<float>((ms - from) / (to - from)) * width;
  };
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(at, {at.x + width, at.y + height}, IM_COL32(255, 255, 255, 8), 4);
  draw.AddRectFilled({x(*bench::quantile(samples, 0.25)), at.y + 3},
                     {x(*bench::quantile(samples, 0.75)), at.y + height - 3},
                     IM_COL32(104, 196, 134, 50), 3);
  const float middle = x(*bench::median(samples));
  draw.AddLine({middle, at.y + 2}, {middle, at.y + height - 2}, IM_COL32(104, 196, 134, 220), 2);
  for (const double ms : samples) {
    draw.AddCircleFilled({x(ms), at.y + height / 2}, height * 0.16f, IM_COL32(230, 233, 236, 190));
  }
  ImGui::Dummy({width, height});
  ui::hint(fmt::format("{} builds, {} to {} ms; the box is the middle half", samples.size(),
                       bench::figure_text(*low), bench::figure_text(*high))
               .c_str());
}

}  // namespace

std::string speed_text(const bench::Result& built) {
  const std::optional<double> ms = built.median_ms();
  if (built.status != bench::Status::ok || built.triangles == 0 || !ms || *ms <= 0) return "";
  return bench::figure_text(static_cast<double>(built.triangles) / *ms / 1e3) + " M triangles/s";
}

void draw_build_section(State& state) {
  if (!ui::section("Build")) return;
  choose_allocator(state);
  choose_pool(state);
  choose_refs(state);
  choose_costs(state);
  const float third = (ImGui::GetContentRegionAvail().x - 2 * ImGui::GetStyle().ItemSpacing.x) / 3;
  if (build_button(state, "Build", true, third,
                   "Builds the tree with this allocator and measures it (B)"))
    start_build(state);
  ImGui::SameLine();
  if (build_button(state, "Compare all", false, third,
                   "Measures every allocator on this scene (C)"))
    start_compare(state);
  ImGui::SameLine();
  if (build_button(state, "Heap map", false, third,
                   "Records a build and shows the pool over time (H)"))
    start_recording(state);

  if (!state.built || !state.built->median_ms()) return;
  const bench::Result& built = *state.built;
  // The time until the pool was exhausted is not the time of a build.
  const bool complete = built.status == bench::Status::ok, outdated = is_outdated(state, built);
  const bool noisy = complete && spread_of(built.runs_ms) > max_spread;
  ImGui::PushFont(fonts().large);
  ImGui::PushStyleColor(ImGuiCol_Text, !complete  ? colour::warning
                                       : outdated ? colour::dim
                                       : noisy    ? colour::warning
                                                  : colour::text);
  state.places.texts["built"] =
      (outdated ? "outdated: " : "") + built.label + (complete ? "" : ", incomplete");
  state.places.texts["speed"] = speed_text(built);
  ImGui::TextUnformatted(complete ? (bench::figure_text(*built.median_ms()) + " ms").c_str()
                                  : "Incomplete tree");
  ImGui::PopStyleColor();
  ImGui::PopFont();
  // On the same line: what is below does not move when another allocator is chosen.
  if (outdated || noisy) {
    const auto [low, high] = std::minmax_element(built.runs_ms.begin(), built.runs_ms.end());
    const std::string text = outdated ? "of the last build: press Build"
                                      : fmt::format("noisy: {} to {} ms", bench::figure_text(*low),
                                                    bench::figure_text(*high));
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    ImGui::TextColored(colour::warning, "%s", text.c_str());
    ui::hint(outdated
                 ? "The allocator or the settings above differ from those of this time."
                 : "The builds of the middle half differ by more than a quarter of the median. "
                   "Close other programs, or build again with more runs.");
  }
  ui::dim_text(fmt::format("{}, pool {}, {} refs, median of {}", built.label,
                           built.settings.pool.text, kdtree::name(built.settings.refs),
                           built.runs_ms.size()));
  if (!complete) return ui::wrapped_text(bench::exhaustion_text(built), colour::warning);
  plot_samples(built.runs_ms);
  ui::cpu_notice(state);
  if (!ui::begin_rows("build")) return;
  if (const std::string speed = speed_text(built); !speed.empty()) ui::row("speed", speed);
  ui::row("pool reset", bench::figure_text(bench::median(built.reset_ms)) + " ms",
          "Before each build, not included in its time.");
  if (built.kernel) {
    ui::row("registers", fmt::format("{}, stack {}", built.kernel->registers,
                                     bench::bytes_text(built.kernel->local_bytes)));
  } else {
    ui::row("threads", std::to_string(built.warps));
  }
  ui::end_rows();
}

}  // namespace heapwood::viewer
