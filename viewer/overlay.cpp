// SPDX-License-Identifier: MIT
// Drawn over the picture: name and numbers, progress of a job, messages, the legend, the keys.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/results/format.hpp"
#include "render/renderer.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

namespace {

constexpr ImGuiWindowFlags floating = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                      ImGuiWindowFlags_NoSavedSettings |
                                      ImGuiWindowFlags_AlwaysAutoResize |
                                      ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav;

// A small window with round corners; `pivot` is its corner at `at`.
bool begin_card(const char* name, ImVec2 at, ImVec2 pivot, bool mouse = false,
                float opacity = 0.86f) {
  ImGui::SetNextWindowPos(at, ImGuiCond_Always, pivot);
  ImGui::SetNextWindowBgAlpha(opacity);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, ImGui::GetFontSize() * 0.5f);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding,
                      {ImGui::GetFontSize() * 0.75f, ImGui::GetFontSize() * 0.5f});
  return ImGui::Begin(name, nullptr, floating | (mouse ? 0 : ImGuiWindowFlags_NoInputs));
}
void end_card() {
  ImGui::End();
  ImGui::PopStyleVar(2);
}

// Cards along the left edge of the picture: name and progress at the top, legend and messages at
// the bottom.
struct Edge {
  float x, top, bottom, gap;
  float text_width;  // of the widest line that fits over the picture
};
Edge edge_of(const Area& area) {
  const float em = ImGui::GetFontSize(), gap = em * 0.8f;
  return {area.x + gap, area.y + gap, area.y + area.height - gap, gap,
          std::max(area.width - 2 * gap - 1.5f * em, em)};
}
bool begin_top_card(const char* name, const Edge& edge, bool mouse = false) {
  return begin_card(name, {edge.x, edge.top}, {0, 0}, mouse);
}
void end_top_card(Edge& edge) {
  edge.top += ImGui::GetWindowHeight() + edge.gap / 2;
  end_card();
}
bool begin_bottom_card(const char* name, const Edge& edge, bool mouse = false) {
  return begin_card(name, {edge.x, edge.bottom}, {0, 1}, mouse);
}
void end_bottom_card(Edge& edge) {
  edge.bottom -= ImGui::GetWindowHeight() + edge.gap / 2;
  end_card();
}

std::string rays_text(const State& state, const PictureStatus& picture) {
  if (picture.camera_rays_per_second <= 0) return "";
  const bool one_each = state.mode != render::Mode::shaded && state.mode != render::Mode::path &&
                        state.mode != render::Mode::ao;
  return fmt::format("{} ms/pass, {:.2f} M{} rays/s", bench::figure_text(picture.pass_ms),
                     picture.camera_rays_per_second / 1e6, one_each ? "" : " camera");
}

void draw_name(State& state, Edge& edge, const PictureStatus& picture) {
  if (begin_top_card("name", edge)) {
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + edge.text_width);
    ImGui::PushFont(fonts().bold);
    const bool only_trace = !state.scene && shows_trace(state);
    const std::string name = state.scene  ? shown_scene_name(state)
                             : only_trace ? recorded_name(state)
                                          : "Heapwood";
    ImGui::TextUnformatted(name.c_str());
    state.places.texts["name"] = name;
    ImGui::PopFont();
    if (only_trace) ImGui::TextDisabled("Requests without a scene: nothing to draw");
    if (state.scene) {
      const std::string size =
          bench::compact_text(state.scene->mesh.triangles.size()) + " triangles";
      const float line = ImGui::GetItemRectSize().x + ImGui::GetStyle().ItemSpacing.x +
                         ImGui::CalcTextSize(size.c_str()).x;
      if (line <= edge.text_width) ImGui::SameLine();
      ImGui::TextDisabled("%s", size.c_str());
    }
    if (state.tab == Tab::learn && state.slice.visible) {
      ImGui::TextDisabled("slice, drawn without light and textures");
    } else if (state.settings.numbers && state.scene && state.tab != Tab::live) {
      const std::string detail =
          picture.coarse > 1 ? fmt::format("1/{} of the pixels", picture.coarse * picture.coarse)
                             : fmt::format("{} of {} samples", picture.samples, picture.spp);
      ImGui::TextDisabled("%s, %s", render::name(state.mode), detail.c_str());
      const std::string rays = rays_text(state, picture);
      if (!rays.empty()) ImGui::TextDisabled("%s", rays.c_str());
      const bool gpu = state.scene->device.id.kind == simt::DeviceKind::cuda;
      ImGui::TextDisabled(
          "%s%s%s", state.scene->device.key.c_str(),
          !gpu             ? ""
          : picture.shared ? " (shared with OpenGL)"
                           : " (copied through the host)",
          state.shots.panel
              ? ""
              : fmt::format(", window {:.0f} frames/s", state.frames.last_second_fps).c_str());
    }
    ImGui::PopTextWrapPos();
  }
  end_top_card(edge);
}

