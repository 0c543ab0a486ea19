// SPDX-License-Identifier: MIT
// Panels about builds: scene and device; options of the next build; times of the last one, its
// requests, and the state of its pool.
#include "bench/results/result.hpp"
#include "render/renderer.hpp"
#include "scenes/moving/moving_scene.hpp"
#include "scenes/scene.hpp"
#include "viewer/comparison.hpp"
#include "viewer/panels.hpp"

namespace heapwood::viewer {

void scene_combo(State& state) {
  const std::string& source = state.choice.source;
  if (ui::begin_combo(state, "##scenes", source.empty() ? "no scene" : source)) {
    // Live on a CPU gets small scenes, because a frame of a scene's usual size takes too long.
    const bool live = state.tab == Tab::live,
               small = live && state.choice.device.id.kind == simt::DeviceKind::cpu;
    std::string chosen;  // opened after the loop, because opening changes the list
    const auto list = [&](const auto& scenes, std::uint64_t max_triangles) {
      for (const scenes::Procedural& scene : scenes) {
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
}

void allocator_field(State& state) {
  ui::field("allocator");
  if (const auto* entry = ui::choose_allocator(state, "##allocators", state.choice.allocator))
    state.choice.allocator = entry;
  state.places.note("allocator");
}

bool choose_pool(State& state) {
  ui::field("pool");
  if (ImGui::InputText("##pool", &state.choice.pool_text)) take_pool_text(state);
  const bool edited = ImGui::IsItemDeactivatedAfterEdit();
  state.places.note("pool");
  ui::hint(
      "fast or auto (enlarged until the build completes), a size such as 512M or 2G, or a multiple "
      "of the root node's array such as 200x or of the peak bytes in use such as live:4.");
  ui::wrapped_text(state.places.texts["pool problem"] = state.choice.pool_problem, colour::error);
  return edited && state.choice.pool_problem.empty();
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

// Draws each sample as a dot, and median and quartiles as a box.
void plot_samples(const std::vector<double>& samples) {
  const auto [low, high] = std::ranges::minmax_element(samples);
  const float height = ImGui::GetFontSize() * 1.2f, width = ImGui::GetContentRegionAvail().x;
  const ImVec2 corner = ImGui::GetCursorScreenPos();
  const double margin = 0.05 * (*high - *low) + 1e-9, from = *low - margin, to = *high + margin;
  const auto x = [&](double ms) {
    return corner.x + static_cast<float>((ms - from) / (to - from)) * width;
  };
  ui::fill(corner, {corner.x + width, corner.y + height}, ui::white(8), 4);
  ui::fill({x(*bench::quantile(samples, 0.25)), corner.y + 3},
           {x(*bench::quantile(samples, 0.75)), corner.y + height - 3}, IM_COL32(104, 196, 134, 50),
           3);
  const float middle = x(*bench::median(samples));
  ui::line({middle, corner.y + 2}, {middle, corner.y + height - 2}, IM_COL32(104, 196, 134, 220),
           2);
  for (const double ms : samples)
    ImGui::GetWindowDrawList()->AddCircleFilled({x(ms), corner.y + height / 2}, height * 0.16f,
                                                IM_COL32(230, 233, 236, 190));
  ImGui::Dummy({width, height});
  ui::hint(fmt::format("{} builds, {} to {} ms; the box is the middle half", samples.size(),
                       bench::figure_text(*low), bench::figure_text(*high)));
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
  if (build_button(state, "Build", true, third,
                   "Builds the tree with this allocator and measures it (B)"))
    start_build(state);
  ImGui::SameLine();
  if (build_button(state, "Compare all", false, third,
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
  plot_samples(built.runs_ms);
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

void draw_allocations_section(State& state) {
  if (!ui::section("Allocations")) return;
  if (!state.built || !state.built->requests)
    return ui::dim_text("Press Build (B) to count requests.");
  const alloc::RequestStats& requests = *state.built->requests;
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

void draw_memory_section(State& state) {
  if (!ui::section("Memory")) return;
  if (!state.built || !state.built->requests)
    return ui::dim_text("Press Build (B) for these figures.");
  if (!ui::begin_rows("memory")) return;
  const bench::Result& built = *state.built;
  if (built.pool_bytes) {
    ui::row("pool", bench::bytes_text(*built.pool_bytes));
    ui::row(
        "high-water mark",
        fmt::format("{}, {:.1f}% of the pool", bench::bytes_text(built.requests->high_water_bytes),
                    100.0 * static_cast<double>(built.requests->high_water_bytes) /
                        static_cast<double>(std::max<std::uint64_t>(*built.pool_bytes, 1))),
        "Maximum of requested bytes in use at once.");
  }
  if (built.at_end && built.at_end->measured) {
    const alloc::Fragmentation& end = *built.at_end;
    ui::row("external frag.", bench::figure_text(end.external),
            "After the build: 1 - largest free region / all free memory. RegEff section 8.");
    ui::row("internal frag.",
            end.internal ? bench::figure_text(*end.internal) : std::string("–, no block is in use"),
            "After the build: mean of (size - requested) / size over regions in use. RegEff "
            "section 8.");
    ui::row("largest free", fmt::format("{} of {}", bench::bytes_text(end.largest_free_bytes),
                                        bench::bytes_text(end.free_bytes)));
    if (end.metadata_bytes)
      ui::row("tables", bench::bytes_text(end.metadata_bytes),
              "The allocator's tables in the pool.");
  } else {
    ui::row("fragmentation", "unknown", "This allocator's blocks are outside the pool.");
  }
  if (built.workspace_bytes) ui::row("outside the pool", bench::bytes_text(*built.workspace_bytes));
  ImGui::EndTable();
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
