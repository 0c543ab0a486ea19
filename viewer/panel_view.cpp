// SPDX-License-Identifier: MIT
// View of the scene: mode, camera, bookmarks; the tree over the picture; screenshots.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include <algorithm>
#include <array>

#include "bench/results/format.hpp"
#include "render/renderer.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

namespace {

constexpr struct {
  render::Mode mode;
  const char* hint;
} modes[] = {{render::Mode::shaded, "daylight (1)"},
             {render::Mode::path, "path tracing, diffuse bounces (2)"},
             {render::Mode::ao, "ambient occlusion (3)"},
             {render::Mode::normals, "surface normals (4)"},
             {render::Mode::depth, "distance from the eye (5)"},
             {render::Mode::heatmap, "steps of each ray through the tree (6)"},
             {render::Mode::leaves, "triangles in the leaf of the hit (7)"},
             {render::Mode::albedo, "the surfaces' own colours, without light (8)"}};

void choose_mode(State& state) {
  const float width = (ImGui::GetContentRegionAvail().x - 3 * ImGui::GetStyle().ItemSpacing.x) / 4;
  int column = 0;
  for (const auto& one : modes) {
    if (column++ % 4 != 0) ImGui::SameLine();
    if (ui::button(state, render::name(one.mode), state.mode == one.mode, true, width))
      state.mode = one.mode;
    ui::hint(one.hint);
  }
}

void choose_material(State& state) {
  const bool coloured = state.scene && !state.scene->mesh.appearance.empty();
  ui::field("material");
  const float width = (ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ItemSpacing.x) / 2;
  if (ui::button(state, "colours", coloured && !state.clay, coloured, width)) state.clay = false;
  ui::hint(coloured ? "Colours and textures of the scene, in shaded, path and albedo (M)"
                    : "This scene has no colours of its own.");
  ImGui::SameLine();
  if (ui::button(state, "clay", coloured && state.clay, coloured, width)) state.clay = true;
  ui::hint("One colour, so that only shapes are seen (M)");
}

void list_bookmarks(State& state) {
  std::vector<Bookmark>& list = state.settings.bookmarks[state.scene->source];
  for (std::size_t i = 0; i < list.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - ImGui::GetFontSize() * 7.5f);
    ImGui::InputText("##name", &list[i].name);
    ImGui::SameLine();
    if (ImGui::Button("Go")) go_to_bookmark(state, i);
    ImGui::SameLine();
    const bool remove = ImGui::Button("Delete");
    ImGui::PopID();
    if (!remove) continue;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
}

void draw_path(State& state) {
  PathView& path = state.path;
  if (ui::button(state, path.recording ? "Stop and save path" : "Record path", path.recording,
                 state.scene && !path.playing))
    record_path(state);
  ui::hint(
      "Records how the camera moves, for 'heapwood render --path': a text file with one key per "
      "line, time, eye, target, field of view (R)");
  ImGui::SameLine();
  const bool has_keys = !path.path.keys().empty();
  if (ui::button(state, path.playing ? "Stop##path" : "Play path", false,
                 has_keys && !path.recording))
    play_path(state);
  ui::hint("Moves the camera as recorded");
  if (!has_keys) return;
  ImGui::SameLine();
  const std::string text =
      fmt::format("{:.1f} s, {} keys", path.path.seconds(), path.path.keys().size());
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("%s", text.c_str());
  state.places.texts["path"] = text;
}

}  // namespace

