// SPDX-License-Identifier: MIT
// The lower part of the window: the pool at a time of a recorded build, for one allocator or two side by side; under it
// the time, and beside it curves and the tree's growth.
#include <fmt/format.h>

#include <algorithm>

#include "app/format.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

namespace {

constexpr float cell_pixels = 3;

void update(HeapView& view, HeapView::Drawn& drawn, const Recording& recording, unsigned columns, unsigned rows) {
  const std::uint32_t time = view.time(recording);
  const bool same = drawn.map && drawn.of == &recording && drawn.map->time == time && drawn.map->columns == columns &&
                    drawn.map->rows == rows && drawn.whole == view.whole_pool;
  if (same && drawn.colours == view.colours) return;
  if (!same) drawn.map.emplace(recording, time, columns, rows, view.whole_pool);
  drawn.of = &recording;
  drawn.whole = view.whole_pool;
  drawn.colours = view.colours;
  drawn.texture.upload(columns, rows, drawn.map->colours(recording, view.colours).data(), false);
}

void tell_cell(const Recording& recording, const HeapMap& map, ImVec2 at) {
  const auto column = static_cast<std::uint64_t>(std::clamp(at.x, 0.0f, 0.99999f) * static_cast<float>(map.columns));
  const auto row = static_cast<std::uint64_t>(std::clamp(at.y, 0.0f, 0.99999f) * static_cast<float>(map.rows));
  const std::uint64_t index = row * map.columns + column, offset = index * map.cell_bytes;
  if (offset >= map.bytes) return;
  const HeapCell& cell = map.cells[index];
  ImGui::BeginTooltip();
  ImGui::TextDisabled("at %s, a cell is %s", app::bytes_text(offset).c_str(), app::bytes_text(map.cell_bytes).c_str());
  // The block at the cell's start, or the first that begins in it.
  const alloc::Block* block = nullptr;
  for (std::uint64_t at_byte = offset;
       !block && at_byte < offset + map.cell_bytes && cell.used_bytes + cell.abandoned_bytes;
       at_byte += std::max<std::uint64_t>(alloc::granule, map.cell_bytes / 64 / alloc::granule * alloc::granule)) {
    block = block_at(recording, map.time, at_byte);
  }
  if (block) {
    ImGui::Text("%s block at %s", app::bytes_text(block->bytes).c_str(), app::count_text(block->offset).c_str());
    ImGui::TextDisabled("%s by warp %u at event %s",
                        block->in_use(map.time) ? "allocated" : "given back, never reused; allocated", block->warp,
                        app::count_text(block->born).c_str());
    if (block->released != alloc::never) {
      ImGui::TextDisabled("freed at event %s", app::count_text(block->released).c_str());
    }
  } else {
    ImGui::TextUnformatted(cell.touched ? "free, was in use before" : "never used");
  }
  if (cell.used_bytes)
    ImGui::TextDisabled("%.0f%% of the cell in use",
                        100.0 * static_cast<double>(cell.used_bytes) / static_cast<double>(map.cell_bytes));
  ImGui::EndTooltip();
}

void draw_map(State& state, std::size_t which, float width, float height) {
  HeapView& view = state.heap;
  const Recording& recording = *view.recordings[which];
  ImGui::BeginGroup();
  ImGui::PushFont(fonts().bold);
  ImGui::TextUnformatted(recording.label.c_str());
  ImGui::PopFont();
  const alloc::Gaps now =
      recording.curve.empty() ? alloc::Gaps{} : recording.curve[recording.point(view.time(recording))];
  ImGui::SameLine();
  ImGui::TextDisabled("%s in %s blocks, gaps %.2f", app::bytes_text(now.used_bytes).c_str(),
                      app::compact_text(now.blocks).c_str(), now.external());
  ui::hint("Bytes in use as they were asked for; gaps: 1 - largest gap / all gaps between blocks, from the recording.");
  if (recording.events_in_all > recording.events) {
    ImGui::SameLine();
    ImGui::TextColored(colour::warning, "cut off: %s of %s events", app::compact_text(recording.events).c_str(),
                       app::compact_text(recording.events_in_all).c_str());
  }
  if (!recording.in_pool) {
    ui::dim_text("Its blocks lie outside of the pool.");
    ImGui::EndGroup();
    return;
  }
  const float scale = std::max(1.0f, ImGui::GetFontSize() / 15);
  const float map_height = height - ImGui::GetFrameHeightWithSpacing();
  update(view, view.drawn[which], recording, static_cast<unsigned>(width / (cell_pixels * scale)),
         static_cast<unsigned>(map_height / (cell_pixels * scale)));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Image(view.drawn[which].texture.imgui(), {width, map_height});
  state.places.note(fmt::format("map {}", which));
  HeapView::Drawn& drawn = view.drawn[which];
  drawn.x = at.x;
  drawn.y = at.y;
  drawn.width = width;
  drawn.height = map_height;
  if (ImGui::IsItemHovered()) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    tell_cell(recording, *view.drawn[which].map, {(mouse.x - at.x) / width, (mouse.y - at.y) / map_height});
  }
  ImGui::EndGroup();
}

