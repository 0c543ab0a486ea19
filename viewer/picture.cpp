// SPDX-License-Identifier: MIT
#include "viewer/picture.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "viewer/jobs.hpp"

namespace heapwood::viewer {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Target duration of a launch. It is short, so that a new view does not wait.
constexpr double slice_seconds = 0.03;
// Target time until there is a coarse picture.
constexpr double coarse_seconds = 0.05;
// Max wait for the running launch when the picture is to be held.
constexpr auto max_wait = std::chrono::milliseconds(100);

render::RenderJob job_of(const View& view, unsigned factor) {
  render::RenderJob job;
  job.mode = view.mode;
  job.clay = view.clay;
  job.width = std::max(1u, view.width / factor);
  job.height = std::max(1u, view.height / factor);
  job.spp = view.spp;
  job.camera = view.camera;
  job.lighting = view.lighting;
  return job;
}

}  // namespace

template <class Change>
void Picture::change(const Change& change) {
  {
    const std::lock_guard lock(mutex_);
    change();
  }
  changed_.notify_all();
}

Picture::~Picture() {
  change([&] {
    stop_ = true;
    ++version_;
  });
  thread_.join();
}

void Picture::show(const View& view) {
  change([&] {
    if (view == wanted_) return;
    wanted_ = view;
    ++version_;
    status_.done = false;
    status_.spp = view.spp;
    status_.error.clear();
  });
}

void Picture::hold(bool held, bool wait) {
  {
    std::unique_lock lock(mutex_);
    if (held == held_ && !wait) return;
    held_ = held;
    if (wait) changed_.wait_for(lock, max_wait, [&] { return !tracing_ || stop_; });
  }
  changed_.notify_all();
}

void Picture::upload(gl::Texture& texture) {
  const std::lock_guard lock(mutex_);
  if (!pixels_.empty()) texture.upload(width_, height_, pixels_.data(), true);
  pixels_.clear();
}

PictureStatus Picture::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void Picture::work() {
  lower_priority(nice_picture);
  std::uint64_t made = 0;
  for (;;) {
    View view;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(
          lock, [&] { return stop_ || (version_ != made && wanted_.scene && wanted_.width > 0); });
      if (stop_) return;
      view = wanted_;
      made = version_;
    }
    try {
      make(view, made);
    } catch (const simt::Stopped&) {
      // The launch was stopped because a job is being cancelled, which stops every launch: restarts
      // when the flag is cleared.
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(30), [&] { return stop_; });
      made = 0;
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      if (version_ == made) status_.error = error.what();
    }
  }
}

bool Picture::outdated(std::uint64_t version) const {
  const std::lock_guard lock(mutex_);
  return stop_ || version != version_;
}

void Picture::wait_while_held(std::uint64_t version) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stop_ || !held_ || version != version_; });
}

void Picture::make(const View& view, std::uint64_t version) {
  // Starts at the finest resolution that is quick enough, and doubles it up to that of the window.
  const double pixels = static_cast<double>(view.width) * view.height;
  unsigned factor = 1;
  while (factor < 16 && pixels / (factor * factor) * seconds_per_pixel_ > coarse_seconds)
    factor *= 2;
  for (; factor > 1; factor /= 2) {
    const render::RenderJob job = job_of(view, factor);
    render::Progressive picture(*view.scene->traced, job);
    if (!trace(picture, static_cast<double>(job.width) * job.height, factor, version)) return;
    publish(picture.film(), view, factor);
    if (outdated(version)) return;
    if (factor == 2) wait_while_held(version);
  }
  render::Progressive picture(*view.scene->traced, job_of(view, 1));
  Clock::time_point shown{};
  while (picture.samples() < view.spp) {
    if (!trace(picture, pixels, 1, version)) return;
    const unsigned samples = picture.samples();
    const bool last = samples == view.spp;
    if (last || std::has_single_bit(samples) || seconds_since(shown) > 0.5) {
      publish(picture.film(), view, 1);
      shown = Clock::now();
    }
    const std::lock_guard lock(mutex_);
    if (version != version_) return;
    status_.pass_ms = 1e3 * seconds_per_pixel_ * pixels;
    status_.camera_rays_per_second = 1 / seconds_per_pixel_;
    status_.done = last;
  }
}

bool Picture::trace(render::Progressive& picture, double pixels, unsigned factor,
                    std::uint64_t version) {
  const unsigned rows = picture.tile_rows();
  const auto step = static_cast<unsigned>(
      std::clamp(slice_seconds / (seconds_per_pixel_ * pixels) * rows, 1.0, 1.0 * rows));
  double busy = 0;
  for (unsigned row = 0; row < rows; row += step) {
    if (factor == 1) wait_while_held(version);
    // Only the coarsest pictures are shown while the camera moves.
    if (factor <= 4 && outdated(version)) return false;
    const auto start = Clock::now();
    change([&] { tracing_ = true; });
    const std::shared_ptr<void> ended(nullptr, [&](void*) { change([&] { tracing_ = false; }); });
    picture.add_rows(row, step, 60);
    busy += seconds_since(start);
  }
  picture.end_pass();
  seconds_per_pixel_ = std::max(busy / pixels, 1e-12);
  return true;
}

void Picture::publish(const render::Film& film, const View& view, unsigned factor) {
  const render::Development how{view.mode, render::exposure_for(film, view.mode), 0, false};
  const render::Image image = render::develop(film, how);
  std::vector<gl::Rgba8> pixels(image.pixels.size());
  std::ranges::transform(image.pixels, pixels.begin(), [](render::Rgb8 c) {
    return gl::Rgba8{c.r, c.g, c.b, 255};
  });
  const bool numbers = render::shows_numbers(view.mode);
  const render::Range range = numbers ? render::range_of(film, how) : render::Range{};
  double largest = 0;
  for (const render::Pixel& p : film.sums)
    largest = std::max(largest, numbers ? render::number_of(p) : 0);
  const std::lock_guard lock(mutex_);
  width_ = film.width;
  height_ = film.height;
  pixels_ = std::move(pixels);
  status_.trace_ms = 1e3 * seconds_per_pixel_ * view.width * view.height;
  status_.samples = factor == 1 ? film.samples : 0;
  status_.coarse = factor;
  status_.range = range;
  status_.largest = largest;
}

}  // namespace heapwood::viewer
