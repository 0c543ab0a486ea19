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

// Draws the median of a side's builds and what of that is allocation.
void draw_times(const LiveTimes& times, double ms, double allocation_ms) {
  if (times.exhausted()) return ui::styled_text(fonts().large, "exhausted", colour::error);
  if (ms <= 0) return ui::styled_text(fonts().large, "...");
  ui::styled_text(fonts().large, bench::figure_text(ms) + " ms");
  if (allocation_ms < 0) return;
  const std::string text = fmt::format("allocation {:.2g} ms", allocation_ms);
  ImGui::SameLine();
  ImGui::SetCursorPosX(ImGui::GetWindowContentRegionMax().x - ui::width_of(text));
  ImGui::AlignTextToFramePadding();
  ui::text(text, colour::dim);
  ui::hint(
      "What a build takes longer than AtomicMalloc's of the same mesh, which only increments a "
      "counter. It is measured in every eighth frame.");
}

// Draws a side: the allocator, the median, and the range on a scale that both sides share.
void draw_side(State& state, std::size_t side, const LiveVerdict& verdict, double maximum) {
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
  const double ms = verdict.ms[side] > 0 ? verdict.ms[side] : times.median(),
               allocation = verdict.allocation_ms[side];
  draw_times(times, ms, allocation);
  ImGui::SetCursorPosY(below);  // at the same height with and without figures
  const float width = ImGui::GetContentRegionAvail().x, height = em * 0.55f;
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const auto x = [&](double ms) {
    return corner.x + width * static_cast<float>(std::min(1.0, ms / maximum));
  };
  ui::fill(corner, {corner.x + width, corner.y + height}, ui::tint(10), height / 2);
  if (ms > 0) {
    // The part of allocation is bright.
    ui::fill(corner, {x(ms), corner.y + height},
             ImGui::GetColorU32(ui::shade_of(side, allocation < 0 ? 0.75f : 0.35f)), height / 2);
    if (allocation > 0)
      ui::fill({x(std::max(ms - allocation, 0.0)), corner.y}, {x(ms), corner.y + height},
               ImGui::GetColorU32(ui::shade_of(side)), height / 2);
    ui::fill({x(times.low()), corner.y - 2}, {x(times.high()) + 1, corner.y + height + 2},
             ui::tint(60), 2);
  }
  ImGui::Dummy({width, height + em * 0.3f});
  ui::hint(fmt::format(
      "Median of the last {} frames; the light band is their range without the fastest and slowest "
      "tenth: {} to {} ms",
      times.samples().size(), bench::figure_text(times.low()), bench::figure_text(times.high())));
}

// The one figure of the recorded builds that a program with this allocator depends on.
void draw_largest_request(const LiveView& live) {
  ui::text("largest request that always fits", colour::dim);
  ui::hint(
      "The largest free region of the pool at the moment of a recorded build when that is "
      "smallest. Headers, alignment or a fixed division of the pool may allow less.");
  for (std::size_t side = 0; side < 2; ++side) {
    const auto& recording = live.sides[side].recording;
    if (side) ImGui::SameLine(ImGui::GetWindowWidth() / 2);
    ui::styled_text(fonts().bold,
                    recording && recording->in_pool
                        ? bench::bytes_text(recording->largest_request())
                        : bench::missing,
                    ui::shade_of(side));
  }
}

std::string check_text(const LiveView& live) {
  if (live.different > 0)
    return fmt::format("{} of {} frames have different trees", live.different, live.compared);
  if (!live.compared) return "";
  return fmt::format("Identical trees in all {} frames compared", bench::count_text(live.compared));
}

// "60 frames/s", "builds 1.22 + 6.86, rays 0.66, rest 1.9 ms"
std::array<std::string, 2> frame_parts(State& state) {
  const double rate = state.live.frames_per_second();
  if (rate <= 0) return {};
  const auto [a, b, rays, rest] = state.live.parts();
  return {fmt::format("{} frames/s{}", bench::figure_text(rate),
                      state.live.in_step ? "" : " of the faster side"),
          state.places.texts["frame"] =
              fmt::format("builds {:.3g} + {:.3g}, rays {:.3g}, rest {:.2g} ms", a, b, rays, rest)};
}

}  // namespace

