// SPDX-License-Identifier: MIT
// The window with its OpenGL context, Dear ImGui and user input. GLFW's callbacks call the on_...
// functions, and scripts call the same ones.
#pragma once

#include <array>
#include <optional>
#include <set>

#include "viewer/theme.hpp"

struct GLFWwindow;

namespace heapwood::viewer {

struct KeyPress {
  // `key`: GLFW's code of the character (a to z , . + - =) that the key types in the user's layout.
  // Keys without such a character have the code of their position, also those that type letters of
  // another alphabet.
  int key = 0, mods = 0;
  bool repeated = false;  // the key is held down
};

class Window {
 public:
  // A smaller window has no space for panels and bars.
  static constexpr int min_width = 640, min_height = 400;
  // Opens a window of at least the minimum size. Throws Error{Exit::failed} with the reason.
  Window(int width, int height, float scale);
  ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  bool should_close() const;
  void close();
  void stay_open();  // cancels close()
  // Sleeps until an event occurs, but no longer than this.
  void wait(double seconds);
  void poll();
  void swap();
  void title(const std::string& text);

  std::array<int, 2> pixels() const;  // size of the framebuffer
  bool minimised() const;
  // In screen coordinates, which on some systems are not pixels.
  void resize(int width, int height);
  bool has_size(int width, int height) const;  // compares with the size of resize()
  void minimise();
  void restore();
  // The scale of everything that is drawn, relative to 96 dots per inch. Unless one is given, it is
  // the screen's, and larger in large windows.
  float scale() const { return scale_; }
  void zoom(float factor) { asked_scale_ = std::clamp(scale_ * factor, min_scale, max_scale); }
  void use_light_colours(bool light) { theme_changed_ |= std::exchange(is_light_, light) != light; }

  // Begins a frame of Dear ImGui, of the framebuffer's size or the given one.
  void new_frame(std::optional<std::array<int, 2>> size);

  // `name`: the key's code by the keyboard's layout; `key`: by its position.
  void on_key(int key, int action, int mods, int name);
  void on_key(int key, int action, int mods) { on_key(key, action, mods, key); }
  void on_char(unsigned code);
  void on_button(int button, int action, int mods);
  void on_move(double x, double y);
  void on_scroll(double x, double y);
  void on_drop(std::vector<std::string> paths);
  void on_scale(float scale);
  // Used by scripts: from now on the real mouse is ignored.
  void on_scripted_move(float x, float y);

  // The keys pressed since the last call, without those that a text field takes.
  std::vector<KeyPress> take_keys() { return std::exchange(keys_, {}); }
  // Whether a key is down, by its position; also true for keys that a text field takes.
  bool is_down(int key) const { return down_.contains(key); }
  std::vector<std::string> take_drops() { return std::exchange(drops_, {}); }
  // Whether there was an event since the last call.
  bool take_activity() { return std::exchange(activity_, false); }

 private:
  GLFWwindow* window_ = nullptr;
  void choose_scale(const std::array<int, 2>& size);
  float scale_ = 0, asked_scale_ = 0, screen_scale_ = 1;
  bool theme_changed_ = false, is_light_ = false, activity_ = true;
  std::string title_;
  std::vector<KeyPress> keys_;
  std::set<int> down_;
  std::vector<std::string> drops_;
  std::optional<std::array<float, 2>> scripted_mouse_;
  std::array<bool, 3> scripted_down_{}, scripted_pressed_{};
};

}  // namespace heapwood::viewer
