// SPDX-License-Identifier: MIT
// The Heap tab: the pool at one time of a recording, for one or two allocators next to each other,
// with the time slider; next to the maps, curves of memory and fragmentation over the recording.
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

// The curves of a recording.
constexpr struct {
  const char* name;
  const ImVec4& shade;
  std::uint64_t (*bytes)(const Recording::Point&);
} curves[] = {
    {"in use", colour::accent, [](const auto& p) { return p.used_bytes; }},
    {"peak", colour::text, [](const auto& p) { return p.high_water_bytes; }},
    {"highest address", colour::dim, [](const auto& p) { return p.pool.mark_bytes; }},
    {"largest hole", colour::marked, [](const auto& p) { return p.pool.largest_below_bytes; }}};

void tell_values(const HeapView& view, double place) {
  ImGui::BeginTooltip();
  for (const auto& recording : view.recordings) {
    const auto& point = recording->at(recording->time_at(place));
    ui::text(fmt::format("{}, {}", recording->label, recording->time_text(point.time)));
    for (const auto& curve : curves)
      ui::text(fmt::format("  {} {}", curve.name, bench::bytes_text(curve.bytes(point))),
               colour::dim);
  }
  ui::text("Click: set the time.", colour::dim);
  ImGui::EndTooltip();
}

void draw_heap_plot(State& state, float width, float height) {
  HeapView& view = state.heap;
  const float em = ImGui::GetFontSize(), scale = em * 4.4f;
  for (const auto& curve : curves) {
    if (&curve != curves) ui::flow(ui::width_of(curve.name));
    ui::text(curve.name, curve.shade);
    ui::hint(
        "Requested bytes in use; their peak so far; the highest address reached; the largest free "
        "region below it. Logarithmic.");
  }
  ImGui::SetCursorPosX(ImGui::GetCursorPosX() + scale);
  const ui::Plot plot(state, "memory curves",
                      {width - scale, height - 2 * ImGui::GetTextLineHeightWithSpacing()}, 7);
  // Logarithmic down to a 256th: live blocks are a small part of what a scattering allocator has
  // touched.
  const double maximum = std::max(1.0, static_cast<double>(view.shown_bytes()));
  const auto height_of = [&](double bytes) {
    return bytes > 0 ? 1 + std::log2(bytes / maximum) / 8 : 0;
  };
  for (const double value : {maximum, maximum / 16, maximum / 256}) {
    const float y = plot.place(0, height_of(value)).y;
    ui::line({plot.corner.x, y}, {plot.end.x, y}, ui::tint(18));
    const std::string label = bench::bytes_text(static_cast<std::uint64_t>(value));
    ui::text_at({plot.corner.x - em * 0.4f - ui::width_of(label),
                 std::clamp(y - em / 2, plot.corner.y, std::max(plot.corner.y, plot.end.y - em))},
                label, ImGui::GetColorU32(ImGuiCol_TextDisabled));
  }
  for (std::size_t i = 0; i < view.recordings.size(); ++i) {
    const Recording& recording = *view.recordings[i];
    for (const auto& curve : curves) {
      const ImU32 shade = ui::tint(i == 1 ? 110 : 255, curve.shade);  // the second one is faint
      ImVec2 last;
      for (const Recording::Point& point : recording.points) {
        const ImVec2 here = plot.place(recording.place_of(point.time),
                                       height_of(static_cast<double>(curve.bytes(point))));
        if (recording.in_pool && &point != &recording.points.front())
          ui::line(last, here, shade, 1.4f);
        last = here;
      }
    }
  }
  const float x = plot.place(view.place, 0).x;
  ui::line({x, plot.corner.y}, {x, plot.end.y}, ui::tint(110));
  const float share = (ImGui::GetIO().MousePos.x - plot.corner.x) / plot.size.x;
  const double under = std::clamp(static_cast<double>(share), 0.0, 1.0);
  if (ImGui::IsItemActive()) {
    view.place = under;
    view.playing = false;
  }
  if (plot.hovered) tell_values(view, under);
}

constexpr float cell_pixels = 3;

gl::Rgba8 used_colour(std::size_t which) { return which ? colour::used_by_b : colour::used; }

