// SPDX-License-Identifier: MIT
// The side panel's sections about the view: mode, camera, the tree over the picture, screenshots.
#include "render/renderer.hpp"
#include "viewer/panels.hpp"

namespace heapwood::viewer {

namespace {

constexpr const char* mode_hints[] = {"daylight (1)",
                                      "path tracing, diffuse bounces (2)",
                                      "ambient occlusion (3)",
                                      "surface normals (4)",
                                      "distance from the eye (5)",
                                      "steps of each ray through the tree (6)",
                                      "triangles in the leaf of the hit (7)",
                                      "the surfaces' own colours, without light (8)"};

void choose_mode(State& state) {
  const float width = ui::share_of_line(4);
  for (std::size_t i = 0; i < std::size(key_modes); ++i) {
    if (i % 4 != 0) ImGui::SameLine();
    if (ui::button(state, render::name(key_modes[i]), state.mode == key_modes[i], true, width))
      state.mode = key_modes[i];
    ui::hint(mode_hints[i]);
  }
}

void choose_material(State& state) {
  const bool coloured = state.scene && !state.scene->mesh.appearance.empty();
  ui::field("material");
  const float width = ui::share_of_line(2);
  if (ui::button(state, "colours", coloured && !state.clay, coloured, width)) state.clay = false;
  ui::hint(coloured ? "Colours and textures of the scene, in shaded, path and albedo (M)"
                    : "This scene has no colours of its own.");
  ImGui::SameLine();
  if (ui::button(state, "clay", coloured && state.clay, coloured, width)) state.clay = true;
  ui::hint("One colour, so that only shapes are seen (M)");
}

int deepest_level(const State& state) {
  return state.built && state.built->tree ? static_cast<int>(state.built->tree->depth) : 60;
}

void draw_view_section(State& state) {
  if (!ui::section("View")) return;
  choose_mode(state);
  choose_material(state);
  ImGui::Dummy({0, 2});
  bool& fly = state.show.fly;
  if (ui::button(state, fly ? "Fly" : "Orbit")) fly = !fly;
  ui::hint(
      "Orbit: drag to turn around the point under the mouse. Fly: drag to look around, W A S D Q E "
      "to move (O)");
  ImGui::SameLine();
  if (ui::button(state, "Reset")) reset_view(state);
  ui::hint("The scene's own view (Home)");
  ImGui::SameLine();
  if (ui::button(state, "Light")) light_view(state);
  ui::hint("Sets the light for this view; it stays while the camera moves (L)");
  ui::slider("field of view", state.camera.fov, 5, 120, "%.0f°");
  if (fly)
    ui::slider("speed", state.show.fly_speed, 0.005f, 2, "%.3f diagonals/s",
               ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_AlwaysClamp);
  const std::string camera =
      render::to_arguments(state.camera, state.scene ? state.scene->mesh.origin : Vec3d{});
  if (ui::button(state, "Copy camera")) ImGui::SetClipboardText(("--camera " + camera).c_str());
  ui::hint("for 'heapwood render': " + camera);
}

void draw_tree_section(State& state) {
  if (!ui::section("Tree")) return;
  TreeView& tree = state.tree;
  ui::checkbox(state, "boxes", tree.visible,
               "Draws node boxes over the picture (T); + and - change the depth");
  ImGui::SameLine();
  ui::checkbox(state, "ray", state.probe.active,
               "Shows the leaves that the ray under the mouse visits, and their triangles (P); "
               "click to pin it");
  ImGui::SameLine();
  ui::checkbox(state, "node", state.node.visible,
               "Explains why a node was split where it is (N); click in the picture to choose one");
  if (tree.visible) {
    ui::slider("depth", tree.depth, 0, deepest_level(state));
    ui::checkbox(state, "leaves above", tree.leaves);
    ui::dim_text(tree.shown < tree.total
                     ? fmt::format("{} of {} boxes shown", bench::count_text(tree.shown),
                                   bench::count_text(tree.total))
                     : fmt::format("{} boxes: nodes green, leaves by number of refs",
                                   bench::count_text(tree.shown)));
  }
}

void draw_screenshot_section(State& state) {
  if (!ui::section("Screenshot", false)) return;
  ShotSettings& s = state.shot_settings;
  ui::field("size");
  int size[2] = {s.width, s.height};
  if (ImGui::InputInt2("##size", size)) {
    s.width = std::clamp(size[0], 1, 16384);
    s.height = std::clamp(size[1], 1, 16384);
  }
  ui::slider("samples", s.samples, 1, 1024, "%d per pixel", ImGuiSliderFlags_Logarithmic);
  ui::checkbox(state, "with the panel", s.window);
  ImGui::SameLine();
  if (ui::button(state, "Take (F12)", false, state.scene != nullptr)) take_screenshot(state, "");
}

}  // namespace

void draw_panel(State& state, const Area& area) {
  if (ui::begin_area("panel", area, ui::fixed & ~ImGuiWindowFlags_NoScrollbar)) {
    if (state.tab == Tab::learn) {
      draw_lesson_button(state);
      if (state.node.visible) draw_node_section(state);
      draw_scene_section(state);
      draw_build_section(state);
      draw_view_section(state);
      draw_tree_section(state);
      draw_allocations_section(state);
      draw_memory_section(state);
      draw_screenshot_section(state);
    } else if (state.tab == Tab::compare) {
      draw_build_section(state);
      draw_compare_section(state);
    } else if (state.tab == Tab::heap) {
      draw_record_section(state);
      draw_memory_section(state);
      draw_allocations_section(state);
    }
  }
  ImGui::End();
}

}  // namespace heapwood::viewer
