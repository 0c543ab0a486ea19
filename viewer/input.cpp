// SPDX-License-Identifier: MIT
// Keys and mouse. The list that F1 shows (overlay.cpp) must match this file.
#include <epoxy/gl.h>
// epoxy first: it replaces the system's OpenGL headers.
#include <GLFW/glfw3.h>

#include "render/surface.hpp"
#include "viewer/camera.hpp"
#include "viewer/viewer.hpp"

namespace heapwood::viewer {

namespace {

bool inside(const Area& area, ImVec2 point) {
  return point.x >= area.x && point.x < area.x + area.width && point.y >= area.y &&
         point.y < area.y + area.height;
}

bool is_clicked(const Area& area) {
  const ImGuiIO& io = ImGui::GetIO();
  // A drag moves the camera; it is not a click.
  return !io.WantCaptureMouse && inside(area, io.MousePos) && ImGui::IsMouseReleased(0) &&
         io.MouseDragMaxDistanceSqr[0] < 9;
}

// Moves the time of the recordings by a number of events.
void step_time(State& s, double by) {
  s.heap.playing = false;
  if (s.heap.recordings.empty()) return;
  const double events = std::max(1.0, static_cast<double>(s.heap.recordings.front()->events));
  s.heap.place = std::clamp(s.heap.place + by / events, 0.0, 1.0);
}

void deepen_boxes(State& s, int by) {
  s.tree.depth = std::clamp(s.tree.depth + by, 0, static_cast<int>(kdtree::max_depth));
}

void toggle_panel(State& s) {
  s.show.panel = !s.show.panel;
  if (!s.show.panel) s.note("Bar and panel are hidden; F2 shows them again.");
}

void escape(State& s) {
  if (ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup)) {
    s.close_popups = true;
  } else if (s.help) {
    s.help = false;
  } else {
    s.jobs.cancel();
    cancel_shot(s);
  }
}

// Commands that do not depend on Shift. They do not repeat while their key is down.
constexpr struct {
  int key;
  void (*action)(State&);
} commands[] = {{GLFW_KEY_F1, [](State& s) { s.help = !s.help; }},
                {GLFW_KEY_F2, toggle_panel},
                {GLFW_KEY_F3,
                 [](State& s) { show_tab(s, s.tab == Tab::heap ? s.tab_before_heap : Tab::heap); }},
                {GLFW_KEY_F4, [](State& s) { s.show.numbers = !s.show.numbers; }},
                {GLFW_KEY_F5, [](State& s) { show_tab(s, Tab::live); }},
                {GLFW_KEY_F6, [](State& s) { show_tab(s, Tab::learn); }},
                {GLFW_KEY_F7, [](State& s) { show_tab(s, Tab::compare); }},
                {GLFW_KEY_F8, [](State& s) { show_tab(s, Tab::heap); }},
                {GLFW_KEY_F9, [](State& s) { s.show.light = !s.show.light; }},
                {GLFW_KEY_F12, [](State& s) { take_screenshot(s, ""); }},
                {GLFW_KEY_R, [](State& s) { s.records_video = !s.records_video; }},
                {GLFW_KEY_ESCAPE, escape},
                {GLFW_KEY_B, start_build},
                {GLFW_KEY_C, start_compare},
                {GLFW_KEY_H, start_recording},
                {GLFW_KEY_O, [](State& s) { s.show.fly = !s.show.fly; }},
                {GLFW_KEY_HOME, reset_view},
                {GLFW_KEY_M, [](State& s) { s.clay = !s.clay; }},
                {GLFW_KEY_L, light_view},
                {GLFW_KEY_T, [](State& s) { s.tree.visible = !s.tree.visible; }},
                {GLFW_KEY_P,
                 [](State& s) {
                   s.probe.active = !s.probe.active;
                   s.probe.clear();
                 }},
                {GLFW_KEY_N, [](State& s) { s.node.visible = !s.node.visible; }},
                {GLFW_KEY_PAGE_DOWN, [](State& s) { page_lesson(s, 1); }},
                {GLFW_KEY_PAGE_UP, [](State& s) { page_lesson(s, -1); }},
                {GLFW_KEY_SPACE, [](State& s) {
                   s.tab == Tab::live ? void(s.live.frozen = !s.live.frozen) : s.heap.toggle_play();
                 }}};

// Steps, which repeat while their key is down.
constexpr struct {
  int key;
  void (*action)(State&, int by);
  int by;
} steps[] = {{GLFW_KEY_COMMA, [](State& s, int by) { step_time(s, by); }, -1},
             {GLFW_KEY_PERIOD, [](State& s, int by) { step_time(s, by); }, 1},
             {GLFW_KEY_EQUAL, deepen_boxes, 1},
             {'+', deepen_boxes, 1},
             {GLFW_KEY_KP_ADD, deepen_boxes, 1},
             {GLFW_KEY_MINUS, deepen_boxes, -1},
             {GLFW_KEY_KP_SUBTRACT, deepen_boxes, -1}};

kdtree::Ray ray_at(const render::Camera& camera, const Area& area, ImVec2 point) {
  const render::CameraFrame frame = render::make_frame(camera, static_cast<unsigned>(area.width),
                                                       static_cast<unsigned>(area.height));
  return frame.ray(std::floor(point.x - area.x) + 0.5f, std::floor(point.y - area.y) + 0.5f,
                   render::far_away);
}

}  // namespace