void draw_live_panel(State& state, const Area& area) {
  LiveView& live = state.live;
  const LiveVerdict verdict = judge(live.sides[0], live.sides[1], live.reference);
  if (ui::begin_area("live", area, ui::fixed & ~ImGuiWindowFlags_NoScrollbar)) {
    ImGui::PushFont(fonts().bold);
    ui::wrapped_text(
        fmt::format("{} Only the allocator differs: each split of a node asks it for two arrays "
                    "and frees one.",
                    live.moves ? "A race: each side builds the k-d tree of each frame."
                               : "A race: each side builds this scene's k-d tree again and again."),
        colour::text);
    ImGui::PopFont();
    ImGui::Dummy({0, 2});
    if (!live.problem.empty()) {
      ui::wrapped_text(live.problem, colour::error);
      if (ui::button(state, "Try again", true)) start_live(state);
    } else {
      draw_verdict(state, verdict);
    }
    ImGui::Dummy({0, 4});
    double maximum = 1e-6;
    for (const LiveSide& side : live.sides) maximum = std::max(maximum, 1.05 * side.times.high());
    for (std::size_t side = 0; side < 2; ++side) draw_side(state, side, verdict, maximum);
    // Always two lines, so that what is below does not move with the first frame.
    for (const std::string& line : frame_parts(state)) ui::text(line + " ", colour::dim);
    ImGui::Separator();
    draw_largest_request(live);
    ImGui::Separator();
    const std::string check = state.places.texts["trees"] = check_text(live);
    ui::wrapped_text(check + " ", live.different ? colour::error : colour::dim);
    if (choose_pool(state)) start_live(state);
    if (live.pool_bytes)
      ui::dim_text(
          fmt::format("pool of {}, emptied before each build", bench::bytes_text(live.pool_bytes)));
    ui::checkbox(state, "keep both in step", live.in_step,
                 "Both sides build a frame before the next one begins. "
                 "Otherwise each goes on as soon as its own builds and rays are done.");
    if (ui::button(state, live.frozen ? "Continue (Space)" : "Freeze (Space)", live.frozen, true,
                   ui::share_of_line(1)))
      live.frozen = !live.frozen;
    ui::cpu_notice(state);
    if (const double slowed = live.slowed_by_others(); slowed > 1)
      ui::wrapped_text(
          state.places.texts["busy"] =
              fmt::format("This computer is busy: builds take about {:.1f} times as long.", slowed),
          colour::warning);
  }
  ImGui::End();
}

