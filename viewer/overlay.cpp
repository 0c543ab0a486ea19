// SPDX-License-Identifier: MIT
// Draws the bar at the top with its tabs, and everything over the picture: name and numbers,
// progress of a job, messages, the legend, the keys.
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

// Positions of the cards along the left edge of the picture: name and progress from the top, legend
// and messages from the bottom. Their text is wrapped.
struct Edge {
  float x, top, bottom, gap;
  float text_width;  // width of the widest line that fits over the picture

  explicit Edge(const Area& area) {
    const float em = ImGui::GetFontSize();
    gap = em * 0.8f;
    x = area.x + gap;
    top = area.y + gap;
    bottom = area.y + area.height - gap;
    text_width = std::max(area.width - 2 * gap - 1.5f * em, em);
  }
  template <class Content>
  void card(const char* name, bool at_top, bool mouse, const Content& content) {
    if (ui::begin_card(name, {x, at_top ? top : bottom}, {0, at_top ? 0.0f : 1.0f}, mouse)) {
      const float width = at_top ? text_width : std::min(text_width, ImGui::GetFontSize() * 44);
      ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + width);
      content();
      ImGui::PopTextWrapPos();
    }
    const float height = ImGui::GetWindowHeight() + gap / 2;
    (at_top ? top : bottom) += at_top ? height : -height;
    ui::end_card();
  }
  // Draws a progress bar; returns whether the button after it was pressed.
  bool progress(State& state, double share, float button_ems, const char* button) const {
    const float em = ImGui::GetFontSize();
    ImGui::ProgressBar(static_cast<float>(share),
                       {std::clamp(text_width - button_ems * em, em, 20 * em), em * 0.45f}, "");
    ImGui::SameLine();
    return ui::button(state, button);
  }
};

std::string rays_text(const State& state, const PictureStatus& picture) {
  if (picture.camera_rays_per_second <= 0) return "";
  const bool one_each = state.mode != render::Mode::shaded && state.mode != render::Mode::path &&
                        state.mode != render::Mode::ao;
  return fmt::format("{} ms/pass, {:.2f} M{} rays/s", bench::figure_text(picture.pass_ms),
                     picture.camera_rays_per_second / 1e6, one_each ? "" : " camera");
}

void draw_name(State& state, const Edge& edge, const PictureStatus& picture) {
  const bool only_trace = !state.scene && shows_trace(state);
  ui::styled_text(fonts().bold, state.places.texts["name"] = state.scene  ? state.scene->name
                                                             : only_trace ? recorded_name(state)
                                                                          : "Heapwood");
  if (only_trace) ui::dim_text("Requests without a scene: nothing to draw");
  if (state.scene) {
    const std::string size = bench::compact_text(state.scene->mesh.triangles.size()) + " triangles";
    const float line = ImGui::GetItemRectSize().x + ImGui::GetStyle().ItemSpacing.x;
    if (line + ui::width_of(size) <= edge.text_width) ImGui::SameLine();
    ui::text(size, colour::dim);
  }
  if (state.show.numbers && state.scene && state.tab != Tab::live) {
    ui::text(fmt::format("{}, {}", render::name(state.mode),
                         picture.coarse > 1
                             ? fmt::format("1/{} of the pixels", picture.coarse * picture.coarse)
                             : fmt::format("{} of {} samples", picture.samples, picture.spp)),
             colour::dim);
    if (const std::string rays = rays_text(state, picture); !rays.empty())
      ui::text(rays, colour::dim);
    const std::string rate = state.captures_window() ? ""
                                                     : fmt::format(", window {:.0f} frames/s",
                                                                   state.frames.last_second_fps);
    ui::text(state.scene->device.key + rate, colour::dim);
  }
}

void draw_messages(State& state) {
  std::size_t first = state.messages.size() > 3 ? state.messages.size() - 3 : 0;
  for (std::size_t i = first; i < state.messages.size(); ++i) {
    const Message& message = state.messages[i];
    const std::string times = message.count > 1 ? fmt::format(" ({} times)", message.count) : "";
    ui::wrapped_text(message.text + times, message.kind == Message::Kind::error ? colour::error
                                           : message.kind == Message::Kind::warning
                                               ? colour::warning
                                               : colour::text);
  }
  if (state.messages.back().kind != Message::Kind::note) ui::text("click to close", colour::dim);
  if (ImGui::IsWindowHovered() && ImGui::IsMouseClicked(0)) state.messages.clear();
}

