// SPDX-License-Identifier: MIT
// Scene, device, and figures of the tree.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_stdlib.h>

#include "bench/results/format.hpp"
#include "scenes/moving/moving_scene.hpp"
#include "scenes/scene.hpp"
#include "viewer/panels.hpp"
#include "viewer/widgets.hpp"

namespace heapwood::viewer {

void scene_combo(State& state) {
  if (ui::begin_combo(state, "##scenes",
                      state.choice.source.empty() ? "no scene" : state.choice.source)) {
    // On a CPU a frame of a scene's usual size takes too long for Live.
    const bool small =
        state.tab == Tab::live && state.choice.device.id.kind == simt::DeviceKind::cpu;
    std::string recent;
    for (const std::string& source : state.settings.recent) {
      if (ImGui::Selectable(source.c_str(), state.choice.source == source)) recent = source;
      state.places.note("recent " + source);
    }
    if (!recent.empty()) open_scene(state, recent);  // changes the list
    if (!state.settings.recent.empty()) ImGui::Separator();
    for (const scenes::Procedural& scene : scenes::procedural_scenes()) {
      if (ImGui::Selectable(scene.name, state.choice.source == scene.name))
        open_scene(state,
                   std::string(scene.name) + (small && scene.default_triangles > live_triangles
                                                  ? fmt::format(":{}k", live_triangles / 1000)
                                                  : ""));
      state.places.note(std::string("scene ") + scene.name);
      ui::hint(scene.description);
    }
    for (const scenes::Procedural& scene : scenes::moving_scenes()) {
      if (state.tab != Tab::live) break;  // builds elsewhere need a scene that stands
      if (ImGui::Selectable(scene.name, state.choice.source == scene.name))
        open_scene(state, std::string(scene.name) +
                              (small ? fmt::format(":{}k", moving_triangles / 1000) : ""));
      state.places.note(std::string("scene ") + scene.name);
      ui::hint(scene.description);
    }
    ImGui::EndCombo();
  }
  state.places.note("scene");
}

namespace {

void choose_scene(State& state) {
  ui::field("scene");
  scene_combo(state);
  ui::hint(
      "Select a scene, type a name with a size (atrium:1m), a moving scene (statue~:5k) or a path "
      "below, or drop an OBJ, PLY or glTF file, a program trace (.trace) or a camera path (.path) "
      "onto the window.");
  ui::field("or path");
  ImGui::SetNextItemWidth(-ImGui::GetFontSize() * 4);
  std::string& path = state.choice.path_text;
  const bool entered = ImGui::InputTextWithHint("##path", "model.obj, atrium:1m", &path,
                                                ImGuiInputTextFlags_EnterReturnsTrue);
  state.places.note("scene path");
  ImGui::SameLine();
  const bool pressed =
      ui::button(state, "Open", false, !path.empty(), ImGui::GetContentRegionAvail().x);
  if ((entered || pressed) && !path.empty()) open_scene(state, path);
}

void choose_device(State& state) {
  ui::field("device");
  if (ui::begin_combo(state, "##devices",
                      fmt::format("{}: {}", state.choice.device.key, state.choice.device.name))) {
    for (const simt::DeviceInfo& device : state.devices) {
      ImGui::BeginDisabled(!device.usable);
      if (ImGui::Selectable(
              fmt::format("{}: {}", device.key, device.usable ? device.name : device.reason)
                  .c_str(),
              device.key == state.choice.device.key)) {
        state.choice.device = device;
        start_build(state);
      }
      ImGui::EndDisabled();
    }
    ImGui::EndCombo();
  }
  for (const simt::DeviceInfo& device : state.devices) {
    if (device.usable || device.id.kind != simt::DeviceKind::cuda) continue;
    ui::hint(("No GPU: " + device.reason).c_str());
  }
}

}  // namespace

void draw_scene_section(State& state) {
  if (!ui::section("Scene")) return;
  choose_scene(state);
  choose_device(state);
  if (!state.scene || !ui::begin_rows("scene")) return;
  const BuiltScene& scene = *state.scene;
  if (scene.device.id.kind == simt::DeviceKind::cuda) {
    const PictureStatus picture = state.picture.status();
    ui::row("picture", picture.shared ? "shared with OpenGL" : "copied: " + picture.copied_because,
            "If the GPU that traces rays also runs OpenGL, it writes pixels directly into OpenGL's "
            "memory; "
            "otherwise they are copied through the host.");
  }
  std::string triangles = bench::count_text(scene.mesh.triangles.size());
  if (state.built && state.built->degenerate) {
    triangles += fmt::format(" (+ {} of zero area)", bench::count_text(state.built->degenerate));
  }
  ui::row("triangles", triangles);
  const Vec3 extent = scene.tree.bounds.empty() ? Vec3{} : scene.tree.bounds.extent();
  ui::row("extent", fmt::format("{:.4g} × {:.4g} × {:.4g}", extent.x, extent.y, extent.z));
  if (state.built && state.built->tree) {
    const kdtree::TreeStats& tree = *state.built->tree;
    ui::row("nodes",
            fmt::format("{}, depth {}", bench::count_text(tree.inner + tree.leaves), tree.depth));
    ui::row("leaves", fmt::format("{}, {} empty", bench::count_text(tree.leaves),
                                  bench::count_text(tree.empty_leaves)));
    ui::row("refs/triangle", bench::figure_text(state.built->refs_per_triangle()),
            "A triangle has a ref in every leaf that it touches.");
    ui::row("SAH cost", bench::figure_text(tree.sah_cost),
            "Expected cost of a random ray: lower is better.");
  }
  ui::end_rows();
}

}  // namespace heapwood::viewer