// One curve over time, filled below; `top` is the value at the upper edge.
template <class Value>
void plot(const Recording& recording, ImVec2 at, ImVec2 size, double top, ImU32 shade, Value value) {
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  ImVec2 last{};
  for (std::size_t i = 0; i < recording.times.size(); ++i) {
    const double x = recording.events ? static_cast<double>(recording.times[i]) / recording.events : 0;
    const ImVec2 point{at.x + static_cast<float>(x) * size.x,
                       at.y + size.y * (1 - static_cast<float>(std::clamp(value(i) / top, 0.0, 1.0)))};
    if (i) draw.AddLine(last, point, shade, 1.6f);
    last = point;
  }
}

void draw_curves(State& state, ImVec2 size) {
  HeapView& view = state.heap;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  draw.AddRectFilled(at, {at.x + size.x, at.y + size.y}, IM_COL32(255, 255, 255, 7), 4);
  double most = 1;
  for (const auto& recording : view.recordings) most = std::max(most, static_cast<double>(recording->high_water_bytes));
  std::size_t k = 0;
  for (const auto& recording : view.recordings) {
    if (recording->curve.empty()) continue;
    const bool second = k++ == 1;
    plot(*recording, at, size, most * 1.05, ImGui::GetColorU32(second ? colour::second : colour::accent),
         [&](std::size_t i) { return static_cast<double>(recording->curve[i].used_bytes); });
    plot(*recording, at, size, 1.05, second ? IM_COL32(107, 173, 242, 110) : IM_COL32(242, 189, 92, 170),
         [&](std::size_t i) { return recording->curve[i].external(); });
  }
  const float x = at.x + static_cast<float>(view.place) * size.x;
  draw.AddLine({x, at.y}, {x, at.y + size.y}, IM_COL32(255, 255, 255, 110));
  ImGui::InvisibleButton("curves", size);
  if (ImGui::IsItemActive()) {
    view.playing = false;
    view.place = std::clamp((ImGui::GetIO().MousePos.x - at.x) / size.x, 0.0f, 1.0f);
  }
  ui::hint(
      "Green: bytes in use, to the most there were. Amber: gaps, 0 to 1. Blue: the second allocator. Drag to go "
      "through time.");
}

// Nodes by depth that are there at the time, over all that there will be.
void draw_levels(State& state, ImVec2 size) {
  const Recording& recording = *state.heap.recordings.front();
  const auto& now = recording.levels[recording.point(state.heap.time(recording))];
  const auto& end = recording.levels.back();
  std::uint32_t most = 1;
  for (const Recording::Level& level : end) most = std::max(most, level.inner + level.leaves);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const float bar = size.y / static_cast<float>(recording.depth + 1);
  ImGui::InvisibleButton("levels", size);
  const bool hovered = ImGui::IsItemHovered();
  for (unsigned depth = 0; depth <= recording.depth; ++depth) {
    const float y = at.y + bar * static_cast<float>(depth), thick = std::max(1.0f, bar - 1);
    const auto width = [&](std::uint32_t n) { return size.x * static_cast<float>(n) / static_cast<float>(most); };
    const std::uint32_t all = end[depth].inner + end[depth].leaves;
    draw.AddRectFilled({at.x, y}, {at.x + std::max(1.0f, width(all)), y + thick}, IM_COL32(255, 255, 255, 16));
    const float inner = width(now[depth].inner), leaves = width(now[depth].leaves);
    draw.AddRectFilled({at.x, y}, {at.x + inner, y + thick}, IM_COL32(104, 196, 134, 255));
    draw.AddRectFilled({at.x + inner, y}, {at.x + inner + leaves, y + thick}, IM_COL32(242, 189, 92, 255));
    if (hovered && ImGui::GetIO().MousePos.y >= y && ImGui::GetIO().MousePos.y < y + bar) {
      ImGui::SetTooltip("depth %u: %s inner nodes, %s leaves; %s in the end", depth,
                        app::count_text(now[depth].inner).c_str(), app::count_text(now[depth].leaves).c_str(),
                        app::count_text(all).c_str());
    }
  }
}

