// SPDX-License-Identifier: MIT
// Keys and mouse. The list that F1 shows (overlay.cpp) must match this file.
#include <epoxy/gl.h>
// epoxy first: it replaces the system's OpenGL headers.
#include <GLFW/glfw3.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "render/image.hpp"
#include "render/surface.hpp"
#include "viewer/camera_control.hpp"
#include "viewer/clipboard.hpp"
#include "viewer/viewer.hpp"

namespace heapwood::viewer {

namespace {

constexpr render::Mode modes[] = {render::Mode::shaded,  render::Mode::path,  render::Mode::ao,
                                  render::Mode::normals, render::Mode::depth, render::Mode::heatmap,
                                  render::Mode::leaves,  render::Mode::albedo};

bool inside(const Area& area, ImVec2 at) {
  return at.x >= area.x && at.x < area.x + area.width && at.y >= area.y &&
         at.y < area.y + area.height;
}

bool is_step(int key) {
  constexpr int steps[] = {GLFW_KEY_COMMA,        GLFW_KEY_PERIOD,       GLFW_KEY_EQUAL,
                           GLFW_KEY_KP_ADD,       GLFW_KEY_MINUS,        GLFW_KEY_KP_SUBTRACT,
                           GLFW_KEY_LEFT_BRACKET, GLFW_KEY_RIGHT_BRACKET};
  return std::find(std::begin(steps), std::end(steps), key) != std::end(steps);
}

kdtree::Ray ray_at(const State& state, const Area& area, ImVec2 at) {
  const render::CameraFrame frame = render::make_frame(
      state.camera, static_cast<unsigned>(area.width), static_cast<unsigned>(area.height));
  return frame.ray(std::floor(at.x - area.x) + 0.5f, std::floor(at.y - area.y) + 0.5f,
                   render::far_away);
}

}  // namespace

void Viewer::keys() {
  for (const KeyPress& press : window_.take_keys()) key(press);
}

void Viewer::key(const KeyPress& press) {
  if (press.mods == GLFW_MOD_CONTROL && press.key == GLFW_KEY_C && !press.repeated)
    return copy_picture();
  // Other key combinations with Ctrl are ignored, and only steps repeat while their key is down.
  if (press.mods & (GLFW_MOD_CONTROL | GLFW_MOD_ALT | GLFW_MOD_SUPER)) return;
  if (press.repeated && !is_step(press.key)) return;
  State& s = state_;
  const auto step_time = [&](double by) {
    s.heap.playing = false;
    if (s.heap.recordings.empty()) return;
    const Recording& first = *s.heap.recordings.front();
    if (first.in_rounds()) by = std::clamp(by, -10.0, 10.0);  // Shift: ten rounds
    s.heap.place = std::clamp(s.heap.place + by * first.place_step(), 0.0, 1.0);
  };
  if (s.tab == Tab::live && press.key >= GLFW_KEY_1 && press.key <= GLFW_KEY_9) {
    const auto choices = live_choices(s);
    const auto number = static_cast<std::size_t>(press.key - GLFW_KEY_1);
    if (number < choices.size())
      choose_live(s, press.mods & GLFW_MOD_SHIFT ? 0 : 1, *choices[number]);
    return;
  }
  if (press.key >= GLFW_KEY_1 && press.key <= GLFW_KEY_8) {
    s.mode = modes[press.key - GLFW_KEY_1];
    return;
  }
  const double stride = press.mods & GLFW_MOD_SHIFT ? 1000 : 1;
  switch (press.key) {
    case GLFW_KEY_F1:
      s.help = !s.help;
      break;
    case GLFW_KEY_F2:
      s.settings.panel = !s.settings.panel;
      if (!s.settings.panel)
        s.add_message(Message::Kind::note, "Bar and panel are hidden; F2 shows them again.");
      break;
    case GLFW_KEY_F3:
      show_tab(s, s.tab == Tab::heap ? s.tab_before_heap : Tab::heap);
      break;
    case GLFW_KEY_F4:
      s.settings.numbers = !s.settings.numbers;
      break;
    case GLFW_KEY_F5:
    case GLFW_KEY_F6:
    case GLFW_KEY_F7:
    case GLFW_KEY_F8:
      show_tab(s, all_tabs[press.key - GLFW_KEY_F5]);
      break;
    case GLFW_KEY_F12:
      take_screenshot(s, "");
      break;
    case GLFW_KEY_ESCAPE:
      if (ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup)) {
        s.close_popups = true;
      } else if (s.help) {
        s.help = false;
      } else {
        cancel_all(s);
      }
      break;
    case GLFW_KEY_B:
      start_build(s);
      break;
    case GLFW_KEY_C:
      start_compare(s);
      break;
    case GLFW_KEY_H:
      start_recording(s);
      break;
    case GLFW_KEY_O:
      s.settings.fly = !s.settings.fly;
      break;
    case GLFW_KEY_HOME:
      reset_view(s);
      break;
    case GLFW_KEY_R:
      record_path(s);
      break;
    case GLFW_KEY_M:
      s.clay = !s.clay;
      break;
    case GLFW_KEY_L:
      light_view(s);
      break;
    case GLFW_KEY_K:
      add_bookmark(s);
      break;
    case GLFW_KEY_LEFT_BRACKET:
    case GLFW_KEY_RIGHT_BRACKET: {
      if (!s.scene) break;
      const std::size_t count =
          std::max<std::size_t>(1, s.settings.bookmarks[s.scene->source].size());
      go_to_bookmark(s, s.bookmark + (press.key == GLFW_KEY_RIGHT_BRACKET ? 1 : count - 1));
      break;
    }
    case GLFW_KEY_T:
      s.tree.visible = !s.tree.visible;
      break;
    case GLFW_KEY_EQUAL:
    case GLFW_KEY_KP_ADD:
      s.tree.depth = std::min(s.tree.depth + 1, static_cast<int>(kdtree::max_depth));
      break;
    case GLFW_KEY_MINUS:
    case GLFW_KEY_KP_SUBTRACT:
      s.tree.depth = std::max(s.tree.depth - 1, 0);
      break;
    case GLFW_KEY_P:
      s.probe.active = !s.probe.active;
      s.probe.clear();
      break;
    case GLFW_KEY_X:
      if (s.tab == Tab::learn) toggle_slice(s);
      break;
    case GLFW_KEY_N:
      s.node.visible = !s.node.visible;
      break;
    case GLFW_KEY_PAGE_DOWN:
      page_lesson(s, 1);
      break;
    case GLFW_KEY_PAGE_UP:
      page_lesson(s, -1);
      break;
    case GLFW_KEY_SPACE:
      s.tab == Tab::live ? s.live.toggle_frozen() : s.heap.toggle_play();
      break;
    case GLFW_KEY_COMMA:
      step_time(-stride);
      break;
    case GLFW_KEY_PERIOD:
      step_time(stride);
      break;
    default:
      break;
  }
}

