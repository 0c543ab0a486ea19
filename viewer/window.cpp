// SPDX-License-Identifier: MIT
#include "viewer/window.hpp"

#include <epoxy/gl.h>
// epoxy comes first, because it replaces the system's OpenGL headers.
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <backends/imgui_impl_opengl3.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "simt/error.hpp"

namespace heapwood::viewer {

namespace {

std::string last_error;  // GLFW's last error, for messages

void on_error(int, const char* text) { last_error = text; }

Window& self(GLFWwindow* window) { return *static_cast<Window*>(glfwGetWindowUserPointer(window)); }

// The code of the key that types this character on a US keyboard; for + the code of the character.
int name_of(int key, int code) {
  const char* name = glfwGetKeyName(key, code);
  if (!name || !name[0] || name[1]) return key;
  const char c = name[0];
  if (c >= 'a' && c <= 'z') return GLFW_KEY_A + (c - 'a');
  return std::strchr(",.+-=", c) ? c : key;
}

[[noreturn]] void no_window(const std::string& what) {
  const std::string why = last_error.empty() ? "" : " (" + last_error + ")";
  glfwTerminate();
  throw Error(Exit::failed, what + why + "; 'heapwood render' makes pictures without a window");
}

}  // namespace

Window::Window(int width, int height, float scale) : asked_scale_(scale) {
  glfwSetErrorCallback(on_error);
  if (!glfwInit()) no_window("no window can be opened here: is DISPLAY set?");
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_OPENGL_FORWARD_COMPAT, GLFW_TRUE);
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
  window_ = glfwCreateWindow(std::max(width, min_width), std::max(height, min_height), "Heapwood",
                             nullptr, nullptr);
  if (!window_) no_window("no window with OpenGL 3.3 can be opened");
  glfwSetWindowSizeLimits(window_, min_width, min_height, GLFW_DONT_CARE, GLFW_DONT_CARE);
  glfwMakeContextCurrent(window_);
  glfwSwapInterval(1);
  if (epoxy_gl_version() < 33) no_window("OpenGL is older than 3.3");

  IMGUI_CHECKVERSION();
  ImGui::CreateContext();
  ImGui::GetIO().IniFilename = nullptr;  // the viewer has its own settings file
  glfwSetWindowUserPointer(window_, this);
  // The on_... functions pass input to Dear ImGui themselves, so that it gets input of scripts too.
  ImGui_ImplGlfw_InitForOpenGL(window_, false);
  ImGui_ImplOpenGL3_Init("#version 330 core");
  glfwSetKeyCallback(window_, [](GLFWwindow* w, int key, int code, int action, int mods) {
    self(w).on_key(key, action, mods, name_of(key, code));
  });
  glfwSetCharCallback(window_, [](GLFWwindow* w, unsigned code) { self(w).on_char(code); });
  glfwSetMouseButtonCallback(window_, [](GLFWwindow* w, int button, int action, int mods) {
    self(w).on_button(button, action, mods);
  });
  glfwSetScrollCallback(window_,
                        [](GLFWwindow* w, double x, double y) { self(w).on_scroll(x, y); });
  glfwSetCursorEnterCallback(window_, ImGui_ImplGlfw_CursorEnterCallback);
  glfwSetWindowFocusCallback(window_, ImGui_ImplGlfw_WindowFocusCallback);
  glfwSetCursorPosCallback(window_,
                           [](GLFWwindow* w, double x, double y) { self(w).on_move(x, y); });
  glfwSetFramebufferSizeCallback(window_,
                                 [](GLFWwindow* w, int, int) { self(w).activity_ = true; });
  glfwSetWindowRefreshCallback(window_, [](GLFWwindow* w) { self(w).activity_ = true; });
  glfwSetDropCallback(window_, [](GLFWwindow* w, int count, const char** paths) {
    self(w).on_drop(std::vector<std::string>(paths, paths + count));
  });
  glfwSetWindowContentScaleCallback(window_,
                                    [](GLFWwindow* w, float x, float) { self(w).on_scale(x); });
  float x = 1, y = 1;
  glfwGetWindowContentScale(window_, &x, &y);
  on_scale(x);
}

Window::~Window() {
  ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplGlfw_Shutdown();
  ImGui::DestroyContext();
  glfwDestroyWindow(window_);
  glfwTerminate();
}

bool Window::should_close() const { return glfwWindowShouldClose(window_); }
void Window::close() { glfwSetWindowShouldClose(window_, GLFW_TRUE); }
void Window::stay_open() { glfwSetWindowShouldClose(window_, GLFW_FALSE); }
void Window::wait(double seconds) { glfwWaitEventsTimeout(seconds); }
void Window::poll() { glfwPollEvents(); }
void Window::swap() { glfwSwapBuffers(window_); }

