// SPDX-License-Identifier: MIT
// The Live tab: which of two allocators is slower, by how much, and what it costs.
#include <fmt/format.h>

#include <algorithm>

#include "bench/results/format.hpp"
#include "viewer/panel_live.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

using namespace live_tab;

namespace {

void centred_rect(ImVec2 low, ImVec2 high, ImU32 colour, float round) {
  ImGui::GetWindowDrawList()->AddRectFilled(low, high, colour, round);
}

// A letter in its side's colour.
void draw_letter(std::size_t side) {
  ImGui::PushFont(fonts().bold);
  ImGui::TextColored(shade(side), "%s", names[side]);
  ImGui::PopFont();
}

void draw_verdict(State& state, const LiveVerdict& verdict) {
  const ImVec4 tint = verdict.kind == LiveVerdict::Kind::ranked      ? colour::text
                      : verdict.kind == LiveVerdict::Kind::exhausted ? colour::error
                      : verdict.kind == LiveVerdict::Kind::noisy     ? colour::warning
                                                                     : colour::dim;
  ImGui::PushFont(fonts().large);
  ui::wrapped_text(verdict.text, tint);
  ImGui::PopFont();
  // As many lines in any case as the longest text needs: what is below does not move when the
  // verdict changes.
  constexpr float lines = 3;
  const float top = ImGui::GetCursorPosY();
  ui::dim_text(verdict.detail);
  ImGui::SetCursorPosY(std::max(ImGui::GetCursorPosY(), top + lines * ImGui::GetTextLineHeight() +
                                                            ImGui::GetStyle().ItemSpacing.y));
  state.places.texts["verdict"] = verdict.text;
  state.places.texts["verdict detail"] = verdict.detail;
}

// The allocator, the median, and the range on a scale that both sides share.
void draw_side(State& state, std::size_t side, double maximum) {
  const LiveSide& own = state.live.sides[side];
  const auto* chosen = side == 0 ? state.choice.allocator : state.choice.other;
  const float em = ImGui::GetFontSize();
  ImGui::AlignTextToFramePadding();
  draw_letter(side);
  ImGui::SameLine(0, em * 0.8f);
  ImGui::SetNextItemWidth(-1);
  const std::string id = fmt::format("##side {}", names[side]);
  if (ui::begin_combo(state, id.c_str(), chosen ? chosen->traits->label : "")) {
    for (const registry::RegisteredAllocator& entry : registry::allocators()) {
      const char* reason = why_not_buildable(state, entry);
      ImGui::BeginDisabled(reason != nullptr);
      if (ImGui::Selectable(
              fmt::format("{}{}", entry.traits->label, entry.traits->lower_bound ? " *" : "")
                  .c_str(),
              &entry == chosen))
        choose_live(state, static_cast<unsigned>(side), entry);
      ImGui::EndDisabled();
      ui::hint(fmt::format("{}. {}{}{}", entry.traits->paper, entry.traits->note,
                           reason ? " Cannot build trees: " : "", reason ? reason : "")
                   .c_str());
    }
    ImGui::EndCombo();
  }
  state.places.note(fmt::format("side {}", names[side]));
  const LiveTimes& times = own.times;
  const bool known = times.median() > 0;
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + em * 1.6f);
  const float below = ImGui::GetCursorPosY() + ImGui::GetFrameHeightWithSpacing();
  ImGui::PushFont(fonts().large);
  if (times.exhausted()) {
    ImGui::TextColored(colour::error, "exhausted");
  } else {
    ImGui::TextUnformatted(known ? (bench::figure_text(times.median()) + " ms").c_str() : "...");
  }
  ImGui::PopFont();
  if (known && !times.exhausted()) {
    const std::string rate = fmt::format("{} builds/s", bench::figure_text(1000 / times.median()));
    if (const double trace = state.live.trace_ms(); trace > 0) {
      const std::string text = fmt::format("+ {} ms trace", bench::figure_text(trace));
      ImGui::SameLine();
      ImGui::AlignTextToFramePadding();
      ImGui::TextDisabled("%s", text.c_str());
      ui::hint(
          "Median time of one sample per pixel of the picture, in its mode. The trees of both "
          "sides are equal, so this time is, too.");
      state.places.texts["trace"] = text;
    }
    ImGui::SameLine();
    ImGui::SetCursorPosX(ImGui::GetWindowContentRegionMax().x -
                         ImGui::CalcTextSize(rate.c_str()).x);
    ImGui::AlignTextToFramePadding();
    ImGui::TextDisabled("%s", rate.c_str());
  }
  ImGui::SetCursorPosY(below);  // with and without figures
  const float width = ImGui::GetContentRegionAvail().x, height = em * 0.55f;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const auto x = [&](double ms) {
    return at.x + width * static_cast<float>(std::min(1.0, ms / maximum));
  };
  centred_rect(at, {at.x + width, at.y + height}, IM_COL32(255, 255, 255, 10), height / 2);
  if (known) {
    centred_rect(at, {x(times.median()), at.y + height}, faint(side, 0.75f), height / 2);
    centred_rect({x(times.low()), at.y - 2}, {x(times.high()) + 1, at.y + height + 2},
                 IM_COL32(255, 255, 255, 60), 2);
  }
  ImGui::Dummy({width, height + em * 0.3f});
  ui::hint(fmt::format("Median of the last {} frames; the light band is their range without the "
                       "fastest and slowest tenth: {} to {} ms",
                       times.samples().size(), bench::figure_text(times.low()),
                       bench::figure_text(times.high()))
               .c_str());
}

