// SPDX-License-Identifier: MIT
// The window's loop: handles input, results of jobs and of the ray tracer, and drawing.
#pragma once

#include "viewer/panels.hpp"
#include "viewer/script.hpp"
#include "viewer/video.hpp"
#include "viewer/window.hpp"

namespace heapwood::viewer {

class Viewer {
 public:
  // Opens the window and starts the first build.
  explicit Viewer(const Options& options);
  // Runs until the window is closed or unattended work is done. Throws Error if that work fails.
  void run();

 private:
  struct Layout {
    int width = 0, height = 0;
    Area bar, picture, panel, below;
    gl::Rectangle picture_rectangle() const;
  };
  Layout layout(int width, int height) const;
  void step();
  void take_results();
  void keep_live();
  // Functions for input, defined in input.cpp.
  void key(const KeyPress& press);
  void mouse(const Area& area);
  void fly(double seconds);
  void probe(const Area& area);
  void choose_node(const Area& area);

  void request_picture(const Area& area, unsigned spp);
  // The half of the picture at this x if Live shows one per side, otherwise the picture; the camera
  // of the picture there.
  Area half_of(const Area& area, float x) const;
  render::Camera camera_in(const Area& area) const;
  void draw(const Layout& layout);
  void draw_lines(const gl::Rectangle& area, const render::Camera& camera);
  void record_video();
  void capture();
  bool draw_capture(const Shot& shot);
  void finish_shot(const PictureStatus& picture);
  void write_shot(const Shot& shot, const std::vector<gl::Rgba8>& pixels);
  void unattended();
  bool is_live() const {
    return state_.tab == Tab::live && state_.jobs.is_live() && !state_.live.frozen;
  }
  bool on_cpu() const { return state_.choice.device.id.kind == simt::DeviceKind::cpu; }
  bool busy() const;
  bool take_turn();
  bool may_close();

  Options options_;
  Window window_;  // declared before everything that uses OpenGL
  State state_;
  std::optional<Script> script_;
  gl::Texture picture_, halves_[2];
  gl::Shapes boxes_, ray_;
  NodeView::Drawn node_;
  std::optional<gl::Canvas> canvas_;  // exists while a picture of the whole window is drawn
  int canvas_frames_ = 0;
  std::optional<Video> video_;  // exists while it is recorded and until ffmpeg has written it
  std::array<int, 2> video_size_{};
  double last_activity_ = 0, last_frame_ = 0, drawn_at_ = 0;
  bool shot_taken_ = false;
  Vec3 pivot_;  // centre of the rotation by dragging
  bool dragging_ = false, closing_ = false;
};

// Requests that the window closes; called by signal handlers.
void request_close() noexcept;

}  // namespace heapwood::viewer