void update(HeapView& view, std::size_t which, const Recording& recording, unsigned columns,
            unsigned rows) {
  HeapView::Drawn& drawn = view.drawn[which];
  const std::uint32_t time = view.time(recording);
  const std::uint64_t shown = view.shown_bytes();
  if (drawn.map && drawn.of == &recording && drawn.map->columns == columns &&
      drawn.map->rows == rows && drawn.map->bytes == shown && drawn.map->time == time &&
      drawn.shade == used_colour(which))
    return;
  drawn.map.emplace(recording, time, columns, rows, shown);
  drawn.of = &recording;
  drawn.shade = used_colour(which);
  drawn.texture.upload(columns, rows, drawn.map->colours(drawn.shade).data(), false);
}

// Shows a tooltip that explains a cell. `block`: the first block in it, or nullptr.
void tell_cell(const Recording& recording, const HeapMap& map, std::uint64_t index,
               const workloads::Block* block) {
  const HeapCell& cell = map.cells[index];
  ImGui::BeginTooltip();
  ui::text(fmt::format("at {}, {} per cell", bench::bytes_text(index * map.cell_bytes),
                       bench::bytes_text(map.cell_bytes)),
           colour::dim);
  if (block) {
    ui::text(fmt::format("{} block at {}", bench::bytes_text(block->bytes),
                         bench::count_text(block->offset)));
    ui::text(fmt::format("{} by warp {} at event {}",
                         block->in_use(map.time) ? "allocated" : "freed, never reused; allocated",
                         block->warp, bench::count_text(block->born)),
             colour::dim);
    if (block->released != workloads::never)
      ui::text("freed: " + recording.time_text(block->released), colour::dim);
  } else {
    ui::text(cell.touched ? "free, used before" : "never used");
  }
  if (cell.used_bytes)
    ui::text(
        fmt::format("{:.0f}% of the cell in use", 100.0 * static_cast<double>(cell.used_bytes) /
                                                      static_cast<double>(map.cell_bytes)),
        colour::dim);
  ImGui::EndTooltip();
}

// Draws a frame around a run of cells that may continue over several rows.
void outline(const HeapMap::Run& run, const HeapMap& map, ImVec2 corner, ImVec2 size) {
  if (run.count == 0) return;
  const std::uint64_t last = run.first + run.count - 1;
  const auto x = [&](std::uint64_t column) {
    return corner.x + size.x * static_cast<float>(column) / static_cast<float>(map.columns);
  };
  const auto y = [&](std::uint64_t row) {
    return corner.y + size.y * static_cast<float>(row) / static_cast<float>(map.rows);
  };
  const std::uint64_t r0 = run.first / map.columns, r1 = last / map.columns;
  const float x0 = x(run.first % map.columns), x1 = x(last % map.columns + 1);
  ImDrawList& draw = *ImGui::GetWindowDrawList();
  const ImU32 shade = ImGui::GetColorU32(colour::marked);
  if (r0 == r1) return draw.AddRect({x0, y(r0)}, {x1, y(r0 + 1)}, shade, 0, 0, 1.5f);
  const ImVec2 corners[] = {{x0, y(r0)},       {x(map.columns), y(r0)}, {x(map.columns), y(r1)},
                            {x1, y(r1)},       {x1, y(r1 + 1)},         {x(0), y(r1 + 1)},
                            {x(0), y(r0 + 1)}, {x0, y(r0 + 1)}};
  draw.AddPolyline(corners, 8, shade, ImDrawFlags_Closed, 1.5f);
}

