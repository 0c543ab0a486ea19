// SPDX-License-Identifier: MIT
// What lies over the picture: name and numbers, progress of a job, messages, the legend of colours, the keys.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "render/renderer.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

namespace {

constexpr ImGuiWindowFlags floating = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                      ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_AlwaysAutoResize |
                                      ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav;

// A small window with round corners; `pivot` is the corner of it that is at `at`.
bool begin_card(const char* name, ImVec2 at, ImVec2 pivot, bool mouse = false, float opacity = 0.86f) {
  ImGui::SetNextWindowPos(at, ImGuiCond_Always, pivot);
  ImGui::SetNextWindowBgAlpha(opacity);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, ImGui::GetFontSize() * 0.5f);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {ImGui::GetFontSize() * 0.75f, ImGui::GetFontSize() * 0.5f});
  return ImGui::Begin(name, nullptr, floating | (mouse ? 0 : ImGuiWindowFlags_NoInputs));
}
void end_card() {
  ImGui::End();
  ImGui::PopStyleVar(2);
}

std::string rays_text(const State& state, const PictureStatus& picture) {
  if (picture.camera_rays_per_second <= 0) return "";
  const bool one_each =
      state.mode != render::Mode::shaded && state.mode != render::Mode::path && state.mode != render::Mode::ao;
  return fmt::format("{} ms a pass, {:.2f} M{} rays/s", app::figure_text(picture.pass_ms),
                     picture.camera_rays_per_second / 1e6, one_each ? "" : " camera");
}

void draw_name(State& state, const Area& area, const PictureStatus& picture) {
  const float gap = ImGui::GetFontSize() * 0.8f;
  if (begin_card("name", {area.x + gap, area.y + gap}, {0, 0})) {
    ImGui::PushFont(fonts().bold);
    ImGui::TextUnformatted(state.scene ? state.scene->name.c_str() : "Heapwood");
    ImGui::PopFont();
    if (state.scene) {
      ImGui::SameLine();
      ImGui::TextDisabled("%s triangles", app::compact_text(state.scene->mesh.triangles.size()).c_str());
    }
    if (state.settings.numbers && state.scene) {
      const std::string detail = picture.coarse > 1 ? fmt::format("1/{} of the pixels", picture.coarse * picture.coarse)
                                                    : fmt::format("{} of {} samples", picture.samples, picture.spp);
      ImGui::TextDisabled("%s, %s", render::name(state.mode), detail.c_str());
      const std::string rays = rays_text(state, picture);
      if (!rays.empty()) ImGui::TextDisabled("%s", rays.c_str());
      const bool gpu = state.scene->device.id.kind == simt::DeviceKind::cuda;
      ImGui::TextDisabled(
          "%s%s%s", state.scene->device.key.c_str(), gpu ? " (copy through the host)" : "",
          state.shots.panel ? "" : fmt::format(", window {:.0f} frames/s", state.frames.last_second_fps).c_str());
    }
  }
  end_card();
}

void draw_progress(State& state, const Area& area) {
  const JobProgress job = state.jobs.progress();
  if (!job.running) return;
  const float gap = ImGui::GetFontSize() * 0.8f;
  if (begin_card("progress", {area.x + area.width / 2, area.y + gap}, {0.5f, 0}, true)) {
    ImGui::TextUnformatted(job.cancelling ? "Stopping ..." : job.what.c_str());
    const float share = job.total ? static_cast<float>(job.done) / static_cast<float>(job.total) : 0;
    ImGui::ProgressBar(share, {ImGui::GetFontSize() * 20, ImGui::GetFontSize() * 0.45f}, "");
    ImGui::SameLine();
    if (ui::button(state, "Cancel")) state.jobs.cancel();
    if (job.total > 1) {
      ImGui::TextDisabled("%zu of %zu, %.1f s%s", job.done, job.total, job.seconds,
                          job.kind == JobSpec::Kind::record ? "" : "; the picture waits while builds are timed");
    }
  }
  end_card();
}

void draw_messages(State& state, const Area& area) {
  const float gap = ImGui::GetFontSize() * 0.8f;
  // Notes fade, what went wrong stays until it is clicked away.
  std::erase_if(state.messages, [&](const Message& m) {
    return state.now - m.time > (m.kind == Message::Kind::note ? 4 : m.kind == Message::Kind::warning ? 15 : 1e9);
  });
  if (state.messages.empty()) return;
  if (begin_card("messages", {area.x + area.width / 2, area.y + area.height - gap}, {0.5f, 1}, true)) {
    ImGui::PushTextWrapPos(std::min(area.width * 0.7f, ImGui::GetFontSize() * 44));
    std::size_t first = state.messages.size() > 3 ? state.messages.size() - 3 : 0;
    for (std::size_t i = first; i < state.messages.size(); ++i) {
      const Message& message = state.messages[i];
      const ImVec4 shade = message.kind == Message::Kind::error     ? colour::error
                           : message.kind == Message::Kind::warning ? colour::warning
                                                                    : colour::text;
      ImGui::TextColored(shade, "%s", message.text.c_str());
    }
    ImGui::PopTextWrapPos();
    if (ImGui::IsWindowHovered() && ImGui::IsMouseClicked(0)) state.messages.clear();
  }
  end_card();
}