// Copies what the window shows of the scene.
void Viewer::copy_picture() {
  if (picture_.width() == 0) return;
  const std::vector<gl::Rgba8> pixels = picture_.read();
  render::Image image(picture_.width(), picture_.height());
  std::transform(pixels.begin(), pixels.end(), image.pixels.begin(), [](gl::Rgba8 c) {
    return render::Rgb8{c.r, c.g, c.b};
  });
  const std::string problem = copy_png(render::to_png(image));
  if (problem.empty()) {
    state_.add_message(Message::Kind::note, "Copied the picture.");
  } else {
    state_.add_message(Message::Kind::warning, "The picture was not copied: " + problem + ".");
  }
}

void Viewer::mouse(const Area& area) {
  const ImGuiIO& io = ImGui::GetIO();
  if (!state_.scene || area.width < 1 || area.height < 1) return;
  const bool over = !io.WantCaptureMouse && inside(area, io.MousePos);
  if (!ImGui::IsMouseDown(0) && !ImGui::IsMouseDown(1) && !ImGui::IsMouseDown(2)) dragging_ = false;
  if (over && (ImGui::IsMouseClicked(0) || ImGui::IsMouseClicked(1) || ImGui::IsMouseClicked(2)))
    dragging_ = true;
  if (over && ImGui::IsMouseClicked(0) && !state_.settings.fly) {
    const kdtree::Ray ray = ray_at(state_, area, io.MousePos);
    const kdtree::Hit hit = state_.scene->traced->closest({&ray, 1}).front();
    pivot_ = hit.found() ? ray.origin + ray.direction * hit.t : state_.camera.target;
  }
  render::Camera& camera = state_.camera;
  const float right = io.MouseDelta.x / area.height, up = -io.MouseDelta.y / area.height;
  if (dragging_ && (right != 0 || up != 0)) {
    if (ImGui::IsMouseDown(1) || ImGui::IsMouseDown(2)) {
      camera = pan(camera, -right, -up);
    } else if (state_.settings.fly) {
      const float turn = camera.fov * 0.0174533f;  // the point under the mouse stays under it
      camera = look(camera, -right * turn, -up * turn);
    } else {
      camera = orbit_about(camera, pivot_, -right * 3, -up * 3);
    }
  }
  if (!over) return;
  if (io.MouseWheel != 0 && state_.settings.fly) {
    state_.settings.fly_speed =
        std::clamp(state_.settings.fly_speed * std::pow(1.2f, io.MouseWheel), 0.001f, 10.0f);
  } else if (io.MouseWheel != 0) {
    camera = dolly(camera, std::pow(0.88f, io.MouseWheel));
  }
  if (ImGui::IsMouseDoubleClicked(0)) {
    const kdtree::Ray ray = ray_at(state_, area, io.MousePos);
    const kdtree::Hit hit = state_.scene->traced->closest({&ray, 1}).front();
    if (hit.found()) camera = aim(camera, ray.origin + ray.direction * hit.t);
  }
}