void draw_legend(const State& state, const Edge& edge, const PictureStatus& picture) {
  const float width = std::min(ImGui::GetFontSize() * 16, edge.text_width),
              height = ImGui::GetFontSize() * 0.8f;
  ui::text(state.mode == render::Mode::heatmap  ? "steps per ray through the tree"
           : state.mode == render::Mode::leaves ? "triangles in the leaf of the hit"
                                                : "distance from the eye");
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  constexpr int bars = 64;
  for (int i = 0; i < bars; ++i) {
    const double place = (i + 0.5) / bars;
    const gl::Rgba8 c = ramp_colour(state.mode == render::Mode::depth ? 1 - place : place);
    ui::fill({corner.x + width * static_cast<float>(i) / bars, corner.y},
             {corner.x + width * static_cast<float>(i + 1) / bars + 0.5f, corner.y + height},
             packed(c));
  }
  for (int tick = 0; tick <= 4; ++tick) {
    const std::string text = fmt::format(
        "{:.3g}", picture.range.low + (picture.range.high - picture.range.low) * tick / 4);
    const float x = corner.x + width * static_cast<float>(tick) / 4;
    const float shift = tick == 0 ? 0 : tick == 4 ? 1 : 0.5f;
    ui::text_at({x - shift * ui::width_of(text), corner.y + height + 2}, text);
  }
  ImGui::Dummy({width, height + 2 + ImGui::GetFontSize()});
  ui::text(fmt::format("maximum in the picture: {:.3g}", picture.largest), colour::dim);
}

// Draws the facts about the ray next to the mouse, towards the centre of the picture.
void draw_ray(const RayProbe& probe, const Area& area) {
  if (!probe.active || !probe.path) return;
  const RayPath& path = *probe.path;
  const float em = ImGui::GetFontSize(), x = probe.x, y = probe.y;
  const bool left = x > area.x + area.width / 2, up = y > area.y + area.height / 2;
  if (ui::begin_card("ray", {left ? x - em : x + em, up ? y - em : y + em},
                     {left ? 1.0f : 0.0f, up ? 1.0f : 0.0f})) {
    ui::text(fmt::format("{} inner nodes, {} leaves ({} empty)", path.inner_steps,
                         path.leaves.size(), path.empty_leaves()));
    ui::text(bench::count_text(path.tests) + " triangles tested");
    if (path.hit.found()) {
      ui::text(fmt::format("hit {} at {:.4g}", bench::count_text(path.hit.triangle), path.hit.t),
               colour::accent);
    } else {
      ui::text("no hit", colour::dim);
    }
    ui::text(probe.pinned ? "pinned: move the camera to see it" : "click to pin it", colour::dim);
  }
  ui::end_card();
}

// Removes old messages: a note after 4 s, a warning after 15 s, an error after 30 s, all after a
// click. Screenshots of the window have no notes.
void forget_old_messages(State& state) {
  std::erase_if(state.messages, [&](const Message& m) {
    const double age = state.now - m.time;
    if (m.kind == Message::Kind::note) return state.captures_window() || age > 4;
    return age > (m.kind == Message::Kind::warning ? 15 : 30);
  });
}

}  // namespace

void draw_overlay(State& state, const Area& area) {
  const PictureStatus picture = state.picture.status();
  Edge edge(area);
  edge.card("name", true, false, [&] { draw_name(state, edge, picture); });
  if (const JobProgress job = state.jobs.progress(); job.running) {
    edge.card("progress", true, true, [&] {
      ImGui::TextUnformatted(job.cancelling ? "Stopping ..." : job.what.c_str());
      const double share =
          job.total ? static_cast<double>(job.done) / static_cast<double>(job.total) : 0;
      if (edge.progress(state, share, 6, "Cancel")) state.jobs.cancel();
      if (job.total > 1)
        ui::text(fmt::format("{} of {}, {:.1f} s{}", job.done, job.total, job.seconds,
                             job.kind == JobSpec::Kind::record
                                 ? ""
                                 : "; rendering pauses while builds are timed"),
                 colour::dim);
    });
  }
  // Shows the picture of the screenshot while it is rendered.
  if (state.shot && !state.captures_window()) {
    edge.card("shot", true, true, [&] {
      state.places.texts["shot"] = state.shot->path;
      ui::text("Rendering " + state.shot->path);
      const double share = static_cast<double>(picture.samples) / state.shot->settings.samples;
      if (edge.progress(state, share, 8, "Discard")) cancel_shot(state);
    });
  }
  if (render::shows_numbers(state.mode) && state.scene && !state.is_race())
    edge.card("legend", false, false, [&] { draw_legend(state, edge, picture); });
  forget_old_messages(state);
  if (!state.messages.empty()) edge.card("messages", false, true, [&] { draw_messages(state); });
  draw_ray(state.probe, area);
  if (picture.error.empty()) return;
  if (ui::begin_card("no picture", {area.x + area.width / 2, area.y + area.height / 2},
                     {0.5f, 0.5f}))
    ui::text(picture.error, colour::error);
  ui::end_card();
}