void draw_view_section(State& state) {
  if (!ui::section("View")) return;
  choose_mode(state);
  choose_material(state);
  ImGui::Dummy({0, 2});
  if (ui::button(state, state.settings.fly ? "Fly" : "Orbit"))
    state.settings.fly = !state.settings.fly;
  ui::hint(
      "Orbit: drag to turn around the point under the mouse. Fly: drag to look around, W A S D Q E "
      "to move (O)");
  ImGui::SameLine();
  if (ui::button(state, "Reset")) reset_view(state);
  ui::hint("The scene's own view (Home)");
  ImGui::SameLine();
  if (ui::button(state, "Light")) light_view(state);
  ui::hint("Sets the light for this view; it stays while the camera moves (L)");
  ImGui::SameLine();
  if (ui::button(state, "Save view")) add_bookmark(state);
  ui::hint("Saves a bookmark for this scene (K); [ and ] show the previous and next one");
  ui::field("field of view");
  ImGui::SliderFloat("##fov", &state.camera.fov, 5, 120, "%.0f°", ImGuiSliderFlags_AlwaysClamp);
  if (state.settings.fly) {
    ui::field("speed");
    ImGui::SliderFloat("##speed", &state.settings.fly_speed, 0.005f, 2, "%.3f diagonals/s",
                       ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_AlwaysClamp);
  }
  if (state.scene) list_bookmarks(state);
  draw_path(state);
  const std::string camera =
      render::to_arguments(state.camera, state.scene ? state.scene->mesh.origin : Vec3d{});
  if (ui::button(state, "Copy camera")) ImGui::SetClipboardText(("--camera " + camera).c_str());
  ui::hint(("for 'heapwood render': " + camera).c_str());
}

// Axis, position and depth of the slice plane.
void draw_slice_section(State& state) {
  SliceView& slice = state.slice;
  if (!state.scene || !ui::section("Slice")) return;
  ui::field("across");
  const float width = (ImGui::GetContentRegionAvail().x - 2 * ImGui::GetStyle().ItemSpacing.x) / 3;
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (axis) ImGui::SameLine();
    const char* const names[] = {"x##slice", "y##slice", "z##slice"};
    if (ui::button(state, names[axis], slice.axis == axis, true, width)) slice.axis = axis;
  }
  ui::field("position");
  const Vec3d& origin = state.scene->mesh.origin;
  const double at = static_cast<double>(slice.position(*state.scene)) +
                    std::array{origin.x, origin.y, origin.z}[slice.axis];
  ImGui::SliderFloat("##slice position", &slice.place, 0, 1, fmt::format("{:.4g}", at).c_str(),
                     ImGuiSliderFlags_AlwaysClamp);
  state.places.note("slice position");
  ui::field("cells");
  const int deepest =
      state.built && state.built->tree ? static_cast<int>(state.built->tree->depth) : 60;
  int depth = std::min(slice.depth, deepest);
  if (ImGui::SliderInt("##slice depth", &depth, 0, deepest,
                       depth == deepest ? "all leaves" : "depth %d", ImGuiSliderFlags_AlwaysClamp))
    slice.depth = depth == deepest ? static_cast<int>(kdtree::max_depth) : depth;
  state.places.note("slice depth");
  ImGui::Checkbox("the other side", &slice.other_side);
  state.places.note("slice side");
  ui::hint("Cuts away what is behind the plane instead of what is in front of it");
  std::string text = fmt::format(
      "{} cells: leaves by number of refs, empty ones grey, inner nodes green. White: {} triangles "
      "that are cut",
      bench::count_text(slice.total), bench::count_text(slice.triangles));
  if (slice.shown < slice.total)
    text += fmt::format("; {} cells shown", bench::count_text(slice.shown));
  if (slice.drawn_triangles < state.scene->mesh.triangles.size())
    text += fmt::format("; {} of {} triangles shown", bench::count_text(slice.drawn_triangles),
                        bench::count_text(state.scene->mesh.triangles.size()));
  state.places.texts["slice"] = text;
  ui::dim_text(text);
}

