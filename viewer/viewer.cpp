// SPDX-License-Identifier: MIT
#include "viewer/viewer.hpp"

#include <backends/imgui_impl_opengl3.h>

#include <atomic>

#include "bench/program/command_files.hpp"
#include "viewer/camera.hpp"

namespace heapwood::viewer {

namespace {

// Max time that the window waits for its turn, however long builds take.
constexpr double max_turn_seconds = 0.12;

std::atomic<bool> close_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);

double clock() {
  static const auto start = simt::HostClock::now();
  return simt::seconds_since(start);
}

}  // namespace

void request_close() noexcept { close_flag = true; }

Viewer::Viewer(const Options& options)
    : options_(options),
      window_(
          options.screenshot.empty() && options.size.width ? static_cast<int>(options.size.width)
                                                           : 1280,
          options.screenshot.empty() && options.size.height ? static_cast<int>(options.size.height)
                                                            : 720,
          options.scale) {
  state_.options = options;
  if (!options.script.empty()) script_.emplace(options.script);
  state_.tab = !options.tab.empty()         ? parse_tab(options.tab)
               : options.screenshot.empty() ? Tab::live
                                            : Tab::learn;
  state_.choice.allocator = &bench::find_allocator(options.allocator);
  if (!options.second_allocator.empty())
    state_.choice.other = &bench::find_allocator(options.second_allocator);
  state_.choice.device = bench::choose_device(options.device, bench::find_allocators("all"));
  // The scene is small in Live on a CPU, where a frame of the whole atrium takes half a second.
  const bool small = options.scene.empty() && state_.tab == Tab::live && on_cpu();
  const bool trace = is_program_trace(options.scene);
  choose_source(state_, trace                    ? ""
                        : !options.scene.empty() ? options.scene
                        : small                  ? fmt::format("atrium:{}k", live_triangles / 1000)
                                                 : "atrium");
  state_.choice.settings = options.settings;
  state_.choice.pools[0] = Choice::Pool(options.settings.pool);
  if (options.settings.pool.text != bench::PoolSize().text)
    state_.choice.pools[1] = state_.choice.pools[0];
  state_.mode = render::parse_mode(options.mode);
  state_.clay = options.material == "clay";
  state_.show.light = options.light;
  state_.shot_settings.samples = static_cast<int>(options.spp);
  if (trace) {
    open_trace(state_, options.scene);
  } else {
    state_.tab == Tab::live ? start_live(state_) : start_build(state_);
  }
}

void Viewer::run() {
  while (!may_close() && !close_flag) {
    step();
    if (!options_.screenshot.empty()) unattended();
    if (script_ && script_->done()) window_.close();
  }
  if (!options_.screenshot.empty() && !shot_taken_)
    throw Error(Exit::failed,
                "the window was closed before the picture was written; start it again");
  if (script_ && close_flag) throw Error(Exit::failed, "stopped before the script had ended");
}

// Whether the window may close. It waits for an unfinished picture; a second request discards that.
bool Viewer::may_close() {
  if (closing_ && !state_.shot) return true;
  if (!window_.should_close()) return false;
  if (closing_ || !state_.shot) return true;
  closing_ = true;
  window_.stay_open();
  state_.warn("The picture is finished first. Close again to discard it.");
  return false;
}

bool Viewer::busy() const {
  return (script_ && !script_->rests()) || state_.captures_window() || video_ ||
         state_.jobs.progress().running || (state_.tab == Tab::heap && state_.heap.playing) ||
         state_.now - last_activity_ < 0.6;
}

// Waits until a build of Live on CPU threads has ended, so that the window is drawn between builds;
// input ends the wait. Returns whether end_drawing() must be called afterwards.
bool Viewer::take_turn() {
  constexpr double slice = 0.01;
  if (!is_live() || busy() || !on_cpu()) return false;
  for (double waited = 0; waited < max_turn_seconds; waited += slice) {
    if (state_.jobs.live().begin_drawing(slice)) break;
    window_.poll();
    if (!window_.take_activity()) continue;
    last_activity_ = clock();
    break;
  }
  return true;
}