void draw_help(State& state) {
  if (!state.help) return;
  static constexpr struct {
    const char *keys, *what;
  } lines[] = {{"drag", "turn around the point under the mouse, or look around (fly)"},
               {"right drag, wheel", "pan; zoom (fly: speed)"},
               {"W A S D  Q E", "fly; Shift: faster"},
               {"double click", "make this point the centre of the view"},
               {"O   Home   L", "orbit or fly; reset the view; set the light for this view"},
               {"F5 F6 F7 F8", "Live, Learn, Compare, Heap"},
               {"1 ... 9", "in Live: allocator B (Shift: A)"},
               {"1 ... 8", "shaded, path, ao, normals, depth, heatmap, leaves, albedo"},
               {"M", "the scene's colours, or clay"},
               {"B   C   H", "build; compare all allocators; record a heap map"},
               {"Esc", "close a list; cancel the job or the screenshot"},
               {"Space   ,   .", "play, pause, freeze; one event back or forward (Shift: 1000)"},
               {"T   +   -", "node boxes; deeper and shallower"},
               {"Ctrl +   Ctrl -", "larger and smaller text"},
               {"P, click", "ray under the mouse; pin it"},
               {"N, click", "explain a node; go one level down (Shift: to the leaf)"},
               {"Page Down   Page Up", "lesson: next and previous step"},
               {"F1   F2   F3   F4", "these keys; panel; heap map; numbers"},
               {"F9   F12   R", "light or dark colours; screenshot; ten seconds as MP4"}};
  ImGui::SetNextWindowFocus();
  const ImVec2 window = ImGui::GetIO().DisplaySize;
  if (ui::begin_card("keys", {window.x / 2, window.y / 2}, {0.5f, 0.5f}, true, 0.98f)) {
    ui::styled_text(fonts().large, "Keys");
    if (ImGui::BeginTable("keys", 2, ImGuiTableFlags_SizingFixedFit)) {
      for (const auto& line : lines) {
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        ui::text(std::string(line.keys) + "   ", colour::accent);
        ImGui::TableNextColumn();
        ui::text(line.what);
      }
      ImGui::EndTable();
    }
    ui::text(
        "Drop an OBJ, PLY or glTF file or a program trace (.trace) onto the window to open it.",
        colour::dim);
  }
  ui::end_card();
}

namespace {

constexpr struct {
  const char *label, *hint;
} tabs[] = {{"Live", "Two allocators rebuild the tree of this scene in every frame (F5)"},
            {"Learn", "The tree, its nodes and rays, and the requests of one build (F6)"},
            {"Compare", "All allocators on this scene (F7)"},
            {"Heap", "The pool over time: a build, or a program trace (F8)"}};

void draw_tabs(State& state, const Area& area) {
  const float em = ImGui::GetFontSize(), gap = em * 0.4f;
  ImGui::PushStyleColor(ImGuiCol_Button, {0, 0, 0, 0});
  for (const Tab tab : all_tabs) {
    const auto& [label, hint] = tabs[static_cast<int>(tab)];
    const bool chosen = state.tab == tab;
    ImGui::PushFont(fonts().bold);
    ImGui::PushStyleColor(ImGuiCol_Text, chosen ? colour::text : colour::dim);
    if (ImGui::Button(label, {em * 5.4f, area.height - 2 * gap})) show_tab(state, tab);
    ImGui::PopStyleColor();
    ImGui::PopFont();
    state.places.note(fmt::format("tab {}", name(tab)));
    const ImVec2 low = ImGui::GetItemRectMin(), high = ImGui::GetItemRectMax();
    if (chosen)
      ui::fill({low.x + em * 0.5f, high.y + gap - 3}, {high.x - em * 0.5f, high.y + gap},
               ImGui::GetColorU32(colour::accent), 1.5f);
    ui::hint(hint);
    ImGui::SameLine(0, gap / 2);
  }
  ImGui::PopStyleColor();
}

}  // namespace

void draw_tab_bar(State& state, const Area& area) {
  const float em = ImGui::GetFontSize();
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {em * 0.4f, em * 0.4f});
  if (ui::begin_area("tabs", area)) {
    draw_tabs(state, area);
    // Help, device and scene from the right, as many as fit.
    const simt::DeviceInfo& device = state.choice.device;
    const std::string text = device.id.kind == simt::DeviceKind::cpu
                                 ? fmt::format("{} CPU threads", device.multiprocessors)
                                 : device.name;
    const float left = ImGui::GetCursorPosX(), help = em * 2, scene = em * 11;
    float x = area.width - em * 0.5f;
    const auto fits = [&](float width) {
      x -= width;
      if (x > left) ImGui::SetCursorPos({x, (area.height - ImGui::GetFrameHeight()) / 2});
      return x > left;
    };
    if (fits(help)) {
      if (ImGui::Button("?", {help, 0})) state.help = !state.help;
      state.places.note("help");
      ui::hint("Keys and mouse (F1)");
    }
    if (fits(ui::width_of(text) + em)) {
      ImGui::AlignTextToFramePadding();
      ui::text(text, colour::dim);
      ui::hint(fmt::format("{}: {}", device.key, device.name));
    }
    if (state.tab != Tab::learn && fits(scene + em * 0.8f)) {
      ImGui::SetNextItemWidth(scene);
      scene_combo(state);
    }
  }
  ImGui::End();
  ImGui::PopStyleVar();
}

}  // namespace heapwood::viewer