void draw_legend(State& state, const Area& area, const PictureStatus& picture) {
  if (!render::shows_numbers(state.mode) || !state.scene) return;
  const float gap = ImGui::GetFontSize() * 0.8f;
  if (begin_card("legend", {area.x + gap, area.y + area.height - gap}, {0, 1})) {
    const float width = ImGui::GetFontSize() * 16, height = ImGui::GetFontSize() * 0.8f;
    ImGui::TextUnformatted(state.mode == render::Mode::heatmap  ? "steps a ray through the tree"
                           : state.mode == render::Mode::leaves ? "triangles in the leaf that was hit"
                                                                : "distance from the eye");
    const ImVec2 at = ImGui::GetCursorScreenPos();
    constexpr int bars = 64;
    for (int i = 0; i < bars; ++i) {
      const double place = (i + 0.5) / bars;
      const gl::Rgba8 c = ramp_colour(state.mode == render::Mode::depth ? 1 - place : place);
      ImGui::GetWindowDrawList()->AddRectFilled({at.x + width * static_cast<float>(i) / bars, at.y},
                                                {at.x + width * static_cast<float>(i + 1) / bars + 0.5f, at.y + height},
                                                packed(c));
    }
    for (int tick = 0; tick <= 4; ++tick) {
      const double value = picture.range.low + (picture.range.high - picture.range.low) * tick / 4;
      const std::string text = fmt::format("{:.3g}", value);
      const float x = at.x + width * static_cast<float>(tick) / 4;
      const float shift = tick == 0 ? 0 : tick == 4 ? 1 : 0.5f;
      ImGui::GetWindowDrawList()->AddText({x - shift * ImGui::CalcTextSize(text.c_str()).x, at.y + height + 2},
                                          ImGui::GetColorU32(ImGuiCol_Text), text.c_str());
    }
    ImGui::Dummy({width, height + 2 + ImGui::GetFontSize()});
    ImGui::TextDisabled("largest in the picture: %.4g", picture.largest);
  }
  end_card();
}

void draw_ray(State& state, const Area& area) {
  if (!state.probe.active || !state.probe.path) return;
  const RayPath& path = *state.probe.path;
  const ImVec2 mouse{std::min(state.probe.x, area.x + area.width - ImGui::GetFontSize() * 15), state.probe.y};
  if (begin_card("ray", {mouse.x + ImGui::GetFontSize(), mouse.y + ImGui::GetFontSize()}, {0, 0})) {
    const auto empty = std::count_if(path.leaves.begin(), path.leaves.end(), [](const auto& l) { return l.refs == 0; });
    ImGui::Text("%u inner nodes, %zu leaves (%td empty)", path.inner_steps, path.leaves.size(), empty);
    ImGui::Text("%u triangles tested", path.tests);
    if (path.hit.found()) {
      ImGui::TextColored(colour::accent, "hit %u at %.4g", path.hit.triangle, static_cast<double>(path.hit.t));
    } else {
      ImGui::TextDisabled("no hit");
    }
    ImGui::TextDisabled(state.probe.pinned ? "pinned: move the camera to see it" : "click pins it");
  }
  end_card();
}

}  // namespace

void draw_overlay(State& state, const Area& area) {
  const PictureStatus picture = state.picture.status();
  draw_name(state, area, picture);
  draw_progress(state, area);
  draw_legend(state, area, picture);
  draw_ray(state, area);
  draw_messages(state, area);
  if (!picture.error.empty() &&
      begin_card("no picture", {area.x + area.width / 2, area.y + area.height / 2}, {0.5f, 0.5f})) {
    ImGui::TextColored(colour::error, "%s", picture.error.c_str());
  }
  if (!picture.error.empty()) end_card();
}

void draw_help(State& state, const Area& area) {
  if (!state.help) return;
  static constexpr struct {
    const char *keys, *what;
  } lines[] = {{"drag", "turn the view (orbit) or look around (fly)"},
               {"right drag, wheel", "move sideways; nearer and further (fly: speed)"},
               {"W A S D  Q E", "fly; Shift is faster"},
               {"double click", "orbit round this point"},
               {"O   Home   L", "orbit or fly; the scene's own view; light for this view"},
               {"K   [   ]", "keep this view; previous and next kept one"},
               {"1 ... 7", "shaded, path, ao, normals, depth, heatmap, leaves"},
               {"B   C   H", "build; compare all allocators; record the heap"},
               {"Esc", "cancel what is running"},
               {"Space   ,   .", "play the recording; step back and forth"},
               {"T   +   -", "boxes of the tree; deeper and shallower"},
               {"P, click", "the ray under the mouse; pin it"},
               {"F1   F2   F3   F4", "these keys; panel; heap map; numbers"},
               {"F12", "screenshot"}};
  ImGui::SetNextWindowFocus();
  if (begin_card("keys", {area.x + area.width / 2, area.y + area.height / 2}, {0.5f, 0.5f}, true, 0.96f)) {
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
    ImGui::TextDisabled("Drop an OBJ, PLY or .hwmesh file onto the window to open it.");
  }
  end_card();
}

}  // namespace heapwood::viewer