void Viewer::key(const KeyPress& press) {
  State& s = state_;
  // Other key combinations with Ctrl are ignored.
  if (press.mods == GLFW_MOD_CONTROL) {
    for (const auto& [key, action, by] : steps)
      if (key == press.key && action == deepen_boxes) window_.zoom(by > 0 ? 1.1f : 1 / 1.1f);
  }
  if (press.mods & (GLFW_MOD_CONTROL | GLFW_MOD_ALT | GLFW_MOD_SUPER)) return;
  const bool shift = press.mods & GLFW_MOD_SHIFT;
  for (const auto& [key, action, by] : steps) {
    const bool of_time = key == GLFW_KEY_COMMA || key == GLFW_KEY_PERIOD;
    if (key == press.key) return action(s, shift && of_time ? 1000 * by : by);
  }
  if (press.repeated) return;
  const auto number = static_cast<std::size_t>(press.key - GLFW_KEY_1);
  if (s.tab == Tab::live && number < 9) {
    if (const auto* entry = registry::find(live_keys[number]))
      choose_live(s, shift ? 0 : 1, *entry);
  } else if (number < std::size(key_modes)) {
    s.mode = key_modes[number];
  }
  for (const auto& [key, action] : commands)
    if (key == press.key) action(s);
}

void Viewer::mouse(const Area& area) {
  const ImGuiIO& io = ImGui::GetIO();
  if (!state_.scene || area.width < 1 || area.height < 1) return;
  const bool over = !io.WantCaptureMouse && inside(area, io.MousePos);
  if (!ImGui::IsMouseDown(0) && !ImGui::IsMouseDown(1) && !ImGui::IsMouseDown(2)) dragging_ = false;
  if (over && (ImGui::IsMouseClicked(0) || ImGui::IsMouseClicked(1) || ImGui::IsMouseClicked(2)))
    dragging_ = true;
  render::Camera& camera = state_.camera;
  // The point of the scene under the mouse or, if it is over the sky, the view's target.
  const auto point = [&] {
    const Area half = half_of(area, io.MousePos.x);
    const kdtree::Ray ray = ray_at(camera_in(half), half, io.MousePos);
    const kdtree::Hit hit = state_.scene->traced->closest({&ray, 1}).front();
    return hit.found() ? ray.origin + ray.direction * hit.t : camera.target;
  };
  if (over && ImGui::IsMouseClicked(0) && !state_.show.fly) pivot_ = point();
  const float right = io.MouseDelta.x / area.height, up = -io.MouseDelta.y / area.height;
  if (dragging_ && (right != 0 || up != 0)) {
    if (ImGui::IsMouseDown(1) || ImGui::IsMouseDown(2)) {
      camera = pan(camera, -right, -up);
    } else if (state_.show.fly) {
      const float turn = camera.fov * 0.0174533f;  // keeps the point under the mouse
      camera = look(camera, -right * turn, -up * turn);
    } else {
      camera = orbit_about(camera, pivot_, -right * 3, -up * 3);
    }
  }
  if (!over) return;
  if (io.MouseWheel != 0 && state_.show.fly) {
    state_.show.fly_speed =
        std::clamp(state_.show.fly_speed * std::pow(1.2f, io.MouseWheel), 0.001f, 10.0f);
  } else if (io.MouseWheel != 0) {
    camera = dolly(camera, std::pow(0.88f, io.MouseWheel));
  }
  if (ImGui::IsMouseDoubleClicked(0)) camera = aim(camera, point());
}