void Viewer::fly(double seconds) {
  const ImGuiIO& io = ImGui::GetIO();
  if (!state_.scene || !state_.settings.fly || io.WantTextInput || io.KeyCtrl) return;
  const auto down = [&](int key) { return window_.is_down(key) ? 1.0f : 0.0f; };
  const Vec3 way{down(GLFW_KEY_D) - down(GLFW_KEY_A), down(GLFW_KEY_E) - down(GLFW_KEY_Q),
                 down(GLFW_KEY_W) - down(GLFW_KEY_S)};
  if (way == Vec3{}) return;
  last_activity_ = state_.now;
  const float speed =
      state_.settings.fly_speed * state_.scene->diagonal() * (io.KeyShift ? 4.0f : 1.0f);
  state_.camera = viewer::fly(state_.camera, way * (speed * static_cast<float>(seconds)));
}

void Viewer::probe(const Area& area) {
  RayProbe& probe = state_.probe;
  if (!probe.active || !state_.scene) return;
  const ImGuiIO& io = ImGui::GetIO();
  if (io.WantCaptureMouse || !inside(area, io.MousePos)) return;
  // A drag moves the camera; it is not a click.
  if (ImGui::IsMouseReleased(0) && io.MouseDragMaxDistanceSqr[0] < 9) probe.pinned = !probe.pinned;
  if (probe.pinned) return;
  const bool moved = probe.x != io.MousePos.x || probe.y != io.MousePos.y;
  if (!moved && probe.path && !dragging_) return;
  probe.x = io.MousePos.x;
  probe.y = io.MousePos.y;
  probe.path = follow(*state_.scene, ray_at(state_, area, io.MousePos));
}

// A click goes from the node shown one level towards the leaf under the mouse, with Shift to the
// leaf; from a node that does not contain it, to the child of the smallest one that contains both.
void Viewer::choose_node(const Area& area) {
  const ImGuiIO& io = ImGui::GetIO();
  if (state_.tab != Tab::learn || !state_.node.visible || !state_.node.shown || !state_.scene ||
      state_.probe.active)
    return;
  if (io.WantCaptureMouse || !inside(area, io.MousePos) || !ImGui::IsMouseReleased(0) ||
      io.MouseDragMaxDistanceSqr[0] >= 9)
    return;
  const RayPath ray = follow(*state_.scene, ray_at(state_, area, io.MousePos));
  if (!ray.hit.found()) return;
  RootPath leaf = path_to(state_.scene->tree, (ray.hit_box.lo + ray.hit_box.hi) * 0.5f);
  const RootPath& now = state_.node.shown->path;
  std::size_t common = 0;
  while (common < std::min(leaf.size(), now.size()) && leaf[common].node == now[common].node)
    ++common;
  if (!io.KeyShift) leaf.resize(std::min(leaf.size(), common + 1));
  state_.node.choose(state_.scene, leaf, state_.choice.settings);
}

}  // namespace heapwood::viewer
