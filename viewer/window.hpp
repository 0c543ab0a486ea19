// SPDX-License-Identifier: MIT
// The window with its OpenGL context and Dear ImGui, and what the user does to it. GLFW's callbacks end in the on_...
// functions; scripts call the same ones.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "geometry/vec.hpp"

struct GLFWwindow;

namespace heapwood::viewer {

struct KeyPress {
  int key = 0, mods = 0;  // GLFW's
  bool repeated = false;  // by a key that is kept down
};

class Window {
 public:
  // Throws Error{Exit::failed} where no window can be opened, with the reason.
  Window(int width, int height, float scale);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  bool should_close() const;
  void close();
  // Sleeps until something happens, at most so long.
  void wait(double seconds);
  void poll();
  void swap();
  void title(const std::string& text);

  // Of the framebuffer.
  int width() const;
  int height() const;
  bool minimised() const;
  // Of the window, in the units that resize() takes: on some systems those of the screen, not pixels.
  std::array<int, 2> size() const;
  void resize(int width, int height);
  void minimise();
  void restore();
  // How much larger than 96 dots an inch everything is to be drawn.
  float scale() const { return scale_; }

  // Begins a frame of Dear ImGui, as large as the framebuffer or as told.
  void new_frame(std::optional<std::array<int, 2>> size);

  void on_key(int key, int action, int mods);
  void on_char(unsigned code);
  void on_button(int button, int action, int mods);
  void on_move(double x, double y);
  void on_scroll(double x, double y);
  void on_drop(std::vector<std::string> paths);
  void on_scale(float scale);
  // Only scripts: from here on the real mouse is not looked at.
  void on_scripted_move(float x, float y);

  // Since the last call. Keys that a text field takes are not among them.
  std::vector<KeyPress> take_keys();
  // Also of a key that a text field takes.
  bool is_down(int key) const { return down_.contains(key); }
  std::vector<std::string> take_drops();
  // Something has happened since the last call.
  bool take_activity();

 private:
  GLFWwindow* window_ = nullptr;
  float scale_ = 1, asked_scale_ = 0;
  bool scale_changed_ = false, activity_ = true;
  std::string title_;
  std::vector<KeyPress> keys_;
  std::set<int> down_;
  std::vector<std::string> drops_;
  std::optional<std::array<float, 2>> scripted_mouse_;
  std::array<bool, 3> scripted_down_{}, scripted_pressed_{};
};

}  // namespace heapwood::viewer