void Window::title(const std::string& text) {
  if (text == title_) return;
  title_ = text;
  glfwSetWindowTitle(window_, text.c_str());
}

std::array<int, 2> Window::pixels() const {
  std::array<int, 2> size{};
  glfwGetFramebufferSize(window_, &size[0], &size[1]);
  return size;
}
bool Window::minimised() const {
  return glfwGetWindowAttrib(window_, GLFW_ICONIFIED) || pixels()[0] == 0 || pixels()[1] == 0;
}
void Window::resize(int width, int height) {
  glfwSetWindowSize(window_, std::max(width, min_width), std::max(height, min_height));
}
bool Window::has_size(int width, int height) const {
  int now[2] = {};
  glfwGetWindowSize(window_, &now[0], &now[1]);
  return now[0] == std::max(width, min_width) && now[1] == std::max(height, min_height);
}
void Window::minimise() { glfwIconifyWindow(window_); }
void Window::restore() { glfwRestoreWindow(window_); }

// In steps of a quarter, because fonts are made for each scale.
void Window::choose_scale(const std::array<int, 2>& size) {
  const float fit = std::sqrt(std::min(size[0] / 1280.0f, size[1] / 800.0f) / screen_scale_);
  const float wanted =
      asked_scale_ > 0 ? asked_scale_ : screen_scale_ * std::max(1.0f, std::round(4 * fit) / 4);
  const float scale = std::clamp(wanted, min_scale, max_scale);
  theme_changed_ |= std::exchange(scale_, scale) != scale;
}

void Window::new_frame(std::optional<std::array<int, 2>> size) {
  choose_scale(size.value_or(pixels()));
  if (std::exchange(theme_changed_, false)) {
    set_theme(scale_, is_light_);
    ImGui_ImplOpenGL3_DestroyFontsTexture();
    ImGui_ImplOpenGL3_CreateFontsTexture();
  }
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  ImGuiIO& io = ImGui::GetIO();
  if (size) {
    io.DisplaySize = {static_cast<float>((*size)[0]), static_cast<float>((*size)[1])};
    io.DisplayFramebufferScale = {1, 1};
  }
  if (scripted_mouse_) {
#if IMGUI_VERSION_NUM >= 18700
    io.AddMousePosEvent((*scripted_mouse_)[0], (*scripted_mouse_)[1]);
#else
    io.MousePos = {(*scripted_mouse_)[0], (*scripted_mouse_)[1]};
    for (std::size_t i = 0; i < 3; ++i) {
      // If a button was pressed and released between two frames, it is down in one of them.
      const bool pressed = std::exchange(scripted_pressed_[i], false);
      io.MouseDown[i] = scripted_down_[i] || pressed;
    }
#endif
  }
  ImGui::NewFrame();
}

void Window::on_key(int key, int action, int mods, int name) {
  activity_ = true;
  ImGui_ImplGlfw_KeyCallback(window_, key, 0, action, mods);
  action == GLFW_RELEASE ? void(down_.erase(key)) : void(down_.insert(key));
  if (action != GLFW_RELEASE && !ImGui::GetIO().WantTextInput)
    keys_.push_back({name, mods, action == GLFW_REPEAT});
}
void Window::on_char(unsigned code) {
  activity_ = true;
  ImGui_ImplGlfw_CharCallback(window_, code);
}
void Window::on_button(int button, int action, int mods) {
  activity_ = true;
  ImGui_ImplGlfw_MouseButtonCallback(window_, button, action, mods);
  const auto i = static_cast<std::size_t>(button);
  if (!scripted_mouse_ || i >= 3) return;
  scripted_down_[i] = action == GLFW_PRESS;
  scripted_pressed_[i] = scripted_pressed_[i] || scripted_down_[i];
}
void Window::on_move([[maybe_unused]] double x, [[maybe_unused]] double y) {
  activity_ = true;
#if IMGUI_VERSION_NUM >= 18700  // from this version on key events must be passed to it
  if (!scripted_mouse_) ImGui_ImplGlfw_CursorPosCallback(window_, x, y);
#endif
}
void Window::on_scroll(double x, double y) {
  activity_ = true;
  ImGui_ImplGlfw_ScrollCallback(window_, x, y);
}
void Window::on_drop(std::vector<std::string> paths) {
  activity_ = true;
  drops_ = std::move(paths);
}
void Window::on_scale(float scale) {
  screen_scale_ = scale;
  activity_ = true;
}
void Window::on_scripted_move(float x, float y) {
  activity_ = true;
  scripted_mouse_ = {x, y};
}

}  // namespace heapwood::viewer
