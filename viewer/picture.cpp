// SPDX-License-Identifier: MIT
#include "viewer/picture.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

#include "render/kernel.hpp"
#include "viewer/pixels.hpp"
#include "viewer/priority.hpp"

namespace heapwood::viewer {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Target duration of a launch, so that a new view does not wait.
constexpr double slice_seconds = 0.03;
// Target time to a coarse picture.
constexpr double coarse_seconds = 0.05;
// Max wait for the running launch when the picture is to be held.
constexpr auto max_wait = std::chrono::milliseconds(100);

render::RenderJob job_of(const View& view) {
  render::RenderJob job;
  job.mode = view.mode;
  job.clay = view.clay;
  job.width = view.width;
  job.height = view.height;
  job.spp = view.spp;
  job.camera = view.camera;
  job.lighting = view.lighting;
  return job;
}

// Bilinear interpolation: each pixel of the window is a weighted mean of four coarse pixels.
std::vector<gl::Rgba8> enlarged(const std::vector<gl::Rgba8>& small, unsigned small_width,
                                unsigned small_height, unsigned width, unsigned height) {
  struct Place {
    unsigned low, high, share;  // two coarse pixels; weight of the second one, of 256
  };
  const auto place = [](unsigned i, unsigned small_count, unsigned count) {
    const float at = (static_cast<float>(i) + 0.5f) * static_cast<float>(small_count) /
                     static_cast<float>(count);
    const float clamped = std::clamp(at - 0.5f, 0.0f, static_cast<float>(small_count - 1));
    const unsigned low = static_cast<unsigned>(clamped);
    return Place{low, std::min(low + 1, small_count - 1),
                 static_cast<unsigned>((clamped - static_cast<float>(low)) * 256)};
  };
  std::vector<Place> columns(width);
  for (unsigned x = 0; x < width; ++x) columns[x] = place(x, small_width, width);
  // First down, then across. Red and blue are multiplied together, in the halves of a word.
  struct Sum {
    std::uint64_t red_blue;
    unsigned green;
  };
  std::vector<Sum> row_sums(small_width);
  std::vector<gl::Rgba8> pixels(std::size_t{width} * height);
  for (unsigned y = 0; y < height; ++y) {
    const Place row = place(y, small_height, height);
    const gl::Rgba8 *above = &small[std::size_t{row.low} * small_width],
                    *below = &small[std::size_t{row.high} * small_width];
    const auto mixed = [](std::uint64_t a, std::uint64_t b, unsigned share) {
      return a * (256 - share) + b * share;
    };
    for (unsigned x = 0; x < small_width; ++x) {
      const gl::Rgba8 a = above[x], b = below[x];
      row_sums[x] = {
          mixed(a.r | std::uint64_t{a.b} << 32, b.r | std::uint64_t{b.b} << 32, row.share),
          static_cast<unsigned>(mixed(a.g, b.g, row.share))};
    }
    gl::Rgba8* const out = &pixels[std::size_t{y} * width];
    for (unsigned x = 0; x < width; ++x) {
      const Sum &a = row_sums[columns[x].low], &b = row_sums[columns[x].high];
      const std::uint64_t red_blue = mixed(a.red_blue, b.red_blue, columns[x].share),
                          green = mixed(a.green, b.green, columns[x].share);
      out[x] = {static_cast<std::uint8_t>(red_blue >> 16), static_cast<std::uint8_t>(green >> 16),
                static_cast<std::uint8_t>(red_blue >> 48), 255};
    }
  }
  return pixels;
}

}  // namespace

bool View::operator==(const View& other) const {
  const auto same_camera = [](const render::Camera& a, const render::Camera& b) {
    return a.eye == b.eye && a.target == b.target && a.fov == b.fov && a.up == b.up;
  };
  return scene == other.scene && same_camera(camera, other.camera) && mode == other.mode &&
         clay == other.clay && width == other.width && height == other.height && spp == other.spp &&
         lighting.key == other.lighting.key && lighting.lamp == other.lighting.lamp;
}

Picture::Picture(Interop interop) : interop_(std::move(interop)), thread_([this] { work(); }) {}

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

void Picture::trace_rows(render::Progressive& picture, unsigned first, unsigned count) {
  change([&] { tracing_ = true; });
  const std::shared_ptr<void> ended(nullptr, [&](void*) { change([&] { tracing_ = false; }); });
  picture.add_rows(first, count, 60);
}