struct Cost {
  const char *label, *hint;
  double (*value)(const LiveSide&);  // negative: unknown
  std::string (*text)(double);
};

double worst_external(const Recording& recording) {
  double worst = 0;
  for (const Recording::Point& point : recording.points)
    worst = std::max(worst, point.pool.external_below());
  return worst;
}
std::string bytes(double value) { return bench::bytes_text(static_cast<std::uint64_t>(value)); }

const Cost costs[] = {
    {"requested at peak", "Maximum of requested bytes in use at once, in a recorded build",
     [](const LiveSide& side) {
       return side.recording ? static_cast<double>(side.recording->high_water_bytes) : -1.0;
     },
     bytes},
    {"pool reached", "Address range that the allocator has touched, from the pool's base",
     [](const LiveSide& side) {
       return side.recording && side.recording->in_pool ? static_cast<double>(side.recording->reach)
                                                        : -1.0;
     },
     bytes},
    {"worst fragmentation",
     "Share of free bytes outside the largest hole, below the highest address reached: maximum "
     "over "
     "a recorded build",
     [](const LiveSide& side) {
       return side.recording && side.recording->in_pool ? worst_external(*side.recording) : -1.0;
     },
     [](double value) { return fmt::format("{:.2f}", value); }}};

void draw_costs(State& state) {
  const float em = ImGui::GetFontSize();
  for (const Cost& cost : costs) {
    const double values[] = {cost.value(state.live.sides[0]), cost.value(state.live.sides[1])};
    const double maximum = std::max({values[0], values[1], 1e-9});
    ImGui::TextDisabled("%s", cost.label);
    ui::hint(cost.hint);
    for (std::size_t side = 0; side < 2; ++side) {
      const ImVec2 at = ImGui::GetCursorScreenPos();
      const float width = ImGui::GetContentRegionAvail().x - em * 5.5f, height = em * 0.5f,
                  line = em * 1.15f;
      const float y = at.y + (line - height) / 2;
      centred_rect({at.x, y}, {at.x + width, y + height}, IM_COL32(255, 255, 255, 10), 3);
      if (values[side] > 0)
        centred_rect(
            {at.x, y},
            {at.x + std::max(2.0f, width * static_cast<float>(values[side] / maximum)), y + height},
            faint(side, 0.75f), 3);
      const std::string text = values[side] < 0 ? bench::missing : cost.text(values[side]);
      ImGui::GetWindowDrawList()->AddText(
          {at.x + width + em * 5.5f - ImGui::CalcTextSize(text.c_str()).x, at.y},
          ImGui::GetColorU32(ImGuiCol_Text), text.c_str());
      ImGui::Dummy({width, line - ImGui::GetStyle().ItemSpacing.y + 1});
    }
    ImGui::Dummy({0, em * 0.1f});
  }
}