void draw_progress(State& state, Edge& edge) {
  const JobProgress job = state.jobs.progress();
  if (!job.running) return;
  if (begin_top_card("progress", edge, true)) {
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + edge.text_width);
    ImGui::TextUnformatted(job.cancelling ? "Stopping ..." : job.what.c_str());
    const float share =
        job.total ? static_cast<float>(job.done) / static_cast<float>(job.total) : 0;
    const float em = ImGui::GetFontSize();
    ImGui::ProgressBar(share, {std::clamp(edge.text_width - 6 * em, em, 20 * em), em * 0.45f}, "");
    ImGui::SameLine();
    if (ui::button(state, "Cancel")) state.jobs.cancel();
    if (job.total > 1) {
      ImGui::TextDisabled(
          "%zu of %zu, %.1f s%s", job.done, job.total, job.seconds,
          job.kind == JobSpec::Kind::record ? "" : "; rendering pauses while builds are timed");
    }
    ImGui::PopTextWrapPos();
  }
  end_top_card(edge);
}

// The picture that F12 renders in the background.
void draw_shot_progress(State& state, Edge& edge) {
  if (!state.shots.running()) return;
  if (begin_top_card("shot", edge, true)) {
    const float em = ImGui::GetFontSize();
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() + edge.text_width);
    ImGui::Text("Rendering %s", state.shots.path().c_str());
    state.places.texts["shot"] = state.shots.path();
    ImGui::ProgressBar(static_cast<float>(state.shots.share()),
                       {std::clamp(edge.text_width - 8 * em, em, 20 * em), em * 0.45f}, "");
    ImGui::SameLine();
    if (ui::button(state, "Discard")) state.shots.cancel();
    ImGui::PopTextWrapPos();
  }
  end_top_card(edge);
}

void draw_messages(State& state, Edge& edge) {
  // A note disappears after 4 s, a warning after 15 s, an error after 30 s; a click removes all.
  // Screenshots of the window have no notes.
  std::erase_if(state.messages, [&](const Message& m) {
    const double age = state.now - m.time;
    if (m.kind == Message::Kind::note) return state.shots.panel || age > 4;
    return age > (m.kind == Message::Kind::warning ? 15 : 30);
  });
  if (state.messages.empty()) return;
  if (begin_bottom_card("messages", edge, true)) {
    ImGui::PushTextWrapPos(ImGui::GetCursorPosX() +
                           std::min(edge.text_width, ImGui::GetFontSize() * 44));
    std::size_t first = state.messages.size() > 3 ? state.messages.size() - 3 : 0;
    for (std::size_t i = first; i < state.messages.size(); ++i) {
      const Message& message = state.messages[i];
      const ImVec4 shade = message.kind == Message::Kind::error     ? colour::error
                           : message.kind == Message::Kind::warning ? colour::warning
                                                                    : colour::text;
      const std::string times = message.count > 1 ? fmt::format(" ({} times)", message.count) : "";
      ui::wrapped_text(message.text + times, shade);
    }
    if (state.messages.back().kind != Message::Kind::note) ImGui::TextDisabled("click to close");
    ImGui::PopTextWrapPos();
    if (ImGui::IsWindowHovered() && ImGui::IsMouseClicked(0)) state.messages.clear();
  }
  end_bottom_card(edge);
}

void draw_legend(State& state, Edge& edge, const PictureStatus& picture) {
  if (!render::shows_numbers(state.mode) || !state.scene) return;
  if (begin_bottom_card("legend", edge)) {
    const float width = std::min(ImGui::GetFontSize() * 16, edge.text_width),
                height = ImGui::GetFontSize() * 0.8f;
    ImGui::TextUnformatted(state.mode == render::Mode::heatmap  ? "steps per ray through the tree"
                           : state.mode == render::Mode::leaves ? "triangles in the leaf of the hit"
                                                                : "distance from the eye");
    const ImVec2 at = ImGui::GetCursorScreenPos();
    constexpr int bars = 64;
    for (int i = 0; i < bars; ++i) {
      const double place = (i + 0.5) / bars;
      const gl::Rgba8 c = ramp_colour(state.mode == render::Mode::depth ? 1 - place : place);
      ImGui::GetWindowDrawList()->AddRectFilled(
          {at.x + width * static_cast<float>(i) / bars, at.y},
          {at.x + width * static_cast<float>(i + 1) / bars + 0.5f, at.y + height}, packed(c));
    }
    for (int tick = 0; tick <= 4; ++tick) {
      const double value = picture.range.low + (picture.range.high - picture.range.low) * tick / 4;
      const std::string text = fmt::format("{:.3g}", value);
      const float x = at.x + width * static_cast<float>(tick) / 4;
      const float shift = tick == 0 ? 0 : tick == 4 ? 1 : 0.5f;
      ImGui::GetWindowDrawList()->AddText(
          {x - shift * ImGui::CalcTextSize(text.c_str()).x, at.y + height + 2},
          ImGui::GetColorU32(ImGuiCol_Text), text.c_str());
    }
    ImGui::Dummy({width, height + 2 + ImGui::GetFontSize()});
    ImGui::TextDisabled("maximum in the picture: %.4g", picture.largest);
  }
  end_bottom_card(edge);
}