bool Picture::upload(gl::Texture& texture) {
  const std::lock_guard lock(mutex_);
  decide_sharing();
  bool changed = false;
  if (dirty_first_ < dirty_last_) {
    if (texture.width() != width_ || texture.height() != height_) {
      texture.upload(width_, height_, pixels_.data(), true);
    } else {
      texture.upload_rows(dirty_first_, dirty_last_ - dirty_first_,
                          pixels_.data() + std::size_t{dirty_first_} * width_);
    }
    dirty_first_ = height_;
    dirty_last_ = 0;
    changed = true;
  }
  if (turn_ == Turn::written) {
    turn_ = Turn::free;
    try {
      shared_->show(texture, written_first_, written_last_ - written_first_);
      changed = true;
    } catch (const Error& error) {
      switch_to_copies(error.what());
      ++version_;  // the written rows are lost: the picture restarts
    }
    changed_.notify_all();
  }
  return changed;
}

void Picture::decide_sharing() {
  if (!wanted_.scene || turn_ == Turn::writing) return;
  const simt::DeviceInfo& device = wanted_.scene->device;
  if (device.key != decided_for_) {
    shared_.reset();
    turn_ = Turn::free;
    decided_for_ = device.key;
    copied_because_ = interop_.refusal(device);
    changed_.notify_all();
  }
  if (!copied_because_.empty()) return shared_.reset();
  if (width_ == 0 || fits(shared_.get())) return;
  shared_.reset();
  turn_ = Turn::free;
  try {
    shared_ = std::make_unique<SharedPixels>(interop_, device.id, width_, height_);
  } catch (const Error& error) {
    switch_to_copies(error.what());
  }
  changed_.notify_all();
}

void Picture::switch_to_copies(const std::string& reason) {
  shared_.reset();
  copied_because_ = reason;
}

PictureStatus Picture::status() const {
  const std::lock_guard lock(mutex_);
  PictureStatus status = status_;
  status.shared = shared_ && copied_because_.empty();
  status.copied_because = copied_because_;
  return status;
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
      // A build was cancelled, which stops every launch: restart when the flag is cleared.
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
  {
    const std::lock_guard lock(mutex_);
    if (width_ != view.width || height_ != view.height) {
      width_ = view.width;
      height_ = view.height;
      pixels_.assign(std::size_t{width_} * height_, {20, 22, 26, 255});
      dirty_first_ = 0;
      dirty_last_ = height_;
    }
  }
  // Starts at the finest resolution that is quick enough and doubles it up to that of the window.
  const double pixels = static_cast<double>(view.width) * view.height;
  unsigned factor = 1;
  while (factor < 16 && pixels / (factor * factor) * seconds_per_pixel_ > coarse_seconds)
    factor *= 2;
  const bool coarse = factor > 1;
  for (; factor > 1; factor /= 2) {
    if (!make_coarse(view, version, factor) || outdated(version)) return;
    if (factor == 2) wait_while_held(version);
  }
  refine(view, version, coarse);
}

double Picture::measure(const render::Film& film, render::Mode mode) {
  development_ = {mode, render::exposure_for(film, mode), 0, false};
  range_ = {};
  if (!render::shows_numbers(mode)) return 0;
  range_ = render::range_of(film, development_);
  double largest = 0;
  for (const render::Pixel& p : film.sums)
    largest = std::max(largest, p.a > 0 ? static_cast<double>(p.r / p.a) : 0.0);
  return largest;
}

bool Picture::make_coarse(const View& view, std::uint64_t version, unsigned factor) {
  View coarse = view;
  coarse.width = std::max(1u, view.width / factor);
  coarse.height = std::max(1u, view.height / factor);
  render::Progressive picture(*view.scene->traced, job_of(coarse));
  const auto start = Clock::now();
  const unsigned step = std::max(1u, picture.tile_rows() / 4);
  for (unsigned row = 0; row < picture.tile_rows(); row += step) {
    trace_rows(picture, row, step);
    if (outdated(version) && factor <= 4)
      return false;  // the coarsest pictures are shown even while the camera moves
  }
  picture.end_pass();
  seconds_per_pixel_ = seconds_since(start) / (static_cast<double>(coarse.width) * coarse.height);
  const render::Film film = picture.film();
  const double largest = measure(film, view.mode);
  const std::vector<gl::Rgba8> small = develop_rows(film.sums, film.samples, development_, range_);
  publish(0, enlarged(small, coarse.width, coarse.height, view.width, view.height));
  const std::lock_guard lock(mutex_);
  status_.trace_ms = 1e3 * seconds_per_pixel_ * view.width * view.height;
  status_.samples = 0;
  status_.coarse = factor;
  status_.range = range_;
  status_.largest = largest;
  return true;
}