// Whether pools are emptied or kept, and what keeping them does.
void draw_pool_use(State& state) {
  const LiveView& live = state.live;
  const float width = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) / 2;
  const bool keep = state.choice.keep_pools;
  if (ui::button(state, "reset pool", !keep, true, width) && keep) keep_live_pools(state, false);
  ui::hint("The pool is emptied before each build.");
  ImGui::SameLine();
  if (ui::button(state, "keep pool", keep, true, width) && !keep) keep_live_pools(state, true);
  ui::hint(
      "Each side keeps its pool from frame to frame, with the fragmentation that the builds "
      "leave. Pools of allocators that never free are emptied.");
  if (!live.pool_bytes) return;
  std::string text = fmt::format("pool of {}", bench::bytes_text(live.pool_bytes));
  for (std::size_t side = 0; side < 2; ++side) {
    const LiveSide& own = live.sides[side];
    text += fmt::format("; {} {}", names[side], own.keeps_pool ? "kept" : "emptied");
    if (own.fragmentation)
      text += fmt::format(", fragmentation {}", bench::figure_text(*own.fragmentation));
  }
  state.places.texts["pool use"] = text;
  ui::dim_text(text);
}

std::string check_text(const LiveView& live) {
  if (live.different > 0)
    return fmt::format("{} of {} frames have different trees", live.different, live.compared);
  if (!live.compared) return "";
  const double rate = live.frames_per_second();
  return fmt::format("Identical trees in all {} frames{}", bench::count_text(live.compared),
                     live.moves && rate > 0 ? fmt::format("; {:.0f} frames/s", rate) : "");
}

}  // namespace

void draw_live_panel(State& state, const Area& area) {
  LiveView& live = state.live;
  ImGui::SetNextWindowPos({area.x, area.y});
  ImGui::SetNextWindowSize({area.width, area.height});
  if (ImGui::Begin("live", nullptr, fixed & ~ImGuiWindowFlags_NoScrollbar)) {
    ImGui::PushFont(fonts().bold);
    ImGui::TextWrapped(
        "%s Only the allocator changes. Each split of a node asks it for two arrays "
        "and frees one.",
        live.moves ? "The scene moves: every frame, its tree is rebuilt twice."
                   : "Every frame, this tree is rebuilt twice.");
    ImGui::PopFont();
    ImGui::Dummy({0, 2});
    if (!live.problem.empty()) {
      ui::wrapped_text(live.problem, colour::error);
      if (ui::button(state, "Try again", true)) start_live(state);
    } else {
      draw_verdict(state, judge(live.sides[0], live.sides[1]));
    }
    ImGui::Dummy({0, 4});
    double maximum = 1e-6;
    for (const LiveSide& side : live.sides) maximum = std::max(maximum, 1.05 * side.times.high());
    for (std::size_t side = 0; side < 2; ++side) draw_side(state, side, maximum);
    ui::cpu_notice(state);
    ImGui::Separator();
    draw_costs(state);
    ImGui::Separator();
    const std::string check = check_text(live);
    state.places.texts["trees"] = check;
    // One line in any case: what is below does not move with the first frame.
    ui::wrapped_text(check.empty() ? " " : check, live.different ? colour::error : colour::dim);
    if (choose_pool(state)) start_live(state);
    draw_pool_use(state);
    const float width = ImGui::GetContentRegionAvail().x;
    if (ui::button(state, live.frozen ? "Continue (Space)" : "Freeze (Space)", live.frozen, true,
                   width))
      live.toggle_frozen();
  }
  ImGui::End();
}

}  // namespace heapwood::viewer
