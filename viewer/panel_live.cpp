// SPDX-License-Identifier: MIT
// The Live tab: which of two allocators is slower, by how much, and what it costs. Over its picture
// there are both sides with their times; below it the times of the latest frames, the pools, and
// the allocators of the number keys.
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

constexpr const char* letters[] = {"A", "B"};

void draw_verdict(State& state, const LiveVerdict& verdict) {
  using Kind = LiveVerdict::Kind;
  ImGui::PushFont(fonts().large);
  ui::wrapped_text(verdict.text, verdict.kind == Kind::ranked      ? colour::text
                                 : verdict.kind == Kind::exhausted ? colour::error
                                 : verdict.kind == Kind::noisy     ? colour::warning
                                                                   : colour::dim);
  ImGui::PopFont();
  // The verdict always takes as many lines as the longest text needs, so that what is below does
  // not move when the verdict changes.
  constexpr float lines = 3;
  const float bottom =
      ImGui::GetCursorPosY() + lines * ImGui::GetTextLineHeight() + ImGui::GetStyle().ItemSpacing.y;
  ui::dim_text(verdict.detail);
  ImGui::SetCursorPosY(std::max(ImGui::GetCursorPosY(), bottom));
  state.places.texts["verdict"] = verdict.text;
  state.places.texts["verdict detail"] = verdict.detail;
}

// Draws the median, the frame rate, and the time of the rays.
void draw_times(State& state, const LiveTimes& times) {
  if (times.exhausted()) return ui::styled_text(fonts().large, "exhausted", colour::error);
  if (times.median() <= 0) return ui::styled_text(fonts().large, "...");
  ui::styled_text(fonts().large, bench::figure_text(times.median()) + " ms");
  if (const double trace = state.live.trace_ms(); trace > 0) {
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    const std::string text = fmt::format("+ {} ms trace", bench::figure_text(trace));
    ui::text(state.places.texts["trace"] = text, colour::dim);
    ui::hint(
        "Median time of one sample per pixel of the picture, in its mode. The trees of both sides "
        "are equal, so this time is, too.");
  }
  const std::string rate = fmt::format("{} builds/s", bench::figure_text(1000 / times.median()));
  ImGui::SameLine();
  ImGui::SetCursorPosX(ImGui::GetWindowContentRegionMax().x - ui::width_of(rate));
  ImGui::AlignTextToFramePadding();
  ui::text(rate, colour::dim);
}

// Draws a side: the allocator, the median, and the range on a scale that both sides share.
void draw_side(State& state, std::size_t side, double maximum) {
  const LiveTimes& times = state.live.sides[side].times;
  const float em = ImGui::GetFontSize();
  ImGui::AlignTextToFramePadding();
  ui::styled_text(fonts().bold, letters[side], ui::shade_of(side));
  ImGui::SameLine(0, em * 0.8f);
  ImGui::SetNextItemWidth(-1);
  const auto* chosen = side == 0 ? state.choice.allocator : state.choice.other;
  const std::string name = fmt::format("side {}", letters[side]);
  if (const auto* entry = ui::choose_allocator(state, ("##" + name).c_str(), chosen))
    choose_live(state, static_cast<unsigned>(side), *entry);
  state.places.note(name);
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + em * 1.6f);
  const float below = ImGui::GetCursorPosY() + ImGui::GetFrameHeightWithSpacing();
  draw_times(state, times);
  ImGui::SetCursorPosY(below);  // at the same height with and without figures
  const float width = ImGui::GetContentRegionAvail().x, height = em * 0.55f;
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const auto x = [&](double ms) {
    return corner.x + width * static_cast<float>(std::min(1.0, ms / maximum));
  };
  ui::fill(corner, {corner.x + width, corner.y + height}, ui::white(10), height / 2);
  if (times.median() > 0) {
    ui::fill(corner, {x(times.median()), corner.y + height},
             ImGui::GetColorU32(ui::shade_of(side, 0.75f)), height / 2);
    ui::fill({x(times.low()), corner.y - 2}, {x(times.high()) + 1, corner.y + height + 2},
             ui::white(60), 2);
  }
  ImGui::Dummy({width, height + em * 0.3f});
  ui::hint(fmt::format(
      "Median of the last {} frames; the light band is their range without the fastest and slowest "
      "tenth: {} to {} ms",
      times.samples().size(), bench::figure_text(times.low()), bench::figure_text(times.high())));
}