// Draws the allocator and the pool's use at the time, as much of the text as fits over the map.
void draw_map_title(State& state, const HeapView& view, std::size_t which, float width) {
  const Recording& recording = *view.recordings[which];
  const bool one = view.recordings.size() == 1;
  ui::styled_text(fonts().bold, recording.label, one ? colour::text : ui::shade_of(which));
  const float room = width - ImGui::GetItemRectSize().x - ImGui::GetStyle().ItemSpacing.x;
  const bool cut_off = recording.events_in_all > recording.events;
  const bool frees = recording.frees != alloc::Frees::never;
  std::string used = cut_off                     ? "cut off, "
                     : recording.device == "cpu" ? ""
                                                 : "recorded on " + recording.device + ", ",
              blocks, hole;
  if (const auto& map = view.drawn[which].map) {
    used += bench::bytes_text(map->taken_bytes) + (frees ? "" : " taken, never freed");
    blocks =
        fmt::format("{} {} blocks", frees ? " in" : ",", bench::compact_text(map->taken_blocks));
    hole = ", largest hole " + bench::bytes_text(map->hole_bytes);
  } else {
    used += bench::bytes_text(recording.at(view.time(recording)).used_bytes);
  }
  std::string text = used + blocks + hole;
  if (ui::width_of(text) > room) text = used + hole;
  if (ui::width_of(text) > room) text = used;
  ImGui::SameLine();
  ui::text(state.places.texts[fmt::format("title {}", which)] = text,
           cut_off ? colour::warning : colour::dim);
  std::string hint = frees ? "Requested bytes in use."
                           : "Requested bytes of all blocks so far: this allocator never frees.";
  hint +=
      " Largest hole: the largest free region below the highest address reached so far, outlined "
      "where it is larger than a cell.";
  if (cut_off)
    hint += fmt::format(" The buffer held the first {} of {} events.",
                        bench::count_text(recording.events),
                        bench::count_text(recording.events_in_all));
  ui::hint(hint);
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
  HeapView::Drawn& drawn = view.drawn[which];
  update(view, which, recording, static_cast<unsigned>(width / (cell_pixels * scale)),
         static_cast<unsigned>(map_height / (cell_pixels * scale)));
  draw_map_title(state, view, which, width);
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  ImGui::Image(drawn.texture.imgui(), {width, map_height});
  state.places.note(fmt::format("map {}", which));
  drawn.area = {corner.x, corner.y, width, map_height};
  const HeapMap& map = *drawn.map;
  outline(map.hole_cells(), map, corner, {width, map_height});
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const auto cell = [](float place, float length, unsigned count) {
    const float share = std::clamp(place / length, 0.0f, 0.99999f);
    return static_cast<std::uint64_t>(share * static_cast<float>(count));
  };
  const std::uint64_t index = cell(mouse.y - corner.y, map_height, map.rows) * map.columns +
                              cell(mouse.x - corner.x, width, map.columns),
                      offset = index * map.cell_bytes;
  if (ImGui::IsItemHovered() && offset < map.bytes) {
    tell_cell(recording, map, index,
              first_block(recording, map.time, offset, offset + map.cell_bytes));
  }
  ImGui::EndGroup();
}

namespace {

void draw_controls(State& state) {
  HeapView& view = state.heap;
  const Recording& first = *view.recordings.front();
  if (ui::button(state, view.playing ? "Pause" : "Play", true, true, ImGui::GetFontSize() * 4))
    view.toggle_play();
  ImGui::SameLine();
  // `others`: the width of the widgets after the slider. Without space the slider has its own line.
  const float em = ImGui::GetFontSize(), others = em * 26, rest = ImGui::GetContentRegionAvail().x;
  ImGui::SetNextItemWidth(rest - others > em * 8 ? rest - others : -1);
  float place = static_cast<float>(view.place);
  const bool worst = !view.playing && view.time(first) == first.tightest().time;
  const std::string time = (worst ? "worst moment: " : "") + first.time_text(view.time(first));
  state.places.texts["time"] = time;
  if (ImGui::SliderFloat("##time", &place, 0, 1, time.c_str(), ImGuiSliderFlags_NoInput)) {
    view.place = place;
    view.playing = false;
  }
  state.places.note("time");
  ui::flow(em * 8);
  if (ui::button(state, "Worst moment")) view.go_to_worst();
  ui::hint(
      "When the pool's largest hole is smallest: a large request is most likely to be refused");
  ui::flow(em * 9);
  ImGui::SetNextItemWidth(em * 9);
  if (ui::begin_combo(state, "##other",
                      state.choice.other ? state.choice.other->traits->label : "second: none")) {
    if (ui::item("none", !state.choice.other)) state.choice.other = nullptr;
    for (const registry::RegisteredAllocator& entry : registry::allocators()) {
      if (!entry.traits->in_pool || why_not_buildable(state, entry)) continue;
      if (!ui::item(entry.traits->label, state.choice.other == &entry)) continue;
      state.choice.other = &entry;
      record_again(state);
    }
    ImGui::EndCombo();
  }
  state.places.note("other");
  ui::hint("Records a second allocator on the same scene and pool, and shows both maps");
  ui::flow(em * 7);
  if (ui::button(state, "Record again")) record_again(state);
}

}  // namespace

