// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "bench/results/format.hpp"
#include "render/surface.hpp"
#include "viewer/state.hpp"
#include "viewer/tree_view.hpp"

namespace heapwood::viewer {

namespace {

enum Step : std::size_t { box, plane, sides, levels, leaf, memory };

constexpr struct {
  const char* title;
  bool node, plane, triangles, boxes;  // what is drawn over the picture
} shown_in[Lesson::steps] = {{"One box around everything", true, false, false, false},
                             {"Where to cut?", true, true, false, false},
                             {"Left, right, or both", true, true, true, false},
                             {"The same again in each half", false, false, false, true},
                             {"When to stop", true, false, true, false},
                             {"Every split asks for memory", false, false, false, true}};

constexpr double seconds_per_level = 0.9;

unsigned deepest(const State& state) {
  return state.built && state.built->tree ? state.built->tree->depth : 20;
}

std::string number(double value) { return bench::figure_text(value); }

// The leaf hit by the ray through the middle of the picture, or else that in the scene's middle.
RootPath leaf_in_view(const State& state) {
  const render::CameraFrame frame = render::make_frame(state.camera, 64, 64);
  Box box = state.scene->tree.bounds;
  try {
    const RayPath path = follow(*state.scene, frame.ray(32, 32, render::far_away));
    if (path.hit.found()) box = path.hit_box;
  } catch (const simt::Stopped&) {
    // Tracing fails while a job is being cancelled, which stops every launch.
  }
  return path_to(state.scene->tree, (box.lo + box.hi) * 0.5f);
}

void draw_only(State& state, bool node, bool plane, bool triangles, bool boxes) {
  state.node.visible = node;
  state.node.plane = plane;
  state.node.triangles = triangles;
  state.tree.visible = boxes;
}

}  // namespace

const char* lesson_title(std::size_t step) { return shown_in[step].title; }

std::string lesson_caption(const State& state, std::size_t step) {
  if (!state.scene) return "";
  const NodeExplanation* node = state.node.shown ? &*state.node.shown : nullptr;
  const std::string triangles = bench::count_text(state.scene->mesh.triangles.size());
  switch (step) {
    case box:
      return fmt::format(
          "A ray has to find the first of {} triangles that it hits. Testing all of them for each "
          "ray is far too slow. So the box around the scene is cut in two, again and again: a ray "
          "then skips every part that it does not enter.",
          triangles);
    case plane:
      if (!node || node->leaf) return "Choosing a plane ...";
      return fmt::format(
          "Any plane could cut the box. The surface area heuristic estimates what rays will cost "
          "for each candidate: the larger a part and the more triangles in it, the more "
          "expensive. The curves show all candidates of the three axes; the cheapest one tried "
          "wins, at {} = {}, with a cost of {} instead of {} without a cut.",
          "xyz"[node->axis], number(static_cast<double>(node->plane)), number(node->split_cost),
          number(node->leaf_cost));
    case sides:
      if (!node || node->leaf) return "Sorting triangles ...";
      return fmt::format(
          "{} triangles go left (blue), {} go right (orange). {} are cut by the plane and are on "
          "both sides: the two children have {} references to triangles (refs) for {} triangles.",
          bench::count_text(node->left), bench::count_text(node->right),
          bench::count_text(node->left + node->right - node->refs),
          bench::count_text(node->left + node->right), bench::count_text(node->refs));
    case levels:
      return fmt::format(
          "Each half is a smaller problem of the same kind, so it is cut in the same way. All "
          "halves "
          "of a level can be cut at the same time, by thousands of threads on a GPU. Level {} of "
          "{}: {} boxes.",
          state.tree.depth, deepest(state), bench::count_text(state.tree.total));
    case leaf:
      if (!node) return "Looking for a leaf ...";
      return fmt::format(
          "A node is cut only while that makes rays cheaper. This one has {} triangle{}: as a leaf "
          "it costs {}{}. The histograms show how large and how deep the leaves of this tree are.",
          bench::count_text(node->refs), node->refs == 1 ? "" : "s", number(node->leaf_cost),
          node->lowest < node->leaf_cost
              ? fmt::format(", and the best cut would cost {}", number(node->lowest))
              : ", and no cut costs less");
    case memory:
    default:
      return fmt::format(
          "How many triangles each half will have is not known in advance, so every split requests "
          "arrays for its two halves and frees its own.{} The tree keeps {} refs. How fast threads "
          "get memory, and how much of the pool is lost to holes, depends on the allocator: see "
          "Live (F5) and Heap (F8).",
          state.built && state.built->requests
              ? fmt::format(" This build made {} requests.",
                            bench::count_text(state.built->requests->allocations))
              : "",
          bench::count_text(state.scene->tree.refs.size()));
  }
}

void show_lesson(State& state, std::size_t step) {
  show_tab(state, Tab::learn);
  state.lesson.step = step;
  state.lesson.since = state.now;
  if (!state.scene) return;
  const auto& drawn = shown_in[step];
  draw_only(state, drawn.node, drawn.plane, drawn.triangles, drawn.boxes);
  const bench::BuildSettings& settings = state.choice.settings;
  const bool at_root = state.node.shown && state.node.shown->path.size() == 1;
  if (step == levels) {
    state.tree.depth = 1;
  } else if (step == memory) {
    state.tree.depth = static_cast<int>(deepest(state));
  } else if (step == leaf) {
    state.node.choose(state.scene, leaf_in_view(state), settings);
  } else if (!at_root) {
    state.node.choose(state.scene, root_of(state.scene->tree), settings);
  }
}

void end_lesson(State& state) {
  state.lesson.step.reset();
  draw_only(state, false, true, true, false);
}

void page_lesson(State& state, int by) {
  if (!state.lesson.step) {
    if (by > 0) show_lesson(state, 0);
    return;
  }
  const auto to = static_cast<int>(*state.lesson.step) + by;
  if (to >= static_cast<int>(Lesson::steps)) return end_lesson(state);
  show_lesson(state, static_cast<std::size_t>(std::max(to, 0)));
}

void advance_lesson(State& state) {
  if (state.lesson.step != levels) return;
  const auto level =
      static_cast<unsigned>((state.now - state.lesson.since) / seconds_per_level) + 1;
  if (level <= std::min(deepest(state), 16u)) state.tree.depth = static_cast<int>(level);
}

}  // namespace heapwood::viewer