std::string bytes(double value) { return bench::bytes_text(static_cast<std::uint64_t>(value)); }

// The figures of the recorded builds. Those of the pool need an allocator with its blocks there.
constexpr struct Cost {
  const char *label, *hint;
  bool of_pool;
  double (*value)(const Recording&);
  std::string (*text)(double);
} costs[] = {
    {"requested at peak", "Maximum of requested bytes in use at once, in a recorded build", false,
     [](const Recording& r) { return static_cast<double>(r.high_water_bytes); }, bytes},
    {"pool reached", "Address range that the allocator has touched, from the pool's base", true,
     [](const Recording& r) { return static_cast<double>(r.reach); }, bytes},
    {"worst fragmentation",
     "Share of free bytes outside the largest hole, below the highest address reached: maximum "
     "over a recorded build",
     true,
     [](const Recording& r) {
       double worst = 0;
       for (const Recording::Point& p : r.points) worst = std::max(worst, p.pool.external_below());
       return worst;
     },
     [](double value) { return fmt::format("{:.2f}", value); }}};

void draw_costs(const LiveView& live) {
  const float em = ImGui::GetFontSize(), height = em * 0.5f, line = em * 1.15f;
  for (const Cost& cost : costs) {
    std::optional<double> values[2];
    for (std::size_t side = 0; side < 2; ++side) {
      const auto& recording = live.sides[side].recording;
      if (recording && (recording->in_pool || !cost.of_pool)) values[side] = cost.value(*recording);
    }
    const double maximum = std::max({values[0].value_or(0), values[1].value_or(0), 1e-9});
    ui::text(cost.label, colour::dim);
    ui::hint(cost.hint);
    for (std::size_t side = 0; side < 2; ++side) {
      const ImVec2 corner = ImGui::GetCursorScreenPos();
      const float all = ImGui::GetContentRegionAvail().x, width = all - em * 5.5f;
      const float y = corner.y + (line - height) / 2;
      ui::fill({corner.x, y}, {corner.x + width, y + height}, ui::white(10), 3);
      const float length = width * static_cast<float>(values[side].value_or(0) / maximum);
      if (length > 0)
        ui::fill({corner.x, y}, {corner.x + std::max(2.0f, length), y + height},
                 ImGui::GetColorU32(ui::shade_of(side, 0.75f)), 3);
      const std::string text = values[side] ? cost.text(*values[side]) : bench::missing;
      ui::text_at({corner.x + all - ui::width_of(text), corner.y}, text);
      ImGui::Dummy({width, line - ImGui::GetStyle().ItemSpacing.y + 1});
    }
    ImGui::Dummy({0, em * 0.1f});
  }
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
  if (ui::begin_area("live", area, ui::fixed & ~ImGuiWindowFlags_NoScrollbar)) {
    ImGui::PushFont(fonts().bold);
    ui::wrapped_text(
        fmt::format("{} Only the allocator changes. Each split of a node asks it for two arrays "
                    "and frees one.",
                    live.moves ? "The scene moves: every frame, its tree is rebuilt twice."
                               : "Every frame, this tree is rebuilt twice."),
        colour::text);
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
    draw_costs(live);
    ImGui::Separator();
    const std::string check = state.places.texts["trees"] = check_text(live);
    // Always one line, so that what is below does not move with the first frame.
    ui::wrapped_text(check.empty() ? " " : check, live.different ? colour::error : colour::dim);
    if (choose_pool(state)) start_live(state);
    if (live.pool_bytes)
      ui::dim_text(
          fmt::format("pool of {}, emptied before each build", bench::bytes_text(live.pool_bytes)));
    if (ui::button(state, live.frozen ? "Continue (Space)" : "Freeze (Space)", live.frozen, true,
                   ui::share_of_line(1)))
      live.frozen = !live.frozen;
  }
  ImGui::End();
}