void Viewer::step() {
  // Frames per second: 60 while something moves and in Live, 20 while the picture is refined or
  // missing, otherwise 4, because without a GPU every frame takes time from the ray tracer and the
  // builder. If OpenGL runs in software, a frame takes the cores some 20 ms, so Live on CPU threads
  // has 20, too.
  const bool waiting = !state_.scene && state_.now - last_activity_ > 0.6;
  const double interval = waiting                        ? 1.0 / 20
                          : video_                       ? 1.0 / Video::rate
                          : busy()                       ? 1.0 / 60
                          : is_live()                    ? 1.0 / (on_cpu() ? 20 : 60)
                          : state_.picture.status().done ? 1.0 / 4
                                                         : 1.0 / 20;
  const double left = last_frame_ + interval - clock();
  if (left > 0.0005) {
    window_.wait(left);
  } else {
    window_.poll();
  }
  const std::shared_ptr<void> turn(nullptr, [this, taken = take_turn()](void*) {
    if (taken) state_.jobs.live().end_drawing();
  });
  state_.now = clock();
  if (window_.take_activity()) last_activity_ = state_.now;
  const double since = std::min(state_.now - drawn_at_, 0.1);
  drawn_at_ = state_.now;
  // Frames are due at equal intervals, so that one late frame does not delay the next ones.
  last_frame_ = state_.now - last_frame_ < 2 * interval
                    ? std::min(last_frame_ + interval, state_.now)
                    : state_.now;
  take_results();
  keep_live();
  // Live jobs are left out because they hold the picture themselves.
  if (!state_.jobs.is_live())
    state_.picture.hold(state_.jobs.progress().running &&
                        state_.jobs.progress().kind != JobSpec::Kind::record &&
                        state_.scene != nullptr);
  state_.node.take(state_.scene, state_.choice.settings);
  advance_lesson(state_);
  if (script_) script_->step(state_, window_);
  window_.use_light_colours(state_.show.light);
  if (window_.minimised()) return;  // a minimised window has no framebuffer
  if (state_.captures_window()) return capture();

  window_.new_frame(std::nullopt);
  const Layout areas = layout(window_.pixels()[0], window_.pixels()[1]);
  try {
    for (const KeyPress& press : window_.take_keys()) key(press);
    mouse(areas.picture);
    fly(since);
    probe(areas.picture);
    choose_node(areas.picture);
  } catch (const simt::Stopped&) {
    // Cancelling a job stops all launches, also those of the few rays that input needs; the frame
    // goes on.
  }
  request_picture(areas.picture, options_.spp);
  const PictureStatus picture = state_.picture.status();
  gl::bind_window();
  draw(areas);
  record_video();
  window_.swap();
  finish_shot(picture);
  state_.frames.add(1e3 * cpu_seconds(CLOCK_THREAD_CPUTIME_ID), state_.now);
}

void Viewer::take_results() {
  take_outcomes(state_);
  const bool of_heap = state_.tab == Tab::heap && shows_trace(state_);
  const std::string shown = of_heap        ? recorded_name(state_)
                            : state_.scene ? state_.scene->name
                                           : "";
  // The video itself does not show that it is being recorded.
  window_.title((video_ ? "Recording - " : "") + (shown.empty() ? "" : shown + " - ") + "Heapwood");
  // Of several dropped files only the first is opened.
  if (const auto drops = window_.take_drops(); !drops.empty()) open_scene(state_, drops.front());
}

// Starts building frames while the Live tab is shown and no other job runs.
void Viewer::keep_live() {
  const bool shown = state_.tab == Tab::live;
  state_.jobs.live().freeze(!shown || state_.live.frozen || state_.shot);
  state_.jobs.live().keep_in_step(state_.live.in_step);
  if (shown && !state_.jobs.is_live() && !state_.jobs.progress().running &&
      state_.live.problem.empty() && !state_.live.frozen)
    start_live(state_);
}

Viewer::Layout Viewer::layout(int width, int height) const {
  Layout areas{width, height, {}, {}, {}, {}};
  const float scale = window_.scale(), w = static_cast<float>(width),
              h = static_cast<float>(height);
  const bool live = state_.tab == Tab::live, heap = state_.tab == Tab::heap;
  // Without the panel the picture fills the window.
  const float bar = state_.show.panel ? std::min(46 * scale, h * 0.2f) : 0;
  // In Compare the picture is small; in a small window of another tab the panel leaves nearly half
  // of the width for it.
  const bool compare = state_.tab == Tab::compare;
  const float wanted = live ? 340 * scale : compare ? w * 0.72f : 400 * scale;
  const float panel = state_.show.panel ? std::min(wanted, w * (compare ? 0.72f : 0.55f)) : 0;
  const bool has_below = heap || (live && state_.show.panel);
  // The maps grow with the window.
  const float below =
      has_below ? std::min(std::max((heap ? 440 : 340) * scale, h * 0.4f), (h - bar) * 0.62f) : 0;
  // The heap map needs width, so in a narrow window it extends below the panel.
  const bool narrow = w - panel < 720 * scale;
  areas.bar = {0, 0, w, bar};
  areas.panel = {w - panel, bar, panel, (narrow ? h - below : h) - bar};
  areas.below = {0, h - below, narrow ? w : w - panel, below};
  areas.picture = {0, bar, w - panel, h - bar - below};
  return areas;
}

