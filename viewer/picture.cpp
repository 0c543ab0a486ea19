// SPDX-License-Identifier: MIT
#include "viewer/picture.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "viewer/jobs.hpp"

namespace heapwood::viewer {

namespace {

// Target duration of a launch. It is short, so that a new view does not wait.
constexpr double slice_seconds = 0.03;
// Target time until there is a coarse picture.
constexpr double coarse_seconds = 0.05;

}  // namespace

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

unsigned coarse_factor(double pixels, double seconds_per_pixel) {
  unsigned factor = 1;
  while (factor < 16 && pixels / (factor * factor) * seconds_per_pixel > coarse_seconds)
    factor *= 2;
  return factor;
}

std::span<gl::Rgba8> PixelExchange::begin(const simt::DeviceId& device, unsigned width,
                                          unsigned height) {
  if (!next_) next_ = std::make_unique<Buffer>(device);
  next_->pixels.resize(std::size_t{width} * height);
  next_->width = width;
  next_->height = height;
  return next_->pixels.values();
}

void PixelExchange::publish() {
  const std::lock_guard lock(mutex_);
  std::swap(next_, latest_);
  is_fresh_ = true;
}

void PixelExchange::upload(gl::Texture& texture) {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(is_fresh_, false)) return;
    std::swap(latest_, uploaded_);
  }
  texture.upload(uploaded_->width, uploaded_->height, uploaded_->pixels.values().data(), true);
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
  if (traced_ != view.scene) {
    picture_.reset();
    traced_ = view.scene;
    picture_.emplace(*traced_->traced, job_of(view, 16));
  }
  // Starts at the finest resolution that is quick enough, and doubles it up to that of the window.
  const double pixels = static_cast<double>(view.width) * view.height;
  for (unsigned factor = coarse_factor(pixels, seconds_per_pixel_); factor > 1; factor /= 2) {
    const render::RenderJob job = job_of(view, factor);
    picture_->restart(job);
    if (!trace(static_cast<double>(job.width) * job.height, factor, version)) return;
    publish(view, factor);
    if (outdated(version)) return;
    if (factor == 2) wait_while_held(version);
  }
  picture_->restart(job_of(view, 1));
  simt::HostClock::time_point shown{};
  while (picture_->samples() < view.spp) {
    if (!trace(pixels, 1, version)) return;
    const unsigned samples = picture_->samples();
    const bool last = samples == view.spp;
    if (last || std::has_single_bit(samples) || simt::seconds_since(shown) > 0.5) {
      publish(view, 1);
      shown = simt::HostClock::now();
    }
    const std::lock_guard lock(mutex_);
    if (version != version_) return;
    status_.pass_ms = 1e3 * seconds_per_pixel_ * pixels;
    status_.camera_rays_per_second = 1 / seconds_per_pixel_;
    status_.done = last;
  }
}

bool Picture::trace(double pixels, unsigned factor, std::uint64_t version) {
  const unsigned rows = picture_->tile_rows();
  const auto step = static_cast<unsigned>(
      std::clamp(slice_seconds / (seconds_per_pixel_ * pixels) * rows, 1.0, 1.0 * rows));
  double busy = 0;
  for (unsigned row = 0; row < rows; row += step) {
    if (factor == 1) wait_while_held(version);
    // Only the coarsest pictures are shown while the camera moves.
    if (factor <= 4 && outdated(version)) return false;
    const auto start = simt::HostClock::now();
    picture_->add_rows(row, step, 60);
    busy += simt::seconds_since(start);
  }
  picture_->end_pass();
  seconds_per_pixel_ = std::max(busy / pixels, 1e-12);
  return true;
}

void Picture::publish(const View& view, unsigned factor) {
  const render::RenderJob& job = picture_->job();
  const render::Progressive::Developed developed =
      picture_->develop(pixels_.begin(view.scene->device.id, job.width, job.height));
  pixels_.publish();
  const std::lock_guard lock(mutex_);
  status_.samples = factor == 1 ? picture_->samples() : 0;
  status_.coarse = factor;
  status_.range = developed.range;
  status_.largest = developed.largest;
}

}  // namespace heapwood::viewer
