// SPDX-License-Identifier: MIT
// The Live tab: which of two allocators is slower, by how much, and what it costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/results/format.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

namespace {

constexpr ImGuiWindowFlags fixed = ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoDecoration |
                                   ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                   ImGuiWindowFlags_NoBringToFrontOnFocus;
const char* const names[] = {"A", "B"};

ImVec4 shade(std::size_t side) { return side == 0 ? colour::accent : colour::second; }
ImU32 faint(std::size_t side, float alpha) {
  ImVec4 c = shade(side);
  c.w = alpha;
  return ImGui::GetColorU32(c);
}

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

// The scale of the strip of frames, in ms, and whether the time of the rays fits it.
struct StripScale {
  double maximum = 1e-6;
  bool traced = false;
};
StripScale strip_scale(const LiveView& live) {
  StripScale scale;
  for (const LiveSide& side : live.sides) {
    if (!side.times.is_empty()) scale.maximum = std::max(scale.maximum, 1.25 * side.times.high());
  }
  // Rays that take far longer than builds would leave no height to the builds.
  const double trace = live.trace_ms();
  scale.traced = trace > 0 && trace < 3 * scale.maximum;
  if (scale.traced) scale.maximum = std::max(scale.maximum, 1.1 * trace);
  return scale;
}

// The largest of 1, 2 and 5 times a power of ten that is at most `maximum`.
double round_number(double maximum) {
  const double power = std::pow(10, std::floor(std::log10(maximum)));
  return power * (maximum >= 5 * power ? 5 : maximum >= 2 * power ? 2 : 1);
}

// Times of the latest frames. A click freezes and selects a frame.
void draw_strip(State& state, ImVec2 size) {
  LiveView& live = state.live;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float em = ImGui::GetFontSize();
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(at, {at.x + size.x, at.y + size.y}, IM_COL32(255, 255, 255, 7), 4);
  const auto [maximum, traced] = strip_scale(live);
  const auto y = [&](double ms) {
    return at.y + size.y * (1 - static_cast<float>(std::min(1.0, ms / maximum)));
  };
  const std::uint64_t last = live.frames,
                      first = last > LiveTimes::window ? last - LiveTimes::window : 0;
  const float step = size.x / static_cast<float>(LiveTimes::window);
  const auto x = [&](std::uint64_t frame) {
    return at.x + step * static_cast<float>(frame - first);
  };
  ImGui::InvisibleButton("frames", {std::max(size.x, 1.0f), std::max(size.y, 1.0f)});
  state.places.note("frames");
  std::optional<std::uint64_t> under;
  if (ImGui::IsItemHovered()) {
    const auto index =
        static_cast<std::uint64_t>(std::max(0.0f, (ImGui::GetIO().MousePos.x - at.x) / step));
    if (first + index < last) under = first + index;
  }
  if (ImGui::IsItemClicked() && under) {
    live.frozen = true;
    live.selected = under;
  }
  for (const std::optional<std::uint64_t>& marked : {under, live.selected}) {
    if (marked && *marked >= first)
      draw.AddRectFilled({x(*marked), at.y}, {x(*marked) + step, at.y + size.y},
                         IM_COL32(255, 255, 255, 28));
  }
  for (std::size_t side = 0; side < 2; ++side) {
    for (const LiveSample& sample : live.sides[side].times.samples()) {
      if (sample.frame < first) continue;
      const float left = x(sample.frame) + step * (side == 0 ? 0.08f : 0.5f);
      const float right = left + std::max(1.0f, step * 0.4f);
      draw.AddRectFilled({left, y(sample.ms)}, {right, at.y + size.y},
                         sample.complete ? faint(side, 0.85f) : ImGui::GetColorU32(colour::error));
    }
  }
  if (traced) {
    std::optional<ImVec2> before;
    for (const LiveSample& sample : live.sides[0].times.samples()) {
      if (sample.frame < first || sample.trace_ms <= 0) continue;
      const ImVec2 place{x(sample.frame) + step / 2, y(sample.trace_ms)};
      if (before) draw.AddLine(*before, place, ImGui::GetColorU32(colour::hole), 1.5f);
      before = place;
    }
  }
  const auto line = [&](double ms, const std::string& text) {
    draw.AddLine({at.x, y(ms)}, {at.x + size.x, y(ms)}, IM_COL32(255, 255, 255, 70));
    const float wide = ImGui::CalcTextSize(text.c_str()).x;
    // Below the line, unless it is near the lower edge.
    const float top = std::min(y(ms) + 2, at.y + size.y - em * 1.25f);
    draw.AddRectFilled({at.x + 4, top}, {at.x + wide + 10, top + em * 1.2f},
                       IM_COL32(14, 16, 19, 190), 3);
    draw.AddText({at.x + 7, top}, ImGui::GetColorU32(ImGuiCol_Text), text.c_str());
  };
  if (maximum > 16.7 * 1.02 && maximum < 16.7 * 8)
    line(16.7, "16.7 ms: 60 frames/s");
  else if (maximum > 0.001)
    line(round_number(0.95 * maximum), fmt::format("{:g} ms", round_number(0.95 * maximum)));
  if (!under) under = live.selected;
  if (!under || !ImGui::IsItemHovered()) return;
  std::string text = fmt::format("frame {}", bench::count_text(*under));
  double rays = 0;
  for (std::size_t side = 0; side < 2; ++side) {
    for (const LiveSample& sample : live.sides[side].times.samples()) {
      if (sample.frame != *under) continue;
      text +=
          fmt::format("\n{}  {} {}", names[side], live.sides[side].label(),
                      sample.complete ? bench::figure_text(sample.ms) + " ms" : "incomplete tree");
      if (side == 0 && sample.trace_ms > 0) rays = sample.trace_ms;
    }
  }
  if (rays > 0) text += fmt::format("\ntrace  {} ms", bench::figure_text(rays));
  if (!live.frozen) text += "\nclick to freeze";
  ImGui::SetTooltip("%s", text.c_str());
}

// The number keys.
void draw_choices(State& state) {
  const auto choices = live_choices(state);
  const float em = ImGui::GetFontSize();
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("B (Shift: A)");
  ui::hint("The number keys choose allocator B, with Shift allocator A.");
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {em * 0.35f, ImGui::GetStyle().FramePadding.y});
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const bool a = choices[i] == state.choice.allocator, b = choices[i] == state.choice.other;
    const std::string text = fmt::format("{} {}", i + 1, choices[i]->traits->label);
    const float width = ImGui::CalcTextSize(text.c_str()).x + em * 0.7f;
    ImGui::SameLine(0, em * 0.35f);
    if (ImGui::GetContentRegionAvail().x < width) break;  // all of them are in the lists
    ImGui::PushStyleColor(ImGuiCol_Text, b ? colour::second : a ? colour::accent : colour::dim);
    if (ImGui::Button(text.c_str()))
      choose_live(state, ImGui::GetIO().KeyShift ? 0 : 1, *choices[i]);
    ImGui::PopStyleColor();
    state.places.note(fmt::format("choice {}", i + 1));
  }
  ImGui::PopStyleVar();
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