void draw_live_overlay(State& state, const Area& area) {
  ImDrawList& draw = *ImGui::GetBackgroundDrawList();
  const float em = ImGui::GetFontSize(), middle = area.x + area.width / 2;
  draw.AddLine({middle, area.y}, {middle, area.y + area.height}, ui::tint(120), 1.5f);
  for (std::size_t side = 0; side < 2; ++side) {
    const LiveSide& own = state.live.sides[side];
    const bool full = own.times.exhausted();
    if (full) {
      const float left = side == 0 ? area.x : middle;
      draw.AddRectFilled({left, area.y}, {left + area.width / 2, area.y + area.height},
                         IM_COL32(30, 8, 8, 170));
    }
    const std::string text = fmt::format("{}  {}", letters[side], own.label());
    const auto& samples = own.times.samples();
    const std::string ms = full ? "pool exhausted"
                           : samples.empty()
                               ? ""
                               : fmt::format("{} {}", state.live.moves ? "frame" : "build",
                                             bench::count_text(samples.back().frame + 1));
    const float wide = std::max(ui::width_of(text), ui::width_of(ms) * 1.4f) + em * 1.5f;
    const ImVec2 low{middle + (side == 0 ? -wide - em * 0.7f : em * 0.7f),
                     area.y + area.height - em * 3.9f};
    draw.AddRectFilled(low, {low.x + wide, low.y + em * 3.2f}, ui::tint(215, colour::panel),
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

std::string frame_text(const LiveView& live, std::size_t index) {
  std::string text;
  for (std::size_t side = 0; side < 2; ++side) {
    const auto& samples = live.sides[side].times.samples();
    if (index >= samples.size()) continue;
    const LiveSample& sample = samples[index];
    text +=
        fmt::format("{}  {} frame {}: {}\n", "AB"[side], live.sides[side].label(),
                    bench::count_text(sample.frame + 1),
                    sample.complete ? bench::figure_text(sample.ms) + " ms" : "incomplete tree");
  }
  return text + (live.frozen ? "" : "click to freeze");
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
  // The latest frames of each side: in a race those of the slower one are earlier frames.
  const float step = size.x / static_cast<float>(LiveTimes::window);
  const auto x = [&](std::size_t index) { return corner.x + step * static_cast<float>(index); };
  const auto under =
      static_cast<std::size_t>(std::max(0.0f, (ImGui::GetIO().MousePos.x - corner.x) / step));
  const bool any = plot.hovered && std::ranges::any_of(live.sides, [&](const LiveSide& side) {
                     return under < side.times.samples().size();
                   });
  if (ImGui::IsItemClicked() && any) live.frozen = true;
  if (any) ui::fill({x(under), corner.y}, {x(under) + step, plot.end.y}, ui::tint(28));
  for (std::size_t side = 0; side < 2; ++side) {
    const auto& samples = live.sides[side].times.samples();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const LiveSample& sample = samples[i];
      const float left = x(i) + step * (side == 0 ? 0.08f : 0.5f);
      const ImVec4 shade = sample.complete ? ui::shade_of(side, 0.85f) : colour::error;
      ui::fill({left, y(sample.ms)}, {left + std::max(1.0f, step * 0.4f), plot.end.y},
               ImGui::GetColorU32(shade));
    }
  }
  const bool usual = maximum > 16.7 * 1.02 && maximum < 16.7 * 8;
  const double ms = usual ? 16.7 : round_number(0.95 * maximum);
  if (usual || maximum > 0.001) {
    const std::string text = usual ? "16.7 ms: 60 frames/s" : fmt::format("{:g} ms", ms);
    ui::line({corner.x, y(ms)}, {plot.end.x, y(ms)}, ui::tint(70));
    // The label is below the line, unless the line is near the lower edge.
    const float top = std::min(y(ms) + 2, plot.end.y - em * 1.25f);
    ui::fill({corner.x + 4, top}, {corner.x + ui::width_of(text) + 10, top + em * 1.2f},
             ui::tint(190, colour::panel), 3);
    ui::text_at({corner.x + 7, top}, text);
  }
  if (any) ImGui::SetTooltip("%s", frame_text(live, under).c_str());
}

// Draws the allocators of the number keys.
void draw_choices(State& state) {
  const float em = ImGui::GetFontSize();
  ImGui::AlignTextToFramePadding();
  ui::text("B", colour::second);
  ui::hint("The number keys choose allocator B, with Shift allocator A.");
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {em * 0.3f, ImGui::GetStyle().FramePadding.y});
  for (std::size_t i = 0; i < std::size(live_keys); ++i) {
    const registry::RegisteredAllocator* const entry = registry::find(live_keys[i]);
    const char* const reason = entry ? why_not_buildable(state, *entry) : "is not compiled";
    const std::string text =
        fmt::format("{} {}", i + 1, entry ? entry->traits->label : live_keys[i]);
    ImGui::SameLine(0, em * 0.3f);
    // Those that do not fit are left out: the lists have all of them.
    if (ImGui::GetContentRegionAvail().x < ui::width_of(text) + em * 0.6f) break;
    const bool a = entry == state.choice.allocator, b = entry == state.choice.other;
    ImGui::PushStyleColor(ImGuiCol_Text, b ? colour::second : a ? colour::accent : colour::dim);
    ImGui::BeginDisabled(reason);
    if (ImGui::Button(text.c_str())) choose_live(state, ImGui::GetIO().KeyShift ? 0 : 1, *entry);
    ImGui::EndDisabled();
    ImGui::PopStyleColor();
    state.places.note(fmt::format("choice {}", i + 1));
    if (reason) ui::hint(reason);
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