void draw_map_legend(State& state, const HeapView& view, const std::string& words) {
  const std::uint64_t shown = view.shown_bytes();
  ui::text(state.places.texts["shown"] =
               shown ? fmt::format("{}, 0 to {}:", words, bench::bytes_text(shown)) : words + ":");
  ui::hint("The pool's addresses, row by row. All maps have the same scale.");
  ImGui::SameLine();
  const auto swatch = [&](gl::Rgba8 c, const char* text, bool filled = true) {
    if (*text) state.places.texts["legend"] += std::string(text) + "; ";
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float side = ImGui::GetFontSize() * 0.7f;
    const ImVec2 low{corner.x, corner.y + side * 0.3f},
        high{corner.x + side, corner.y + side * 1.3f};
    if (filled) ui::fill(low, high, packed(c), 2);
    // The frame is needed because some colours are like the background.
    ImGui::GetWindowDrawList()->AddRect(
        low, high, filled ? ui::tint(60) : ImGui::GetColorU32(colour::marked), 2);
    ImGui::Dummy({side, side});
    ImGui::SameLine();
    if (!*text) return;
    ui::text(text, colour::dim);
    ImGui::SameLine();
  };
  for (std::size_t i = 0; i < view.recordings.size() && i < 2; ++i)
    swatch(used_colour(i), i + 1 < view.recordings.size() ? "" : "in use");
  if (std::ranges::any_of(view.recordings, [](const auto& recording) {
        return recording->frees == alloc::Frees::never;
      }))
    swatch(colour::abandoned, "freed, never reused");
  const bool hole = std::ranges::any_of(view.recordings,
                                        [](const auto& recording) { return recording->in_pool; });
  if (hole) swatch({}, "largest hole", false);
  swatch(colour::freed, "free, used before");
  swatch(colour::untouched, "never used");
  ImGui::NewLine();
}

void draw_heap(State& state, const Area& area) {
  HeapView& view = state.heap;
  if (ui::begin_area("heap", area, ui::fixed | ImGuiWindowFlags_NoScrollWithMouse)) {
    if (view.recordings.empty()) {
      ui::dim_text(
          "Nothing has been recorded yet. A recording shows the pool over time, with every request "
          "and every free.");
      ImGui::Dummy({0, 2});
      if (build_button(state, "Record a build", true, 0,
                       "Builds the tree of this scene once more and records every request (H)"))
        start_recording(state);
    } else {
      view.play(ImGui::GetIO().DeltaTime);
      draw_controls(state);
      const float gap = ImGui::GetStyle().ItemSpacing.x, em = ImGui::GetFontSize();
      // If there is not enough space for maps and plots, there are no plots.
      const float height = ImGui::GetContentRegionAvail().y - ImGui::GetTextLineHeightWithSpacing();
      const bool plots = ImGui::GetContentRegionAvail().x > em * 30 && height > em * 13;
      const float side = plots ? std::max(em * 15, area.width * 0.3f) : 0;
      const auto maps = static_cast<float>(view.recordings.size());
      const float width =
          std::max((ImGui::GetContentRegionAvail().x - side - gap * maps) / maps, em);
      for (std::size_t i = 0; i < view.recordings.size() && i < 2; ++i) {
        draw_map(state, view, i, width, height);
        ImGui::SameLine();
      }
      ImGui::BeginGroup();
      if (plots) draw_heap_plot(state, side, height);
      ImGui::EndGroup();
      draw_map_legend(state, view, recorded_name(state));
    }
  }
  ImGui::End();
}

void draw_recorded_sections(State& state) {
  const auto& recordings = state.heap.recordings;
  if (recordings.empty()) return;
  if (ui::section("Memory")) {
    for (std::size_t i = 0; i < recordings.size(); ++i) {
      const Recording& r = *recordings[i];
      ui::styled_text(fonts().bold, r.label,
                      recordings.size() == 1 ? colour::text : ui::shade_of(i));
      if (!ui::begin_rows(i ? "memory of B" : "memory of A")) continue;
      ui::row("pool",
              state.places.texts[fmt::format("pool {}", i)] = bench::bytes_text(r.pool_bytes));
      ui::row("peak in use", bench::bytes_text(r.high_water_bytes),
              "Maximum of requested bytes in use at once");
      if (r.in_pool) {
        ui::row("highest address", bench::bytes_text(r.reach));
        ui::row("always fits", bench::bytes_text(r.largest_request()),
                "The largest free region of the pool at the moment when that is smallest: a larger "
                "request is refused then.");
      }
      ImGui::EndTable();
    }
  }
  draw_allocations_section(state, &recordings.front()->requests);
}

void draw_record_section(State& state) {
  if (!ui::section("Record a build")) return;
  allocator_field(state);
  choose_pool(state);
  if (build_button(state, "Heap map", true, ui::share_of_line(1),
                   "Builds the tree of this scene once more and records every request (H)"))
    start_recording(state);
}

}  // namespace heapwood::viewer
