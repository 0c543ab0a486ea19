// SPDX-License-Identifier: MIT
// The lower part of the window: the pool at one time of a recorded or running build, for one or two
// allocators side by side, with the time slider, curves and the tree's growth
// (panel_heap_plots.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "bench/results/format.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

namespace {

constexpr float cell_pixels = 3;

void update(HeapView& view, HeapView::Drawn& drawn, const Recording& recording, unsigned columns,
            unsigned rows) {
  const std::uint32_t time = view.time(recording);
  const std::uint64_t shown = view.shown_bytes();
  const bool same_frame = drawn.map && drawn.of == &recording && drawn.map->columns == columns &&
                          drawn.map->rows == rows && drawn.whole == view.whole_pool &&
                          (view.watched || drawn.map->bytes == shown) &&
                          drawn.colours == view.colours && drawn.marked == view.marked;
  if (same_frame && drawn.map->time == time && drawn.map->bytes == shown) return;
  // A running build changes in every frame: a map of many blocks is updated less often, so that the
  // window stays smooth.
  const double now = ImGui::GetTime();
  if (same_frame && view.watched && now - drawn.drawn_at < 8 * drawn.took) return;
  const auto start = std::chrono::steady_clock::now();
  drawn.map.emplace(recording, time, columns, rows, shown, view.whole_pool, view.marked);
  drawn.marked = view.marked;
  drawn.of = &recording;
  drawn.whole = view.whole_pool;
  drawn.colours = view.colours;
  drawn.texture.upload(columns, rows, drawn.map->colours(recording, view.colours).data(), false);
  drawn.drawn_at = now;
  drawn.took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

const workloads::Block* block_at(const Recording& recording, const HeapMap& map, ImVec2 at) {
  const auto column = static_cast<std::uint64_t>(at.x * static_cast<float>(map.columns)),
             row = static_cast<std::uint64_t>(at.y * static_cast<float>(map.rows));
  const std::uint64_t offset = (row * map.columns + column) * map.cell_bytes;
  return first_block(recording, map.time, offset, offset + map.cell_bytes);
}

void tell_cell(const Recording& recording, const HeapMap& map, ImVec2 at) {
  const auto column = static_cast<std::uint64_t>(std::clamp(at.x, 0.0f, 0.99999f) *
                                                 static_cast<float>(map.columns));
  const auto row =
      static_cast<std::uint64_t>(std::clamp(at.y, 0.0f, 0.99999f) * static_cast<float>(map.rows));
  const std::uint64_t index = row * map.columns + column, offset = index * map.cell_bytes;
  if (offset >= map.bytes) return;
  const HeapCell& cell = map.cells[index];
  ImGui::BeginTooltip();
  ImGui::TextDisabled("at %s, %s per cell", bench::bytes_text(offset).c_str(),
                      bench::bytes_text(map.cell_bytes).c_str());
  if (const workloads::Block* block =
          first_block(recording, map.time, offset, offset + map.cell_bytes)) {
    ImGui::Text("%s block at %s", bench::bytes_text(block->bytes).c_str(),
                bench::count_text(block->offset).c_str());
    const char* what = block->in_use(map.time) ? "allocated" : "freed, never reused; allocated";
    if (recording.in_rounds()) {
      ImGui::TextDisabled("%s for vertex %u, %s", what, block->warp,
                          recording.time_text(block->born + 1).c_str());
    } else {
      ImGui::TextDisabled("%s by warp %u at event %s", what, block->warp,
                          bench::count_text(block->born).c_str());
    }
    if (const Recording::NodeEvent* node = recording.node_of(*block))
      ImGui::TextDisabled("array of a %s of %s refs at depth %u; click to show it",
                          node->leaf ? "leaf" : "node", bench::count_text(node->refs).c_str(),
                          node->depth);
    if (block->released != workloads::never)
      ImGui::TextDisabled("freed: %s", recording.time_text(block->released).c_str());
  } else {
    ImGui::TextUnformatted(cell.touched ? "free, used before" : "never used");
  }
  if (cell.used_bytes) {
    ImGui::TextDisabled("%.0f%% of the cell in use", 100.0 * static_cast<double>(cell.used_bytes) /
                                                         static_cast<double>(map.cell_bytes));
  }
  ImGui::EndTooltip();
}

// A frame around a run of cells, which continues from row to row.
void outline(const HeapMap::Run& run, const HeapMap& map, ImVec2 at, ImVec2 size) {
  if (run.count == 0) return;
  const std::uint64_t last = run.first + run.count - 1;
  const auto x = [&](std::uint64_t column) {
    return at.x + size.x * static_cast<float>(column) / static_cast<float>(map.columns);
  };
  const auto y = [&](std::uint64_t row) {
    return at.y + size.y * static_cast<float>(row) / static_cast<float>(map.rows);
  };
  const std::uint64_t r0 = run.first / map.columns, r1 = last / map.columns;
  const float x0 = x(run.first % map.columns), x1 = x(last % map.columns + 1);
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const ImU32 shade = ImGui::GetColorU32(colour::hole);
  if (r0 == r1) return draw.AddRect({x0, y(r0)}, {x1, y(r0 + 1)}, shade, 0, 0, 1.5f);
  const ImVec2 corners[] = {{x0, y(r0)},       {x(map.columns), y(r0)}, {x(map.columns), y(r1)},
                            {x1, y(r1)},       {x1, y(r1 + 1)},         {x(0), y(r1 + 1)},
                            {x(0), y(r0 + 1)}, {x0, y(r0 + 1)}};
  draw.AddPolyline(corners, 8, shade, ImDrawFlags_Closed, 1.5f);
}

const char* hole_name(const HeapView& view) {
  return view.whole_pool ? "largest hole of the pool" : "largest hole";
}

// State of the recording in a word or two.
std::string origin_text(const HeapView& view, const Recording& recording) {
  if (view.watched && view.watched->recording.get() == &recording)
    return view.playing ? "live, " : "live, paused, ";
  if (!recording.finished) return "stopped, ";
  if (recording.events_in_all > recording.events) return "cut off, ";
  return recording.device == "cpu" ? "" : "recorded on " + recording.device + ", ";
}

// The allocator and the pool's use at the time, as much text as fits over the map.
void draw_map_title(State& state, const HeapView& view, std::size_t which, float width) {
  const Recording& recording = *view.recordings[which];
  const bool one = view.recordings.size() == 1;
  ImGui::PushFont(fonts().bold);
  ImGui::TextColored(one          ? colour::text
                     : which == 0 ? colour::accent
                                  : colour::second,
                     "%s", recording.label.c_str());
  ImGui::PopFont();
  const float room = width - ImGui::GetItemRectSize().x - ImGui::GetStyle().ItemSpacing.x;
  const auto fits = [&](const std::string& text) {
    return ImGui::CalcTextSize(text.c_str()).x <= room;
  };
  const bool cut_off = recording.events_in_all > recording.events;
  const bool frees = recording.frees != alloc::Frees::never;
  std::string used = origin_text(view, recording), blocks, hole;
  if (const auto& map = view.drawn[which].map) {
    used += bench::bytes_text(map->taken_bytes) + (frees ? "" : " taken, never freed");
    blocks =
        fmt::format("{} {} blocks", frees ? " in" : ",", bench::compact_text(map->taken_blocks));
    hole = fmt::format(", {} {}", hole_name(view), bench::bytes_text(map->hole_bytes));
  } else {
    used += bench::bytes_text(recording.at(view.time(recording)).used_bytes);
  }
  std::string text = used + blocks + hole;
  if (!fits(text)) text = used + hole;
  if (!fits(text)) text = used;
  state.places.texts[fmt::format("title {}", which)] = text;
  ImGui::SameLine();
  ImGui::TextColored(cut_off || !recording.finished ? colour::warning : colour::dim, "%s",
                     text.c_str());
  std::string hint = frees ? "Requested bytes in use."
                           : "Requested bytes of all blocks so far: this allocator never frees.";
  hint += view.whole_pool
              ? " Largest hole of the pool: the largest free region of the whole pool, outlined."
              : " Largest hole: the largest free region below the highest address reached so far, "
                "outlined where it is larger than a cell.";
  if (recording.device != "cpu") hint += " A GPU's recording can be read only after the build.";
  if (cut_off) {
    hint += fmt::format(" The buffer held the first {} of {} events.",
                        bench::count_text(recording.events),
                        bench::count_text(recording.events_in_all));
  }
  ui::hint(hint.c_str());
}

}  // namespace

void draw_map(State& state, HeapView& view, std::size_t which, float width, float height) {
  const Recording& recording = *view.recordings[which];
  ImGui::BeginGroup();
  if (!recording.in_pool) {
    draw_map_title(state, view, which, width);
    ui::dim_text("Its blocks are outside the pool.");
    ImGui::EndGroup();
    return;
  }
  const float scale = std::max(1.0f, ImGui::GetFontSize() / 15);
  const float map_height =
      std::max(height - ImGui::GetFrameHeightWithSpacing(), ImGui::GetFontSize());
  update(view, view.drawn[which], recording, static_cast<unsigned>(width / (cell_pixels * scale)),
         static_cast<unsigned>(map_height / (cell_pixels * scale)));
  draw_map_title(state, view, which, width);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Image(view.drawn[which].texture.imgui(), {width, map_height});
  state.places.note(fmt::format("map {}", which));
  HeapView::Drawn& drawn = view.drawn[which];
  drawn.x = at.x;
  drawn.y = at.y;
  drawn.width = width;
  drawn.height = map_height;
  outline(drawn.map->hole_cells(), *drawn.map, at, {width, map_height});
  if (ImGui::IsItemHovered()) {
    const ImVec2 mouse = ImGui::GetIO().MousePos;
    const ImVec2 place{(mouse.x - at.x) / width, (mouse.y - at.y) / map_height};
    tell_cell(recording, *view.drawn[which].map, place);
    if (ImGui::IsItemClicked()) {
      const workloads::Block* block = block_at(recording, *view.drawn[which].map, place);
      if (block) show_node_of(state, recording, *block);
    }
  }
  ImGui::EndGroup();
}

namespace {

// A slider that shows a text instead of its value.
bool text_slider(const char* id, float& value, float low, float high, const std::string& text) {
  return ImGui::SliderFloat(id, &value, low, high, text.c_str(), ImGuiSliderFlags_NoInput);
}

// The pace of a recorded build; unlimited at the right end.
void draw_pace(State& state) {
  HeapView& view = state.heap;
  const bool cpu = state.choice.device.id.kind == simt::DeviceKind::cpu;
  auto exponent = static_cast<float>(std::log10(view.pace));
  const auto log_min = static_cast<float>(std::log10(HeapView::min_pace)),
             log_max = static_cast<float>(std::log10(HeapView::full_pace));
  ImGui::BeginDisabled(!cpu);
  const bool full = view.pace >= HeapView::full_pace;
  const std::string text =
      full ? "full speed"
           : bench::compact_text(static_cast<std::uint64_t>(std::llround(view.pace))) + " events/s";
  if (text_slider("##pace", exponent, log_min, log_max, text)) {
    view.pace =
        exponent >= log_max ? HeapView::full_pace : std::pow(10.0, static_cast<double>(exponent));
  }
  ImGui::EndDisabled();
  state.places.note("pace");
  ui::hint(
      cpu ? "Pace of a recorded build: slow it down to watch it while it runs."
          : "A GPU's recording can be read only after the build, so it cannot be watched live.");
}

void draw_controls(State& state) {
  HeapView& view = state.heap;
  const Recording& first = *view.recordings.front();
  if (ui::button(state, view.playing ? "Pause" : "Play", true, true, ImGui::GetFontSize() * 4))
    view.toggle_play();
  ImGui::SameLine();
  // Width of the following widgets; if too little is left, the slider has its own line.
  const float em = ImGui::GetFontSize(), others = em * 19, rest = ImGui::GetContentRegionAvail().x;
  ImGui::SetNextItemWidth(rest - others > em * 8 ? rest - others : -1);
  float place = static_cast<float>(view.place);
  const bool worst = !view.playing && view.place == first.worst_place();
  const std::string time =
      view.watched && view.place >= 1
          ? fmt::format("event {}", bench::count_text(view.watched->recording->events))
          : (worst ? "worst moment: " : "") + first.time_text(view.time(first));
  state.places.texts["time"] = time;
  if (text_slider("##time", place, 0, 1, time)) {
    view.place = place;
    view.playing = view.watched && view.playing;  // looking back does not pause the build
  }
  state.places.note("time");
  ui::flow(em * 8);
  if (ui::button(state, "Worst moment")) view.go_to_worst();
  ui::hint(
      "Where the share of free bytes outside the largest hole was greatest, below the highest "
      "address");
  ui::flow(em * 5);
  ImGui::SetNextItemWidth(em * 5);
  auto seconds = static_cast<float>(1 / view.speed);
  if (text_slider("##speed", seconds, 60, 2, fmt::format("{:.0f} s", seconds)))
    view.speed = 1 / static_cast<double>(seconds);
  state.places.note("speed");
  ui::hint("How long it takes to play what the plots show");
  ui::flow(em * 4);
  ImGui::Checkbox("loop", &view.loop);
  state.places.note("loop");
  ImGui::SetNextItemWidth(em * 8);
  draw_pace(state);
  ui::flow(em * 6);
  ImGui::SetNextItemWidth(em * 6);
  const char* names[] = {"by state", "by size", "by age"};
  if (ui::begin_combo(state, "##colours", names[static_cast<int>(view.colours)])) {
    for (int i = 0; i < 3; ++i) {
      if (ImGui::Selectable(names[i], static_cast<int>(view.colours) == i))
        view.colours = static_cast<HeapColours>(i);
      state.places.note(names[i]);
    }
    ImGui::EndCombo();
  }
  state.places.note("colours");
  ui::flow(em * 8);
  ImGui::Checkbox("whole pool", &view.whole_pool);
  state.places.note("whole pool");
  ui::hint("All addresses, including those never used");
  ui::flow(em * 8);
  ImGui::Checkbox("large plots", &view.large_plots);
  state.places.note("large plots");
  ui::hint("More width for the plots than for the maps");
  ui::flow(em * 9);
  ImGui::SetNextItemWidth(em * 9);
  if (ui::begin_combo(state, "##other",
                      state.choice.other ? state.choice.other->traits->label : "second: none")) {
    if (ImGui::Selectable("none", !state.choice.other)) state.choice.other = nullptr;
    for (const registry::RegisteredAllocator& entry : registry::allocators()) {
      if (!entry.traits->in_pool || why_not_buildable(state, entry)) continue;
      if (ImGui::Selectable(entry.traits->label, state.choice.other == &entry)) {
        state.choice.other = &entry;
        record_again(state);
      }
    }
    ImGui::EndCombo();
  }
  state.places.note("other");
  ui::hint("Records a second allocator on the same scene and pool, and shows both maps");
  ui::flow(em * 7);
  if (ui::button(state, "Record again")) record_again(state);
  ui::flow(em * 4);
  if (ui::button(state, "Export")) export_recordings(state, "");
  ui::hint("Saves the curves and the largest blocks as JSON for Perfetto and chrome://tracing");
}

}  // namespace

void draw_map_legend(State& state, const HeapView& view, const std::string& words) {
  const std::uint64_t shown = view.shown_bytes();
  const std::string what =
      shown ? fmt::format("{}, 0 to {}:", words, bench::bytes_text(shown)) : words + ":";
  state.places.texts["shown"] = what;
  ImGui::TextUnformatted(what.c_str());
  ui::hint("The pool's addresses, row by row. All maps have the same scale.");
  ImGui::SameLine();
  const auto swatch = [&](gl::Rgba8 c, const char* text, bool filled = true) {
    state.places.texts["legend"] += std::string(text) + "; ";
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float side = ImGui::GetFontSize() * 0.7f;
    if (filled)
      ImGui::GetWindowDrawList()->AddRectFilled({at.x, at.y + side * 0.3f},
                                                {at.x + side, at.y + side * 1.3f}, packed(c), 2);
    ImGui::GetWindowDrawList()->AddRect({at.x, at.y + side * 0.3f},
                                        {at.x + side, at.y + side * 1.3f},
                                        filled ? IM_COL32(255, 255, 255, 60) : packed(c),
                                        2);  // some colours are as dark as the background
    ImGui::Dummy({side, side});
    ImGui::SameLine();
    ImGui::TextDisabled("%s", text);
    ImGui::SameLine();
  };
  if (view.colours == HeapColours::state) {
    swatch(colour::used, "in use");
    const bool lost =
        std::any_of(view.recordings.begin(), view.recordings.end(),
                    [](const auto& recording) { return recording->frees == alloc::Frees::never; });
    if (lost) swatch(colour::abandoned, "freed, never reused");
  } else if (view.colours == HeapColours::size) {
    swatch(ramp_colour(0.25), "16 B");
    std::string largest;  // of each map
    for (const auto& recording : view.recordings) {
      const std::string text = bench::bytes_text(recording->largest_block);
      if (largest != text) largest += (largest.empty() ? "" : " and ") + text;
    }
    swatch(ramp_colour(1), largest.c_str());
  } else {
    swatch(ramp_colour(1), "just allocated");
    swatch(ramp_colour(0.2), "long ago");
  }
  const bool hole = std::any_of(view.recordings.begin(), view.recordings.end(),
                                [](const auto& recording) { return recording->in_pool; });
  if (hole) swatch({250, 217, 102, 255}, hole_name(view), false);
  if (!view.marked.empty()) swatch(colour::marked, "arrays of the node");
  swatch(colour::freed, "free, used before");
  swatch(colour::untouched, "never used");
  ImGui::NewLine();
}

void draw_heap(State& state, const Area& area) {
  HeapView& view = state.heap;
  ImGui::SetNextWindowPos({area.x, area.y});
  ImGui::SetNextWindowSize({area.width, area.height});
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoDecoration |
                                     ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                     ImGuiWindowFlags_NoBringToFrontOnFocus |
                                     ImGuiWindowFlags_NoScrollWithMouse;
  if (ImGui::Begin("heap", nullptr, flags)) {
    if (view.recordings.empty()) {
      ui::dim_text(
          "Nothing has been recorded yet. A recording shows the pool over time, with every request "
          "and every free.");
      ImGui::Dummy({0, 2});
      if (build_button(state, "Record a build", true, 0,
                       "Builds the tree of this scene once more and records every request (H)"))
        start_recording(state);
      ui::flow(ImGui::GetFontSize() * 12);
      ImGui::AlignTextToFramePadding();
      ImGui::TextDisabled("pace");
      ImGui::SameLine();
      ImGui::SetNextItemWidth(ImGui::GetFontSize() * 8);
      draw_pace(state);
    } else {
      view.play(ImGui::GetIO().DeltaTime);
      draw_controls(state);
      const float gap = ImGui::GetStyle().ItemSpacing.x, em = ImGui::GetFontSize();
      // The maps have priority: without space for both there are no plots.
      const float height = ImGui::GetContentRegionAvail().y - ImGui::GetTextLineHeightWithSpacing();
      const bool plots = ImGui::GetContentRegionAvail().x > em * 30 && height > em * 13;
      const float share = view.large_plots ? 0.6f : 0.26f;
      const float side = plots ? std::max(em * 15, area.width * share) : 0;
      const auto maps = static_cast<float>(view.recordings.size());
      const float width =
          std::max((ImGui::GetContentRegionAvail().x - side - gap * maps) / maps, em);
      for (std::size_t i = 0; i < view.recordings.size() && i < 2; ++i) {
        draw_map(state, view, i, width, height);
        ImGui::SameLine();
      }
      ImGui::BeginGroup();
      if (plots) draw_heap_plots(state, side, height);
      ImGui::EndGroup();
      draw_map_legend(state, view, recorded_name(state));
    }
  }
  ImGui::End();
}

}  // namespace heapwood::viewer