gl::Rectangle Viewer::Layout::picture_rectangle() const {
  return {static_cast<int>(picture.x),
          height - static_cast<int>(picture.y) - static_cast<int>(picture.height),
          static_cast<int>(picture.width), static_cast<int>(picture.height)};
}

void Viewer::request_picture(const Area& area, unsigned spp) {
  if (state_.shot && !state_.captures_window()) return state_.picture.show(state_.shot->view);
  if (!state_.scene || area.width < 1 || area.height < 1) return;
  // The camera is rounded so that it can be copied as text and read back to the bit.
  state_.camera = render::representable(state_.camera, state_.scene->mesh.origin);
  const View view{state_.scene,
                  state_.camera,
                  state_.lighting,
                  state_.mode,
                  state_.clay,
                  static_cast<unsigned>(area.width),
                  static_cast<unsigned>(area.height),
                  spp};
  if (!state_.is_race()) return state_.picture.show(view);
  View half = view;
  half.width = std::max(1u, view.width / 2);
  half.camera = camera_in(half_of(area, 0));
  state_.jobs.live().show(half);
}

void Viewer::draw(const Layout& layout) {
  state_.places.texts.clear();
  state_.picture.upload(picture_);
  for (const unsigned side : {0u, 1u}) state_.jobs.live().upload(side, halves_[side]);
  gl::viewport({0, 0, layout.width, layout.height});
  // The panels have no backgrounds, because OpenGL in software clears faster than it blends.
  gl::clear(colour::panel.x, colour::panel.y, colour::panel.z);
  const gl::Rectangle area = layout.picture_rectangle();
  if (state_.is_race() ? halves_[0].width() == 0 : picture_.width() == 0) {
    gl::clear(area, colour::backdrop.x, colour::backdrop.y, colour::backdrop.z);
  } else if (state_.is_race()) {
    const int middle = area.width / 2;
    for (const int side : {0, 1}) {
      const gl::Rectangle half{area.x + side * middle, area.y, middle, area.height};
      if (halves_[side].width() > 0) halves_[side].draw(half);
      // The window has the first tree of a moving scene.
      if (!state_.live.moves) draw_lines(half, camera_in(half_of(layout.picture, 0)));
    }
  } else {
    picture_.draw(area);
    draw_lines(area, state_.camera);
  }
  const bool live = state_.tab == Tab::live;
  ui::allow_hints(!state_.help && !ImGui::GetIO().WantTextInput);
  if (state_.show.panel) {
    draw_tab_bar(state_, layout.bar);
    live ? draw_live_panel(state_, layout.panel) : draw_panel(state_, layout.panel);
    if (live) draw_live_below(state_, layout.below);
  }
  if (state_.tab == Tab::heap) draw_heap(state_, layout.below);
  if (live) draw_live_overlay(state_, layout.picture);
  Area free = layout.picture;
  free.height -= draw_lesson(state_, layout.picture);
  draw_overlay(state_, free);
  draw_help(state_);
  state_.close_popups = false;
  ImGui::Render();
  gl::viewport({0, 0, layout.width, layout.height});
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

Area Viewer::half_of(const Area& area, float x) const {
  if (!state_.is_race()) return area;
  const float half = std::floor(area.width / 2);
  return {x < area.x + half ? area.x : area.x + half, area.y, half, area.height};
}

render::Camera Viewer::camera_in(const Area& area) const {
  render::Camera camera = state_.camera;
  // A narrow half shows what a picture of 4:3 shows.
  const float narrow = 4.0f / 3 * area.height / std::max(area.width, 1.0f);
  if (state_.is_race() && narrow > 1)
    camera.fov =
        std::min(150.0f, std::atan(std::tan(camera.fov * 0.00872665f) * narrow) / 0.00872665f);
  return camera;
}

void Viewer::draw_lines(const gl::Rectangle& area, const render::Camera& camera) {
  const bool node = state_.tab == Tab::learn && state_.node.visible && state_.node.shown;
  if (!state_.scene || (!state_.tree.visible && !state_.probe.path && !node)) return;
  const gl::Matrix matrix =
      projection(camera, static_cast<unsigned>(std::max(1, area.width)),
                 static_cast<unsigned>(std::max(1, area.height)), state_.scene->diagonal());
  const int line_width = std::max(1, static_cast<int>(window_.scale()));
  if (node) {
    state_.node.update(*state_.scene, node_);
    gl::clear_depth();
    if (state_.node.triangles) node_.surfaces.draw_surfaces(matrix, area, 0.9f, true);
    node_.box.draw_lines(matrix, area, 2 * line_width);
    if (state_.node.plane) node_.plane.draw_surfaces(matrix, area, 1, false);
  }
  if (state_.tree.visible) {
    state_.tree.update(*state_.scene, boxes_);
    boxes_.draw_lines(matrix, area, line_width);
  }
  if (state_.probe.active && state_.probe.path) {
    ray_.upload(state_.probe.lines(*state_.scene));
    ray_.draw_lines(matrix, area, std::max(2, static_cast<int>(2 * window_.scale())));
  }
}

// Adds the frame that has been drawn to the video, if one is recorded.
void Viewer::record_video() {
  const std::array<int, 2> size = window_.pixels();
  const auto width = static_cast<unsigned>(size[0]), height = static_cast<unsigned>(size[1]);
  try {
    if (state_.records_video && !video_) {
      const std::string name = state_.scene ? state_.scene->name : "heapwood";
      video_.emplace(free_name(name, ".mp4"), width, height);
      video_size_ = size;
    }
    if (!video_) return;
    // All frames have one size: a video ends when the window's changes.
    if (!state_.records_video || size != video_size_) video_->end();
    if (video_->wants_frame(state_.now)) video_->add(gl::read_pixels(width, height), state_.now);
    if (!video_->has_ended()) return;
    state_.note(video_->result());
  } catch (const Error& error) {
    state_.warn(error.what());
  }
  state_.records_video = false;
  video_.reset();
}

// Draws the window's content at another size. Returns whether the file has been written, for which
// the picture must be complete.
bool Viewer::draw_capture(const Shot& shot) {
  const auto [width, height, samples, window] = shot.settings;
  const std::array size{static_cast<unsigned>(width), static_cast<unsigned>(height)};
  if (!canvas_ || std::array{canvas_->width(), canvas_->height()} != size) {
    canvas_.emplace(size[0], size[1]);
    canvas_frames_ = 0;
  }
  window_.new_frame(std::array{width, height});
  for (const KeyPress& press : window_.take_keys()) key(press);
  if (!state_.shot) {  // it was cancelled
    ImGui::EndFrame();
    return true;
  }
  const Layout areas = layout(width, height);
  request_picture(areas.picture, static_cast<unsigned>(samples));
  PictureStatus picture = state_.picture.status();
  if (state_.is_race()) picture.done = state_.jobs.live().has_refined_view();
  canvas_->bind();
  draw(areas);
  canvas_->show(window_.pixels()[0], window_.pixels()[1]);
  window_.swap();
  if (!picture.error.empty()) throw Error(Exit::failed, picture.error);
  // The additional frames are for Dear ImGui, which needs two to determine its sizes.
  if (!picture.done || ++canvas_frames_ < 4) return false;
  write_shot(shot, canvas_->read());
  return true;
}

void Viewer::capture() {
  bool ended = true;
  try {
    ended = draw_capture(Shot(*state_.shot));
  } catch (const Error& error) {
    state_.fail(error);
  }
  state_.frames.exclude(1e3 * cpu_seconds(CLOCK_THREAD_CPUTIME_ID));
  if (!ended) return;
  gl::bind_window();
  canvas_.reset();
  state_.shot.reset();
}

// Writes the screenshot of the scene once its picture, which the window shows meanwhile, is
// complete. `picture` is the status before the picture was drawn.
void Viewer::finish_shot(const PictureStatus& picture) {
  if (!state_.shot || state_.captures_window()) return;
  try {
    if (!picture.error.empty()) throw Error(Exit::failed, picture.error);
    if (!picture.done) return;
    write_shot(*state_.shot, picture_.read());
  } catch (const Error& error) {
    state_.fail(error);
  }
  state_.shot.reset();
}

void Viewer::write_shot(const Shot& shot, const std::vector<gl::Rgba8>& pixels) {
  const auto& [width, height, samples, window] = shot.settings;
  bench::OutputFile(shot.path).write(
      gl::to_png(pixels, static_cast<unsigned>(width), static_cast<unsigned>(height)));
  state_.note(
      fmt::format("Saved {}, {}x{}, {} samples per pixel", shot.path, width, height, samples));
  shot_taken_ = true;
}

void Viewer::unattended() {
  if (state_.last_error) throw *state_.last_error;
  if (!state_.scene && state_.finished[0])
    throw Error(Exit::failed, "the build was cancelled: there is no picture");
  if (shot_taken_) return window_.close();
  if (state_.shot_cancelled)
    throw Error(Exit::failed, "the picture was cancelled before it was written");
  if (!state_.scene || !state_.jobs.is_idle() || state_.shot) return;
  if (state_.tab == Tab::live && options_.panel &&
      !has_live_figures(state_.live, LiveTimes::min_to_rank))
    return;
  const bench::ImageSize& size = options_.size;
  state_.shot_settings = {static_cast<int>(size.width ? size.width : 1280),
                          static_cast<int>(size.height ? size.height : 720),
                          static_cast<int>(options_.frames), options_.panel};
  state_.messages.clear();
  take_screenshot(state_, options_.screenshot);
}

}  // namespace heapwood::viewer