void draw_live_below(State& state, const Area& area) {
  LiveView& live = state.live;
  ImGui::SetNextWindowPos({area.x, area.y});
  ImGui::SetNextWindowSize({area.width, area.height});
  if (ImGui::Begin("live below", nullptr, fixed)) {
    const float em = ImGui::GetFontSize(), gap = ImGui::GetStyle().ItemSpacing.x;
    const ImVec2 all = ImGui::GetContentRegionAvail();
    const float line = ImGui::GetTextLineHeightWithSpacing(),
                choices = ImGui::GetFrameHeightWithSpacing();
    const float strip = std::max(em * 3, (all.y - choices - 2 * line) * 0.34f);
    const float wide = std::floor((all.x - gap) * 0.62f), left = ImGui::GetCursorPosX();
    ImGui::TextDisabled("Build times of the latest frames, A and B%s",
                        strip_scale(live).traced ? "; line: trace" : "");
    ImGui::SameLine(left + wide + gap);
    ImGui::TextDisabled("Levels during one build, root at the top");
    ui::hint(
        "When the nodes of each level were finished in the recorded builds that the maps play, in "
        "shares of their events: from the first to the last node, the middle half of them strong. "
        "A recording has an order of events and no times.");
    draw_strip(state, {wide, strip});
    ImGui::SameLine(left + wide + gap);
    draw_levels_timeline(state, all.x - gap - wide, strip);
    draw_map_legend(state, live.heap, "The pool during one build");
    // The recorded builds are played over and over, in eight seconds.
    if (!live.frozen)
      live.heap.place = std::fmod(live.heap.place + ImGui::GetIO().DeltaTime / 8, 1.0);
    const float height = all.y - choices - strip - 2 * line - 2 * ImGui::GetStyle().ItemSpacing.y;
    const float width = (all.x - gap) / 2;
    const std::size_t count = live.heap.recordings.size();
    if (count == 0) {
      ui::dim_text("The pools are shown once a build of each side has been recorded.");
      ImGui::Dummy({0, std::max(0.0f, height - ImGui::GetTextLineHeightWithSpacing())});
    }
    for (std::size_t i = 0; i < count && i < 2; ++i) {
      if (i) ImGui::SameLine();
      draw_map(state, live.heap, i, width, height);
    }
    draw_choices(state);
  }
  ImGui::End();
}

