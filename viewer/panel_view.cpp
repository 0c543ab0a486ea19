// SPDX-License-Identifier: MIT
// The side panel. View of the scene: mode, camera, bookmarks; tree and slice plane over the
// picture; screenshots.
#include <array>

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

void list_bookmarks(State& state) {
  std::vector<Bookmark>& list = state.settings.bookmarks[state.scene->source];
  std::optional<std::size_t> removed;
  for (std::size_t i = 0; i < list.size(); ++i) {
    ImGui::PushID(static_cast<int>(i));
    ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - ImGui::GetFontSize() * 7.5f);
    ImGui::InputText("##name", &list[i].name);
    ImGui::SameLine();
    if (ImGui::Button("Go")) go_to_bookmark(state, i);
    ImGui::SameLine();
    if (ImGui::Button("Delete")) removed = i;
    ImGui::PopID();
  }
  if (removed) list.erase(list.begin() + static_cast<std::ptrdiff_t>(*removed));
}

void draw_path(State& state) {
  const PathView& path = state.path;
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
  ImGui::AlignTextToFramePadding();
  const std::string text =
      fmt::format("{:.1f} s, {} keys", path.path.seconds(), path.path.keys().size());
  ui::text(state.places.texts["path"] = text, colour::dim);
}

int deepest_level(const State& state) {
  return state.built && state.built->tree ? static_cast<int>(state.built->tree->depth) : 60;
}

void draw_view_section(State& state) {
  if (!ui::section("View")) return;
  choose_mode(state);
  choose_material(state);
  ImGui::Dummy({0, 2});
  bool& fly = state.settings.fly;
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
  ImGui::SameLine();
  if (ui::button(state, "Save view")) add_bookmark(state);
  ui::hint("Saves a bookmark for this scene (K); [ and ] show the previous and next one");
  ui::slider("field of view", state.camera.fov, 5, 120, "%.0f°");
  if (fly)
    ui::slider("speed", state.settings.fly_speed, 0.005f, 2, "%.3f diagonals/s",
               ImGuiSliderFlags_Logarithmic | ImGuiSliderFlags_AlwaysClamp);
  if (state.scene) list_bookmarks(state);
  draw_path(state);
  const std::string camera =
      render::to_arguments(state.camera, state.scene ? state.scene->mesh.origin : Vec3d{});
  if (ui::button(state, "Copy camera")) ImGui::SetClipboardText(("--camera " + camera).c_str());
  ui::hint("for 'heapwood render': " + camera);
}

// Axis, position and depth of the slice plane.
void draw_slice_section(State& state) {
  SliceView& slice = state.slice;
  if (!state.scene || !ui::section("Slice")) return;
  ui::field("across");
  const float width = ui::share_of_line(3);
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (axis) ImGui::SameLine();
    const char* const names[] = {"x##slice", "y##slice", "z##slice"};
    if (ui::button(state, names[axis], slice.axis == axis, true, width)) slice.axis = axis;
  }
  const Vec3d& origin = state.scene->mesh.origin;
  const double at = static_cast<double>(slice.position(*state.scene)) +
                    std::array{origin.x, origin.y, origin.z}[slice.axis];
  ui::slider("position", slice.place, 0, 1, fmt::format("{:.4g}", at).c_str());
  state.places.note("slice position");
  const int deepest = deepest_level(state);
  int depth = std::min(slice.depth, deepest);
  if (ui::slider("cells", depth, 0, deepest, depth == deepest ? "all leaves" : "depth %d"))
    slice.depth = depth == deepest ? static_cast<int>(kdtree::max_depth) : depth;
  state.places.note("slice depth");
  ui::checkbox(state, "the other side", slice.other_side,
               "Cuts away what is behind the plane instead of what is in front of it");
  std::string text = fmt::format(
      "{} cells: leaves by number of refs, empty ones grey, inner nodes green. White: {} triangles "
      "that are cut",
      bench::count_text(slice.total), bench::count_text(slice.triangles));
  if (slice.shown < slice.total)
    text += fmt::format("; {} cells shown", bench::count_text(slice.shown));
  if (slice.drawn_triangles < state.scene->mesh.triangles.size())
    text += fmt::format("; {} of {} triangles shown", bench::count_text(slice.drawn_triangles),
                        bench::count_text(state.scene->mesh.triangles.size()));
  ui::dim_text(state.places.texts["slice"] = text);
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
  ImGui::SameLine();
  bool slice = state.slice.visible;
  if (ui::checkbox(state, "slice", slice,
                   "Cuts the scene open with a plane, and draws on it the cells of the tree that "
                   "it crosses (X)"))
    toggle_slice(state);
  if (tree.visible) {
    ui::slider("depth", tree.depth, 0, deepest_level(state));
    ui::checkbox(state, "leaves above", tree.leaves);
    ui::dim_text(tree.shown < tree.total
                     ? fmt::format("{} of {} boxes shown", bench::count_text(tree.shown),
                                   bench::count_text(tree.total))
                     : fmt::format("{} boxes: nodes green, leaves by number of refs",
                                   bench::count_text(tree.shown)));
  }
  if (!state.probe.active || !state.probe.path || !ui::begin_rows("ray")) return;
  const RayPath& path = *state.probe.path;
  ui::row("inner nodes", bench::count_text(path.inner_steps));
  ui::row("leaves", fmt::format("{}, {} empty", path.leaves.size(), path.empty_leaves()));
  ui::row("triangles tested", bench::count_text(path.tests));
  ui::row("hit", path.hit.found() ? fmt::format("triangle {} at {:.4g}",
                                                bench::count_text(path.hit.triangle), path.hit.t)
                                  : "nothing");
  ImGui::EndTable();
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
  ui::slider("samples", s.shot_spp, 1, 1024, "%d per pixel", ImGuiSliderFlags_Logarithmic);
  ui::checkbox(state, "with the panel", s.shot_panel);
  ImGui::SameLine();
  if (ui::button(state, "Take (F12)", false, state.scene != nullptr)) take_screenshot(state, "");
  if (state.shots.running())
    ImGui::ProgressBar(static_cast<float>(state.shots.share()), {-1, 4}, "");
}

}  // namespace

void draw_panel(State& state, const Area& area) {
  if (ui::begin_area("panel", area, ui::fixed & ~ImGuiWindowFlags_NoScrollbar)) {
    if (state.tab == Tab::learn) {
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
    } else if (state.tab == Tab::compare) {
      draw_build_section(state);
      draw_compare_section(state);
      draw_sweep_section(state);
    } else if (state.tab == Tab::heap) {
      draw_record_section(state);
      draw_graph_section(state);
      draw_trace_section(state);
      draw_stress_section(state);
      if (!draw_moment_section(state)) {
        draw_memory_section(state);
        draw_allocations_section(state);
      }
    }
  }
  ImGui::End();
}

}  // namespace heapwood::viewer