void draw_controls(State& state) {
  HeapView& view = state.heap;
  const Recording& first = *view.recordings.front();
  if (ui::button(state, view.playing ? "Pause" : "Play", true, true, ImGui::GetFontSize() * 4)) {
    if (!view.playing && view.place >= 1) view.place = 0;
    view.playing = !view.playing;
  }
  ImGui::SameLine();
  ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - ImGui::GetFontSize() * 37);
  float place = static_cast<float>(view.place);
  if (ImGui::SliderFloat(
          "##time", &place, 0, 1,
          fmt::format("event {} of {}", app::count_text(view.time(first)), app::count_text(first.events)).c_str())) {
    view.place = place;
    view.playing = false;
  }
  state.places.note("time");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(ImGui::GetFontSize() * 6);
  const char* names[] = {"by state", "by size", "by age"};
  if (ImGui::BeginCombo("##colours", names[static_cast<int>(view.colours)])) {
    for (int i = 0; i < 3; ++i) {
      if (ImGui::Selectable(names[i], static_cast<int>(view.colours) == i)) view.colours = static_cast<HeapColours>(i);
      state.places.note(names[i]);
    }
    ImGui::EndCombo();
  }
  state.places.note("colours");
  ImGui::SameLine();
  ImGui::Checkbox("whole pool", &view.whole_pool);
  state.places.note("whole pool");
  ui::hint("All addresses, also those that no block ever reached");
  ImGui::SameLine();
  ImGui::SetNextItemWidth(ImGui::GetFontSize() * 9);
  if (ImGui::BeginCombo("##other", state.choice.other ? state.choice.other->traits->label : "beside it: none",
                        ImGuiComboFlags_HeightLarge)) {
    if (ImGui::Selectable("none", !state.choice.other)) state.choice.other = nullptr;
    for (const engine::Entry& entry : engine::registry()) {
      if (!entry.traits->in_pool || !entry.on(state.choice.device.id.kind)) continue;
      if (ImGui::Selectable(entry.traits->label, state.choice.other == &entry)) {
        state.choice.other = &entry;
        start_recording(state);
      }
    }
    ImGui::EndCombo();
  }
  state.places.note("other");
  ui::hint("Records a second allocator on the same build, and shows both");
  ImGui::SameLine();
  if (ui::button(state, "Record again")) start_recording(state);
  ImGui::SameLine();
  if (ui::button(state, "Close")) view.visible = false;
}

void draw_key(const HeapView& view, const Recording& recording) {
  const auto swatch = [&](gl::Rgba8 c, const char* text) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float side = ImGui::GetFontSize() * 0.7f;
    ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + side * 0.3f}, {at.x + side, at.y + side * 1.3f}, packed(c),
                                              2);
    ImGui::Dummy({side, side});
    ImGui::SameLine();
    ImGui::TextDisabled("%s", text);
    ImGui::SameLine();
  };
  if (view.colours == HeapColours::state) {
    swatch(colour::used, "in use");
    if (recording.frees == alloc::Frees::never) swatch(colour::abandoned, "given back, lost");
  } else if (view.colours == HeapColours::size) {
    swatch(ramp_colour(0.25), "16 B");
    swatch(ramp_colour(1), app::bytes_text(recording.largest_block).c_str());
  } else {
    swatch(ramp_colour(1), "just allocated");
    swatch(ramp_colour(0.2), "long ago");
  }
  swatch(colour::freed, "free again");
  swatch(colour::untouched, "never used");
  ImGui::NewLine();
}

}  // namespace

void draw_heap(State& state, const Area& area) {
  HeapView& view = state.heap;
  ImGui::SetNextWindowPos({area.x, area.y});
  ImGui::SetNextWindowSize({area.width, area.height});
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                     ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoBringToFrontOnFocus;
  if (ImGui::Begin("heap", nullptr, flags)) {
    if (view.recordings.empty()) {
      ui::dim_text(
          "No build has been recorded yet. 'Heap map' (H) records one with the allocator that is chosen, and shows "
          "the pool while it runs.");
    } else {
      if (view.playing) {
        view.place += view.speed * ImGui::GetIO().DeltaTime;
        if (view.place >= 1) {
          view.place = 1;
          view.playing = false;
        }
      }
      draw_controls(state);
      const float side = std::max(ImGui::GetFontSize() * 13, area.width * 0.2f);
      const float gap = ImGui::GetStyle().ItemSpacing.x;
      const float height = ImGui::GetContentRegionAvail().y - ImGui::GetTextLineHeightWithSpacing();
      const auto maps = static_cast<float>(view.recordings.size());
      const float width = (ImGui::GetContentRegionAvail().x - side - gap * maps) / maps;
      for (std::size_t i = 0; i < view.recordings.size() && i < 2; ++i) {
        draw_map(state, i, width, height);
        ImGui::SameLine();
      }
      ImGui::BeginGroup();
      const float text = ImGui::GetTextLineHeightWithSpacing();
      ImGui::TextDisabled("bytes in use, gaps");
      draw_curves(state, {side, (height - 2 * text) * 0.42f});
      ImGui::TextDisabled("nodes by depth");
      draw_levels(state, {side, (height - 2 * text) * 0.54f});
      ImGui::EndGroup();
      draw_key(view, *view.recordings.front());
    }
  }
  ImGui::End();
}

}  // namespace heapwood::viewer