void Picture::refine(const View& view, std::uint64_t version, bool coarse_before) {
  render::Progressive picture(*view.scene->traced, job_of(view));
  const unsigned rows = picture.tile_rows();
  const double pixels = static_cast<double>(view.width) * view.height;
  unsigned step = static_cast<unsigned>(
      std::clamp(slice_seconds / (seconds_per_pixel_ * pixels) * rows, 1.0, 1e4));
  auto shown = Clock::now();
  bool first = !coarse_before;
  while (picture.samples() < view.spp) {
    double busy = 0;
    // `step` changes in the loop.
    for (unsigned row = 0, count = 0; row < rows; row += count) {
      wait_while_held(version);
      if (outdated(version)) return;
      const auto slice = Clock::now();
      count = std::min(step, rows - row);
      trace_rows(picture, row, count);
      const double seconds = seconds_since(slice);
      busy += seconds;
      // Rows of the first pass are shown at once.
      if (picture.samples() == 0 && !first) {
        show_rows(view, version, picture, row, count, 1);
      }
      if (seconds > 2 * slice_seconds) step = std::max(1u, step / 2);
      if (seconds < slice_seconds / 4 && step < rows) step *= 2;
    }
    picture.end_pass();
    seconds_per_pixel_ = busy / pixels;
    const unsigned samples = picture.samples();
    const bool last = samples == view.spp;
    const bool measures = first || last || std::has_single_bit(samples);
    double largest = 0;
    if (measures) largest = measure(picture.film(), view.mode);
    if (measures || seconds_since(shown) > 0.5) {
      show_rows(view, version, picture, 0, rows, samples);
      shown = Clock::now();
      const std::lock_guard lock(mutex_);
      if (measures) status_.largest = largest;
      status_.range = range_;
      status_.samples = samples;
      status_.coarse = 1;
    }
    first = false;
    const std::lock_guard lock(mutex_);
    if (version != version_) return;
    status_.pass_ms = status_.trace_ms = 1e3 * busy;
    status_.camera_rays_per_second = busy > 0 ? pixels / busy : 0;
    status_.done = last;
  }
}

void Picture::show_rows(const View& view, std::uint64_t version, const render::Progressive& picture,
                        unsigned first, unsigned count, unsigned samples) {
  if (write_shared(view, version, picture, first, count, samples)) return;
  publish(first * render::tile_height,
          develop_rows(picture.rows(first, count), samples, development_, range_));
}

// Returns false if the device does not share its pixels with OpenGL.
bool Picture::write_shared(const View& view, std::uint64_t version,
                           const render::Progressive& picture, unsigned first, unsigned count,
                           unsigned samples) {
  SharedPixels* target = nullptr;
  {
    std::unique_lock lock(mutex_);
    // Waits until the window's thread has decided for this device and size and shown the last rows.
    changed_.wait(lock, [&] {
      if (stop_ || version != version_) return true;
      if (decided_for_ != view.scene->device.key) return false;
      return !copied_because_.empty() || (fits(shared_.get()) && turn_ == Turn::free);
    });
    if (stop_ || version != version_) return true;  // these rows will not be shown
    if (!copied_because_.empty()) return false;
    turn_ = Turn::writing;
    target = shared_.get();
  }
  std::string failure;
  try {
    target->wait();
    picture.develop_rows(first, count, samples, development_, range_, target->pixels());
  } catch (const simt::Stopped&) {
    const std::lock_guard lock(mutex_);
    turn_ = Turn::free;
    throw;
  } catch (const Error& error) {
    failure = error.what();
  }
  const std::lock_guard lock(mutex_);
  turn_ = failure.empty() ? Turn::written : Turn::free;
  if (!failure.empty()) {
    copied_because_ = failure;  // the window's thread releases the pixels, which belong to OpenGL
    return false;
  }
  written_first_ = std::min(first * render::tile_height, height_);
  written_last_ = std::min((first + count) * render::tile_height, height_);
  return true;
}

void Picture::publish(unsigned first_row, const std::vector<gl::Rgba8>& rows) {
  const std::lock_guard lock(mutex_);
  if (width_ == 0 || wanted_.width != width_ || wanted_.height != height_) return;
  const std::size_t begin = std::min(std::size_t{first_row} * width_, pixels_.size());
  const std::size_t count = std::min(rows.size(), pixels_.size() - begin);
  std::copy_n(rows.begin(), count, pixels_.begin() + static_cast<std::ptrdiff_t>(begin));
  dirty_first_ = std::min(dirty_first_, first_row);
  dirty_last_ = std::max(
      dirty_last_, std::min<unsigned>(height_, first_row + static_cast<unsigned>(count / width_)));
}

}  // namespace heapwood::viewer