namespace {

// Over the picture of an exhausted side: the refused request beside the largest hole, to scale.
void draw_refusal(State& state, const LiveSide& side, const Area& area) {
  const std::uint64_t refused = side.times.samples().back().refused_bytes;
  struct Bar {
    const char* label;
    double bytes;
    ImU32 shade;
  };
  std::vector<Bar> bars{
      {"refused request", static_cast<double>(refused), ImGui::GetColorU32(colour::error)}};
  if (side.recording && side.recording->in_pool)
    bars.push_back({"largest hole of the pool", static_cast<double>(tightest_hole(*side.recording)),
                    ImGui::GetColorU32(colour::hole)});
  double maximum = 1;
  for (const Bar& bar : bars) maximum = std::max(maximum, bar.bytes);
  const float em = ImGui::GetFontSize(), width = std::min(em * 20, area.width - em * 2);
  if (width < em * 8) return;
  const float height = em * 2.6f * static_cast<float>(bars.size()) + em;
  const ImVec2 low{area.x + (area.width - width) / 2, area.y + area.height * 0.3f};
  ImDrawList& draw = *ImGui::GetBackgroundDrawList();
  draw.AddRectFilled(low, {low.x + width, low.y + height}, IM_COL32(16, 18, 21, 225), em * 0.5f);
  float y = low.y + em * 0.6f;
  std::string all;
  for (const Bar& bar : bars) {
    const std::string value = bench::bytes_text(static_cast<std::uint64_t>(bar.bytes));
    all += fmt::format("{} {}; ", bar.label, value);
    const float left = low.x + em * 0.75f, right = low.x + width - em * 0.75f;
    draw.AddText({left, y}, ImGui::GetColorU32(ImGuiCol_Text), bar.label);
    draw.AddText({right - ImGui::CalcTextSize(value.c_str()).x, y}, bar.shade, value.c_str());
    const float end =
        left + std::max(2.0f, (right - left) * static_cast<float>(bar.bytes / maximum));
    draw.AddRectFilled({left, y + em * 1.3f}, {end, y + em * 1.8f}, bar.shade, 3);
    y += em * 2.6f;
  }
  state.places.texts["refusal"] = all;
}

}  // namespace

void draw_live_overlay(State& state, const Area& area) {
  const LiveView& live = state.live;
  ImDrawList& draw = *ImGui::GetBackgroundDrawList();
  const float em = ImGui::GetFontSize(), middle = area.x + area.width / 2;
  draw.AddLine({middle, area.y}, {middle, area.y + area.height}, IM_COL32(255, 255, 255, 120),
               1.5f);
  for (std::size_t side = 0; side < 2; ++side) {
    const LiveTimes& times = live.sides[side].times;
    const float left = side == 0 ? area.x : middle;
    if (times.exhausted()) {
      draw.AddRectFilled({left, area.y}, {left + area.width / 2, area.y + area.height},
                         IM_COL32(30, 8, 8, 170));
      draw_refusal(state, live.sides[side], {left, area.y, area.width / 2, area.height});
    }
    const std::string text = fmt::format("{}  {}", names[side], live.sides[side].label());
    const std::string ms = times.exhausted()    ? "pool exhausted"
                           : times.median() > 0 ? bench::figure_text(times.median()) + " ms"
                                                : "";
    const float wide =
        std::max(ImGui::CalcTextSize(text.c_str()).x, ImGui::CalcTextSize(ms.c_str()).x * 1.4f) +
        em * 1.5f;
    const ImVec2 low{middle + (side == 0 ? -wide - em * 0.7f : em * 0.7f),
                     area.y + area.height - em * 3.9f};
    draw.AddRectFilled(low, {low.x + wide, low.y + em * 3.2f}, IM_COL32(16, 18, 21, 215),
                       em * 0.5f);
    draw.AddText(fonts().bold, em, {low.x + em * 0.75f, low.y + em * 0.35f},
                 ImGui::GetColorU32(shade(side)), text.c_str());
    draw.AddText(fonts().large, em * 1.35f, {low.x + em * 0.75f, low.y + em * 1.45f},
                 ImGui::GetColorU32(times.exhausted() ? colour::error : colour::text), ms.c_str());
  }
}

}  // namespace heapwood::viewer