void draw_live_overlay(State& state, const Area& area) {
  ImDrawList& draw = *ImGui::GetBackgroundDrawList();
  const float em = ImGui::GetFontSize(), middle = area.x + area.width / 2;
  draw.AddLine({middle, area.y}, {middle, area.y + area.height}, ui::white(120), 1.5f);
  for (std::size_t side = 0; side < 2; ++side) {
    const LiveSide& own = state.live.sides[side];
    const bool full = own.times.exhausted();
    if (full) {
      const float left = side == 0 ? area.x : middle;
      draw.AddRectFilled({left, area.y}, {left + area.width / 2, area.y + area.height},
                         IM_COL32(30, 8, 8, 170));
    }
    const std::string text = fmt::format("{}  {}", letters[side], own.label());
    const std::string ms = full                     ? "pool exhausted"
                           : own.times.median() > 0 ? bench::figure_text(own.times.median()) + " ms"
                                                    : "";
    const float wide = std::max(ui::width_of(text), ui::width_of(ms) * 1.4f) + em * 1.5f;
    const ImVec2 low{middle + (side == 0 ? -wide - em * 0.7f : em * 0.7f),
                     area.y + area.height - em * 3.9f};
    draw.AddRectFilled(low, {low.x + wide, low.y + em * 3.2f}, IM_COL32(16, 18, 21, 215),
                       em * 0.5f);
    draw.AddText(fonts().bold, em, {low.x + em * 0.75f, low.y + em * 0.35f},
                 ImGui::GetColorU32(ui::shade_of(side)), text.c_str());
    draw.AddText(fonts().large, em * 1.35f, {low.x + em * 0.75f, low.y + em * 1.45f},
                 ImGui::GetColorU32(full ? colour::error : colour::text), ms.c_str());
  }
}

