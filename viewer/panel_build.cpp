// SPDX-License-Identifier: MIT
// Panels about builds: scene and device; options of the next build; times of the last one, its
// requests, and the state of its pool.
#include "scenes/moving/moving_scene.hpp"
#include "scenes/scene.hpp"
#include "viewer/comparison.hpp"
#include "viewer/panels.hpp"

namespace heapwood::viewer {

void scene_combo(State& state) {
  const std::string& source = state.choice.source;
  // A path is shown by its file's name, which would otherwise be cut off.
  const std::string name = source.substr(source.find_last_of('/') + 1);
  if (ui::begin_combo(state, "##scenes",
                      state.places.texts["scene"] = name.empty() ? "no scene" : name)) {
    // Live on a CPU gets small scenes, because a frame of a scene's usual size takes too long.
    const bool live = state.tab == Tab::live,
               small = live && state.choice.device.id.kind == simt::DeviceKind::cpu;
    std::string chosen;  // opened after the loop, because opening changes the list
    const auto list = [&](const auto& scenes, std::uint64_t max_triangles) {
      for (const scenes::Procedural& scene : scenes) {
        if (std::string_view(scene.description).starts_with("for tests")) continue;
        const std::string name = scene.name;
        if (ui::item(name, source == name, scene.description))
          chosen = name + (small && scene.default_triangles > max_triangles
                               ? fmt::format(":{}k", max_triangles / 1000)
                               : "");
        state.places.note("scene " + name);
      }
    };
    list(scenes::procedural_scenes(), live_triangles);
    if (live) list(scenes::moving_scenes(), moving_triangles);  // only Live shows moving scenes
    if (!chosen.empty()) open_scene(state, chosen);
    ImGui::EndCombo();
  }
  state.places.note("scene");
  if (name != source) ui::hint(source);
}

void allocator_field(State& state) {
  ui::field("allocator");
  if (const auto* entry = ui::choose_allocator(state, "##allocators", state.choice.allocator))
    state.choice.allocator = entry;
  state.places.note("allocator");
}

bool choose_pool(State& state) {
  Choice::Pool& pool = pool_of(state, state.tab);
  ui::field("pool");
  if (ImGui::InputText("##pool", &pool.text)) take_pool_text(state);
  const bool edited = ImGui::IsItemDeactivatedAfterEdit();
  state.places.note("pool");
  ui::hint(
      "fast or auto (enlarged until the build completes), a size such as 512M or 2G, or a multiple "
      "of the root node's array such as 200x or of the peak bytes in use such as live:4.");
  ui::wrapped_text(state.places.texts["pool problem"] = pool.problem, colour::error);
  return edited && pool.problem.empty();
}

bool build_button(State& state, const char* label, bool strong, float width, const char* hint) {
  const char* reason = why_only_live(state);
  const bool enabled = !reason && !state.jobs.progress().running;
  const bool pressed = ui::button(state, label, strong, enabled, width);
  ui::hint(reason ? reason : hint);
  if (reason) state.places.texts["disabled"] += std::string(label) + "; ";
  return pressed;
}

namespace {

void choose_scene(State& state) {
  ui::field("scene");
  scene_combo(state);
  ui::hint(
      "Select a scene, type a name with a size (atrium:1m), a moving scene (statue~:5k) or a path "
      "below, or drop an OBJ, PLY or glTF file or a program trace (.trace) onto the window.");
  ui::field("or path");
  ImGui::SetNextItemWidth(-ImGui::GetFontSize() * 4);
  std::string& path = state.choice.path_text;
  const bool entered = ImGui::InputTextWithHint("##path", "model.obj, atrium:1m", &path,
                                                ImGuiInputTextFlags_EnterReturnsTrue);
  state.places.note("scene path");
  ImGui::SameLine();
  const bool pressed = ui::button(state, "Open", false, !path.empty(), ui::share_of_line(1));
  if ((entered || pressed) && !path.empty()) open_scene(state, path);
}

void choose_refs(State& state) {
  kdtree::RefKind& refs = state.choice.settings.refs;
  ui::field("refs");
  if (ui::begin_combo(state, "##refs", kdtree::name(refs))) {
    for (const kdtree::RefKind kind : kdtree::all_ref_kinds)
      if (ui::item(fmt::format("{}, {} B", kdtree::name(kind), kdtree::ref_bytes(kind)),
                   kind == refs))
        refs = kind;
    ImGui::EndCombo();
  }
  ui::hint(
      "Contents of a node's array per triangle: clipped stores bounds, ids is as in the papers.");
}

void choose_costs(State& state) {
  if (!ImGui::TreeNode("surface area heuristic")) return;
  kdtree::SahCosts& costs = state.choice.settings.costs;
  ui::slider("traversal", costs.traversal, 0, 10, "%.2f", 0);
  ui::slider("intersection", costs.intersection, 0.05f, 10);
  ui::slider("empty bonus", costs.empty_bonus, 0, 0.9f);
  ui::slider("duplicates", costs.duplicate, 0, 1);
  ui::slider("runs", state.choice.settings.runs, 1, 31);
  ImGui::TreePop();
}

// Draws the time, large, and on the same line a reason why it may not be this allocator's. One
// line, so that what is below does not move when another allocator is chosen.
void draw_time(State& state, const bench::Result& built) {
  // If the pool was exhausted, the time is not that of a build.
  const bool complete = built.status == bench::Status::ok, outdated = is_outdated(state, built);
  const bool noisy = complete && spread_of(built.runs_ms) > max_spread;
  state.places.texts["built"] =
      (outdated ? "outdated: " : "") + built.label + (complete ? "" : ", incomplete");
  state.places.texts["speed"] = speed_text(built);
  ui::styled_text(fonts().large,
                  complete ? bench::figure_text(*built.median_ms()) + " ms" : "Incomplete tree",
                  !complete  ? colour::warning
                  : outdated ? colour::dim
                  : noisy    ? colour::warning
                             : colour::text);
  if (!outdated && !noisy) return;
  const auto [low, high] = std::ranges::minmax_element(built.runs_ms);
  ImGui::SameLine();
  ImGui::AlignTextToFramePadding();
  ui::text(outdated ? "of the last build: press Build"
                    : fmt::format("noisy: {} to {} ms", bench::figure_text(*low),
                                  bench::figure_text(*high)),
           colour::warning);
  ui::hint(outdated ? "The allocator or the settings above differ from those of this time."
                    : "The builds of the middle half differ by more than a quarter of the median. "
                      "Close other programs, or build again with more runs.");
}

}  // namespace

std::string speed_text(const bench::Result& built) {
  const std::optional<double> ms = built.median_ms();
  if (built.status != bench::Status::ok || built.triangles == 0 || !ms || *ms <= 0) return "";
  return bench::figure_text(static_cast<double>(built.triangles) / *ms / 1e3) + " M triangles/s";
}

void draw_scene_section(State& state) {
  if (!ui::section("Scene")) return;
  choose_scene(state);
  if (!state.scene || !ui::begin_rows("scene")) return;
  const BuiltScene& scene = *state.scene;
  std::string triangles = bench::count_text(scene.mesh.triangles.size());
  if (state.built && state.built->degenerate)
    triangles += fmt::format(" (+ {} of zero area)", bench::count_text(state.built->degenerate));
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
  ImGui::EndTable();
}

void draw_build_section(State& state) {
  if (!ui::section("Build")) return;
  allocator_field(state);
  choose_pool(state);
  choose_refs(state);
  choose_costs(state);
  const float third = ui::share_of_line(3);
  const bool compares = state.tab == Tab::compare;
  if (build_button(state, "Build", !compares, third,
                   "Builds the tree with this allocator and measures it (B)"))
    start_build(state);
  ImGui::SameLine();
  if (build_button(state, "Compare all", compares, third,
                   "Measures every allocator on this scene (C)"))
    start_compare(state);
  ImGui::SameLine();
  if (build_button(state, "Heap map", false, third,
                   "Records a build and shows the pool over time (H)"))
    start_recording(state);

  if (!state.built || !state.built->median_ms()) return;
  const bench::Result& built = *state.built;
  draw_time(state, built);
  ui::dim_text(fmt::format("{}, pool {}, {} refs, median of {}", built.label,
                           built.settings.pool.text, kdtree::name(built.settings.refs),
                           built.runs_ms.size()));
  if (built.status != bench::Status::ok)
    return ui::wrapped_text(bench::exhaustion_text(built), colour::warning);
  ui::cpu_notice(state);
  if (!ui::begin_rows("build")) return;
  if (const std::string speed = speed_text(built); !speed.empty()) ui::row("speed", speed);
  ui::row("pool reset", bench::figure_text(bench::median(built.reset_ms)) + " ms",
          "Before each build, not included in its time.");
  if (built.kernel) {
    ui::row("registers", fmt::format("{}, stack {}", built.kernel->registers,
                                     bench::bytes_text(built.kernel->local_bytes)));
  } else {
    ui::row("threads", std::to_string(built.warps));
  }
  ImGui::EndTable();
}

namespace {

// Draws the request sizes, one bar per power of two.
void plot_histogram(State& state, const alloc::RequestStats& requests) {
  const auto is_used = [](std::uint64_t count) { return count > 0; };
  const auto begin = std::ranges::find_if(requests.histogram, is_used);
  if (begin == requests.histogram.end()) return;
  std::vector<std::uint64_t> counts(begin, requests.histogram.end());
  while (counts.back() == 0) counts.pop_back();
  const auto size_of = [first = begin - requests.histogram.begin()](std::size_t bar) {
    return bench::bytes_text(std::uint64_t{1} << (static_cast<std::size_t>(first) + bar));
  };
  ui::bars(state, "histogram", {ImGui::GetContentRegionAvail().x, ImGui::GetFontSize() * 5}, counts,
           std::nullopt, {size_of(0), size_of(counts.size() - 1)}, [&](std::size_t i) {
             return fmt::format("{} requests of up to {}", bench::count_text(counts[i]),
                                size_of(i));
           });
}

}  // namespace

void draw_allocations_section(State& state, const alloc::RequestStats* counted) {
  if (!ui::section("Allocations")) return;
  if (!counted) return ui::dim_text("Press Build (B) to count requests.");
  const alloc::RequestStats& requests = *counted;
  if (ui::begin_rows("allocations")) {
    ui::row("requests", bench::count_text(requests.allocations));
    ui::row("freed", requests.deallocations == requests.allocations
                         ? "all"
                         : bench::count_text(requests.deallocations));
    if (requests.failures)
      ui::row("refused", bench::count_text(requests.failures), nullptr, colour::warning);
    ui::row("mean size", fmt::format("{} B, σ {} B", bench::figure_text(requests.mean_bytes),
                                     bench::figure_text(requests.sigma_bytes)));
    ImGui::EndTable();
  }
  plot_histogram(state, requests);
}

// The side panel's sections about the view: mode, camera, the tree over the picture, screenshots.

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
    ui::slider("depth", tree.depth, 0, state.scene ? static_cast<int>(state.scene->depth) : 0);
    ui::checkbox(state, "leaves above", tree.leaves);
    ui::dim_text(tree.shown < tree.total
                     ? fmt::format("{} of {} boxes shown", bench::count_text(tree.shown),
                                   bench::count_text(tree.total))
                     : fmt::format("{} boxes: nodes green, leaves by number of refs",
                                   bench::count_text(tree.shown)));
  }
}

}  // namespace

void draw_panel(State& state, const Area& area) {
  // A window per tab, so that each keeps its own scroll position.
  const std::string id = std::string("panel ") + name(state.tab);
  if (ui::begin_area(id.c_str(), area, ui::fixed & ~ImGuiWindowFlags_NoScrollbar)) {
    if (state.tab == Tab::learn) {
      draw_lesson_button(state);
      if (state.node.visible) draw_node_section(state);
      draw_scene_section(state);
      draw_build_section(state);
      draw_view_section(state);
      draw_tree_section(state);
      draw_allocations_section(
          state, state.built && state.built->requests ? &*state.built->requests : nullptr);
    } else if (state.tab == Tab::compare) {
      draw_build_section(state);
      draw_compare_section(state);
    } else if (state.tab == Tab::heap) {
      draw_record_section(state);
      draw_recorded_sections(state);
    }
  }
  ImGui::End();
}

}  // namespace heapwood::viewer