void draw_ray(State& state, const Area& area) {
  if (!state.probe.active || !state.probe.path) return;
  const RayPath& path = *state.probe.path;
  // Next to the mouse, towards the centre of the picture.
  const float em = ImGui::GetFontSize(), x = state.probe.x, y = state.probe.y;
  const bool left = x > area.x + area.width / 2, up = y > area.y + area.height / 2;
  if (begin_card("ray", {left ? x - em : x + em, up ? y - em : y + em},
                 {left ? 1.0f : 0.0f, up ? 1.0f : 0.0f})) {
    const auto empty = std::count_if(path.leaves.begin(), path.leaves.end(),
                                     [](const auto& l) { return l.refs == 0; });
    ImGui::Text("%u inner nodes, %zu leaves (%td empty)", path.inner_steps, path.leaves.size(),
                empty);
    ImGui::Text("%s triangles tested", bench::count_text(path.tests).c_str());
    if (path.hit.found()) {
      ImGui::TextColored(colour::accent, "hit %s at %.4g",
                         bench::count_text(path.hit.triangle).c_str(),
                         static_cast<double>(path.hit.t));
    } else {
      ImGui::TextDisabled("no hit");
    }
    ImGui::TextDisabled(state.probe.pinned ? "pinned: move the camera to see it"
                                           : "click to pin it");
  }
  end_card();
}

}  // namespace

void draw_overlay(State& state, const Area& area) {
  const PictureStatus picture = state.picture.status();
  Edge edge = edge_of(area);
  draw_name(state, edge, picture);
  draw_progress(state, edge);
  draw_shot_progress(state, edge);
  draw_legend(state, edge, picture);
  draw_messages(state, edge);
  draw_ray(state, area);
  if (!picture.error.empty() &&
      begin_card("no picture", {area.x + area.width / 2, area.y + area.height / 2}, {0.5f, 0.5f})) {
    ImGui::TextColored(colour::error, "%s", picture.error.c_str());
  }
  if (!picture.error.empty()) end_card();
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
               {"K   [   ]", "save this view; previous and next saved view"},
               {"F5 F6 F7 F8", "Live, Learn, Compare, Heap"},
               {"1 ... 9", "in Live: allocator B (Shift: A)"},
               {"1 ... 8", "shaded, path, ao, normals, depth, heatmap, leaves, albedo"},
               {"R", "record the camera's path; end and save it"},
               {"M", "the scene's colours, or clay"},
               {"B   C   H", "build; compare all allocators; record a heap map"},
               {"Esc", "close a list; cancel the job or the screenshot"},
               {"Space   ,   .", "play, pause, freeze; one event back or forward (Shift: 1000)"},
               {"T   +   -", "node boxes; deeper and shallower"},
               {"P, click", "ray under the mouse; pin it"},
               {"N, click", "explain a node; go one level down (Shift: to the leaf)"},
               {"X", "in Learn: slice plane through geometry and tree"},
               {"Page Down   Page Up", "lesson: next and previous step"},
               {"F1   F2   F3   F4", "these keys; panel; heap map; numbers"},
               {"F12   Ctrl C", "screenshot; copy the picture"}};
  ImGui::SetNextWindowFocus();
  const ImVec2 window = ImGui::GetIO().DisplaySize;
  if (begin_card("keys", {window.x / 2, window.y / 2}, {0.5f, 0.5f}, true, 0.98f)) {
    ImGui::PushFont(fonts().large);
    ImGui::TextUnformatted("Keys");
    ImGui::PopFont();
    if (ImGui::BeginTable("keys", 2, ImGuiTableFlags_SizingFixedFit)) {
      for (const auto& line : lines) {
        ImGui::TableNextRow();
        ImGui::TableNextColumn();
        ImGui::TextColored(colour::accent, "%s   ", line.keys);
        ImGui::TableNextColumn();
        ImGui::TextUnformatted(line.what);
      }
      ImGui::EndTable();
    }
    ImGui::TextDisabled(
        "Drop an OBJ, PLY, glTF or .hwmesh file, a program trace (.trace) or a camera path (.path) "
        "onto the window to open it.");
  }
  end_card();
}

}  // namespace heapwood::viewer