void draw_tree_section(State& state) {
  if (!ui::section("Tree")) return;
  ImGui::Checkbox("boxes", &state.tree.visible);
  state.places.note("boxes");
  ui::hint("Draws node boxes over the picture (T); + and - change the depth");
  ImGui::SameLine();
  ImGui::Checkbox("ray", &state.probe.active);
  state.places.note("ray");
  ui::hint(
      "Shows the leaves that the ray under the mouse visits, and their triangles (P); click to pin "
      "it");
  ImGui::SameLine();
  ImGui::Checkbox("node", &state.node.visible);
  state.places.note("node");
  ui::hint("Explains why a node was split where it is (N); click in the picture to choose one");
  ImGui::SameLine();
  bool slice = state.slice.visible;
  if (ImGui::Checkbox("slice", &slice)) toggle_slice(state);
  state.places.note("slice");
  ui::hint(
      "Cuts the scene open with a plane, and draws on it the cells of the tree that it crosses "
      "(X)");
  if (state.tree.visible) {
    const int deepest =
        state.built && state.built->tree ? static_cast<int>(state.built->tree->depth) : 60;
    ui::field("depth");
    ImGui::SliderInt("##depth", &state.tree.depth, 0, deepest, "%d", ImGuiSliderFlags_AlwaysClamp);
    ImGui::Checkbox("leaves above", &state.tree.leaves);
    ui::dim_text(state.tree.shown < state.tree.total
                     ? fmt::format("{} of {} boxes shown", bench::count_text(state.tree.shown),
                                   bench::count_text(state.tree.total))
                     : fmt::format("{} boxes: nodes green, leaves by number of refs",
                                   bench::count_text(state.tree.shown)));
  }
  if (state.probe.active && state.probe.path) {
    const RayPath& path = *state.probe.path;
    if (ui::begin_rows("ray")) {
      ui::row("inner nodes", bench::count_text(path.inner_steps));
      const auto empty = std::count_if(path.leaves.begin(), path.leaves.end(),
                                       [](const auto& l) { return l.refs == 0; });
      ui::row("leaves", fmt::format("{}, {} empty", path.leaves.size(), empty));
      ui::row("triangles tested", bench::count_text(path.tests));
      ui::row("hit", path.hit.found()
                         ? fmt::format("triangle {} at {:.4g}",
                                       bench::count_text(path.hit.triangle), path.hit.t)
                         : "nothing");
      ui::end_rows();
    }
  }
}

void draw_screenshot_section(State& state) {
  if (!ui::section("Screenshot", false)) return;
  Settings& s = state.settings;
  ui::field("size");
  int size[2] = {s.shot_width, s.shot_height};
  if (ImGui::InputInt2("##size", size)) {
    s.shot_width = std::clamp(size[0], 1, 16384);
    s.shot_height = std::clamp(size[1], 1, 16384);
  }
  ui::field("samples");
  ImGui::SliderInt("##samples", &s.shot_spp, 1, 1024, "%d per pixel", ImGuiSliderFlags_Logarithmic);
  ImGui::Checkbox("with the panel", &s.shot_panel);
  ImGui::SameLine();
  if (ui::button(state, "Take (F12)", false, state.scene != nullptr)) take_screenshot(state, "");
  if (state.shots.running())
    ImGui::ProgressBar(static_cast<float>(state.shots.share()), {-1, 4}, "");
}

void draw_panel(State& state, const Area& area) {
  ImGui::SetNextWindowPos({area.x, area.y});
  ImGui::SetNextWindowSize({area.width, area.height});
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoDecoration |
                                     ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                                     ImGuiWindowFlags_NoBringToFrontOnFocus;
  if (ImGui::Begin("panel", nullptr, flags & ~ImGuiWindowFlags_NoScrollbar)) {
    switch (state.tab) {
      case Tab::live:
        break;
      case Tab::learn:
        draw_lesson_button(state);
        if (state.node.visible) draw_node_section(state);
        if (state.slice.visible) draw_slice_section(state);
        draw_scene_section(state);
        draw_build_section(state);
        draw_view_section(state);
        draw_tree_section(state);
        draw_allocations_section(state);
        draw_memory_section(state);
        draw_screenshot_section(state);
        break;
      case Tab::compare:
        draw_build_section(state);
        draw_compare_section(state);
        draw_sweep_section(state);
        break;
      case Tab::heap:
        draw_record_section(state);
        draw_graph_section(state);
        draw_trace_section(state);
        draw_stress_section(state);
        if (draw_moment_section(state)) break;
        draw_memory_section(state);
        draw_allocations_section(state);
        break;
    }
  }
  ImGui::End();
}

}  // namespace heapwood::viewer