namespace {

// The largest of 1, 2 and 5 times a power of ten that is at most `maximum`.
double round_number(double maximum) {
  const double power = std::pow(10, std::floor(std::log10(maximum)));
  return power * (maximum >= 5 * power ? 5 : maximum >= 2 * power ? 2 : 1);
}

std::string frame_text(const LiveView& live, std::uint64_t frame) {
  std::string text = fmt::format("frame {}", bench::count_text(frame));
  for (std::size_t side = 0; side < 2; ++side) {
    for (const LiveSample& sample : live.sides[side].times.samples()) {
      if (sample.frame != frame) continue;
      text +=
          fmt::format("\n{}  {} {}", "AB"[side], live.sides[side].label(),
                      sample.complete ? bench::figure_text(sample.ms) + " ms" : "incomplete tree");
    }
  }
  return text + (live.frozen ? "" : "\nclick to freeze");
}

// Draws the times of the latest frames. A click freezes them.
void draw_strip(State& state, ImVec2 size) {
  LiveView& live = state.live;
  const float em = ImGui::GetFontSize();
  const ui::Plot plot(state, "frames", size, 7);
  const ImVec2 corner = plot.corner;
  double maximum = 1e-6;
  for (const LiveSide& side : live.sides) maximum = std::max(maximum, 1.25 * side.times.high());
  const auto y = [&](double ms) {
    return corner.y + size.y * (1 - static_cast<float>(std::min(1.0, ms / maximum)));
  };
  const std::uint64_t last = live.frames,
                      first = last > LiveTimes::window ? last - LiveTimes::window : 0;
  const float step = size.x / static_cast<float>(LiveTimes::window);
  const auto x = [&](std::uint64_t frame) {
    return corner.x + step * static_cast<float>(frame - first);
  };
  std::optional<std::uint64_t> under;
  if (plot.hovered) {
    const auto index =
        static_cast<std::uint64_t>(std::max(0.0f, (ImGui::GetIO().MousePos.x - corner.x) / step));
    if (first + index < last) under = first + index;
  }
  if (ImGui::IsItemClicked() && under) live.frozen = true;
  if (under) ui::fill({x(*under), corner.y}, {x(*under) + step, plot.end.y}, ui::white(28));
  for (std::size_t side = 0; side < 2; ++side) {
    for (const LiveSample& sample : live.sides[side].times.samples()) {
      if (sample.frame < first) continue;
      const float left = x(sample.frame) + step * (side == 0 ? 0.08f : 0.5f);
      const ImVec4 shade = sample.complete ? ui::shade_of(side, 0.85f) : colour::error;
      ui::fill({left, y(sample.ms)}, {left + std::max(1.0f, step * 0.4f), plot.end.y},
               ImGui::GetColorU32(shade));
    }
  }
  const bool usual = maximum > 16.7 * 1.02 && maximum < 16.7 * 8;
  const double ms = usual ? 16.7 : round_number(0.95 * maximum);
  if (usual || maximum > 0.001) {
    const std::string text = usual ? "16.7 ms: 60 frames/s" : fmt::format("{:g} ms", ms);
    ui::line({corner.x, y(ms)}, {plot.end.x, y(ms)}, ui::white(70));
    // The label is below the line, unless the line is near the lower edge.
    const float top = std::min(y(ms) + 2, plot.end.y - em * 1.25f);
    ui::fill({corner.x + 4, top}, {corner.x + ui::width_of(text) + 10, top + em * 1.2f},
             IM_COL32(14, 16, 19, 190), 3);
    ui::text_at({corner.x + 7, top}, text);
  }
  if (under) ImGui::SetTooltip("%s", frame_text(live, *under).c_str());
}

// Draws the allocators of the number keys.
void draw_choices(State& state) {
  const auto choices = live_choices(state);
  const float em = ImGui::GetFontSize();
  ImGui::AlignTextToFramePadding();
  ui::text("B (Shift: A)", colour::dim);
  ui::hint("The number keys choose allocator B, with Shift allocator A.");
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {em * 0.35f, ImGui::GetStyle().FramePadding.y});
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const bool a = choices[i] == state.choice.allocator, b = choices[i] == state.choice.other;
    const std::string text = fmt::format("{} {}", i + 1, choices[i]->traits->label);
    ImGui::SameLine(0, em * 0.35f);
    // Those that do not fit are left out: the lists have all of them.
    if (ImGui::GetContentRegionAvail().x < ui::width_of(text) + em * 0.7f) break;
    ImGui::PushStyleColor(ImGuiCol_Text, b ? colour::second : a ? colour::accent : colour::dim);
    if (ImGui::Button(text.c_str()))
      choose_live(state, ImGui::GetIO().KeyShift ? 0 : 1, *choices[i]);
    ImGui::PopStyleColor();
    state.places.note(fmt::format("choice {}", i + 1));
  }
  ImGui::PopStyleVar();
}

}  // namespace

void draw_live_below(State& state, const Area& area) {
  LiveView& live = state.live;
  if (ui::begin_area("live below", area)) {
    const float em = ImGui::GetFontSize(), gap = ImGui::GetStyle().ItemSpacing.x;
    const ImVec2 all = ImGui::GetContentRegionAvail();
    const float line = ImGui::GetTextLineHeightWithSpacing(),
                choices = ImGui::GetFrameHeightWithSpacing();
    const float strip = std::max(em * 3, (all.y - choices - 2 * line) * 0.34f);
    ui::text("Build times of the latest frames, A and B", colour::dim);
    draw_strip(state, {all.x, strip});
    draw_map_legend(state, live.heap, "The pool during one build");
    // The recorded builds are played repeatedly, in eight seconds each.
    if (!live.frozen)
      live.heap.place = std::fmod(live.heap.place + ImGui::GetIO().DeltaTime / 8, 1.0);
    const float height = all.y - choices - strip - 2 * line - 2 * ImGui::GetStyle().ItemSpacing.y;
    const std::size_t count = live.heap.recordings.size();
    if (count == 0) {
      ui::dim_text("The pools are shown once a build of each side has been recorded.");
      ImGui::Dummy({0, std::max(0.0f, height - ImGui::GetTextLineHeightWithSpacing())});
    }
    for (std::size_t i = 0; i < count && i < 2; ++i) {
      if (i) ImGui::SameLine();
      draw_map(state, live.heap, i, (all.x - gap) / 2, height);
    }
    draw_choices(state);
  }
  ImGui::End();
}

}  // namespace heapwood::viewer