void Viewer::fly(double seconds) {
  const ImGuiIO& io = ImGui::GetIO();
  if (!state_.scene || !state_.show.fly || io.WantTextInput || io.KeyCtrl) return;
  const auto down = [&](int key) { return window_.is_down(key) ? 1.0f : 0.0f; };
  const Vec3 way{down(GLFW_KEY_D) - down(GLFW_KEY_A), down(GLFW_KEY_E) - down(GLFW_KEY_Q),
                 down(GLFW_KEY_W) - down(GLFW_KEY_S)};
  if (way == Vec3{}) return;
  last_activity_ = state_.now;
  const float speed =
      state_.show.fly_speed * state_.scene->diagonal() * (io.KeyShift ? 4.0f : 1.0f);
  state_.camera = viewer::fly(state_.camera, way * (speed * static_cast<float>(seconds)));
}

void Viewer::probe(const Area& area) {
  RayProbe& probe = state_.probe;
  if (!probe.active || !state_.scene) return;
  const ImGuiIO& io = ImGui::GetIO();
  if (io.WantCaptureMouse || !inside(area, io.MousePos)) return;
  if (is_clicked(area)) probe.pinned = !probe.pinned;
  if (probe.pinned) return;
  const bool moved = probe.x != io.MousePos.x || probe.y != io.MousePos.y;
  if (!moved && probe.path && !dragging_) return;
  probe.x = io.MousePos.x;
  probe.y = io.MousePos.y;
  const Area half = half_of(area, io.MousePos.x);
  probe.path = follow(*state_.scene, ray_at(camera_in(half), half, io.MousePos));
}

// A click moves from the node that is shown one level towards the leaf under the mouse; with Shift
// to the leaf itself. If the node does not contain that leaf, it moves to the child of the smallest
// node that contains both.
void Viewer::choose_node(const Area& area) {
  if (state_.tab != Tab::learn || !state_.node.visible || !state_.node.shown || !state_.scene ||
      state_.probe.active || !is_clicked(area))
    return;
  const RayPath ray = follow(*state_.scene, ray_at(state_.camera, area, ImGui::GetIO().MousePos));
  if (!ray.hit.found()) return;
  RootPath leaf = path_to(state_.scene->tree, (ray.hit_box.lo + ray.hit_box.hi) * 0.5f);
  const RootPath& now = state_.node.shown->path;
  std::size_t common = 0;
  while (common < std::min(leaf.size(), now.size()) && leaf[common].node == now[common].node)
    ++common;
  if (!ImGui::GetIO().KeyShift) leaf.resize(std::min(leaf.size(), common + 1));
  state_.node.choose(state_.scene, leaf, state_.choice.settings);
}

}  // namespace heapwood::viewer
