// SPDX-License-Identifier: MIT
#include "viewer/live.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "bench/animate_bench.hpp"
#include "bench/results/format.hpp"
#include "kdtree/check/quality.hpp"
#include "scenes/moving/moving_scene.hpp"
#include "viewer/jobs.hpp"

namespace heapwood::viewer {

void LiveTimes::add(const LiveSample& sample) {
  samples_.push_back(sample);
  if (samples_.size() > window) samples_.pop_front();
  std::vector<double> ms;
  for (const LiveSample& one : samples_) {
    if (one.complete) ms.push_back(one.ms);
  }
  if (ms.empty()) return;
  median_ = *bench::median(ms);
  low_ = *bench::quantile(ms, 0.1);
  high_ = *bench::quantile(ms, 0.9);
}

std::string slower_text(double factor) {
  if (factor < 1.1) return fmt::format("is {:.1f}% slower", 100 * (factor - 1));
  if (factor < 1.5) return fmt::format("is {:.0f}% slower", 100 * (factor - 1));
  return fmt::format("takes {:.{}f} times as long", factor, factor < 10 ? 1 : 0);
}

std::uint64_t tightest_hole(const Recording& recording) {
  std::uint64_t tightest = ~std::uint64_t{0};
  for (const Recording::Point& point : recording.points)
    tightest = std::min(tightest, point.pool.largest_gap_bytes);
  return tightest;
}

PairedFrames paired_frames(const LiveTimes& side, const LiveTimes& other) {
  PairedFrames frames;
  auto one = other.samples().begin();
  for (const LiveSample& sample : side.samples()) {
    while (one != other.samples().end() && one->frame < sample.frame) ++one;
    if (one == other.samples().end()) break;
    if (one->frame != sample.frame || !one->complete || !sample.complete) continue;
    ++frames.all;
    frames.slower += sample.ms > one->ms;
  }
  return frames;
}

LiveVerdict judge(const LiveSide& a, const LiveSide& b) {
  using Kind = LiveVerdict::Kind;
  LiveVerdict verdict;
  const LiveSide* sides[] = {&a, &b};
  if (a.times.exhausted() || b.times.exhausted()) {
    verdict.kind = Kind::exhausted;
    verdict.slower = a.times.exhausted() ? 0 : 1;
    const LiveSide& full = *sides[verdict.slower];
    verdict.text = a.times.exhausted() && b.times.exhausted()
                       ? "Both pools are exhausted"
                       : std::string(full.label()) + ": pool exhausted";
    const std::uint64_t refused = full.times.samples().back().refused_bytes;
    verdict.detail = fmt::format("A request of {} was refused", bench::bytes_text(refused));
    const bool known = full.recording && full.recording->in_pool;
    const std::uint64_t hole = known ? tightest_hole(*full.recording) : 0;
    verdict.detail +=
        !known ? "."
        : hole < refused
            ? fmt::format(": the largest hole of the pool is {} at the tightest moment.",
                          bench::bytes_text(hole))
            : fmt::format(
                  " despite a largest hole of {}: headers, alignment or a fixed division "
                  "of the pool prevent its use.",
                  bench::bytes_text(hole));
    return verdict;
  }
  if (std::min(a.times.samples().size(), b.times.samples().size()) < LiveTimes::min_to_rank) {
    verdict.text = "Measuring ...";
    verdict.detail =
        fmt::format("{} of {} frames", std::min(a.times.samples().size(), b.times.samples().size()),
                    LiveTimes::min_to_rank);
    return verdict;
  }
  verdict.slower = a.times.median() > b.times.median() ? 0 : 1;
  const LiveTimes &slow = sides[verdict.slower]->times, &fast = sides[1 - verdict.slower]->times;
  verdict.factor = fast.median() > 0 ? slow.median() / fast.median() : 1;
  const PairedFrames frames = paired_frames(slow, fast);
  const std::string label = sides[verdict.slower]->label(),
                    share = fmt::format("{} of {} frames", frames.slower, frames.all);
  if (frames.slower * 10 < frames.all * 9 || frames.slower == 0) {
    verdict.kind = Kind::noisy;
    verdict.text = "Too noisy to rank";
    verdict.detail = fmt::format("The medians differ by {:.1f}%, but {} is slower in only {}.",
                                 100 * (verdict.factor - 1), label, share);
    if (a.allocator == b.allocator)
      verdict.detail = "The same allocator on both sides: what differs is noise.";
    return verdict;
  }
  verdict.kind = Kind::ranked;
  verdict.text = fmt::format("{} {}", label, slower_text(verdict.factor));
  verdict.detail =
      fmt::format("{} against {} ms per build, slower in {}", bench::figure_text(slow.median()),
                  bench::figure_text(fast.median()), share);
  return verdict;
}

void LiveView::take(const LiveEvent& event) {
  LiveSide& side = sides[event.side];
  choice = event.choice;
  switch (event.kind) {
    case LiveEvent::Kind::restarted:
      side = {};
      side.allocator = event.allocator;
      pool_bytes = event.pool_bytes;
      moves = event.moves;
      compared = different = 0;
      show_recordings();
      break;
    case LiveEvent::Kind::recording:
      side.recording = event.recording;
      show_recordings();
      break;
    case LiveEvent::Kind::sample: {
      side.times.add(event.sample);
      frames = std::max(frames, event.sample.frame + 1);
      const auto& others = sides[1 - event.side].times.samples();
      if (!event.sample.complete || others.empty() || !others.back().complete ||
          others.back().frame != event.sample.frame)
        break;
      ++compared;
      different += others.back().hash != event.sample.hash;
      break;
    }
  }
}

double LiveView::trace_ms() const {
  std::vector<double> ms;
  for (const LiveSample& sample : sides[0].times.samples()) {
    if (sample.trace_ms > 0) ms.push_back(sample.trace_ms);
  }
  return bench::median(ms).value_or(0);
}

double LiveView::frames_per_second() const {
  double rate = 0;
  for (const LiveSide& side : sides) {
    const auto& samples = side.times.samples();
    if (samples.size() < 2) continue;
    // Only the last 30 frames count: before that the window may have been frozen.
    const LiveSample& first = samples[samples.size() > 30 ? samples.size() - 30 : 0];
    const double seconds = samples.back().seconds - first.seconds;
    if (seconds > 0)
      rate = std::max(rate, static_cast<double>(samples.back().frame - first.frame) / seconds);
  }
  return rate;
}

void LiveView::show_recordings() {
  const double place = heap.place;
  heap.clear();
  heap.place = place;
  for (const LiveSide& side : sides) {
    if (side.recording) heap.recordings.push_back(side.recording);
  }
}

using Clock = std::chrono::steady_clock;

void LiveLink::choose(const LiveAllocators& allocators) {
  const std::lock_guard lock(mutex_);
  allocators_ = allocators;
  ++choice_;
}

std::uint64_t LiveLink::choice() const {
  const std::lock_guard lock(mutex_);
  return choice_;
}

std::vector<LiveEvent> LiveLink::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

void LiveLink::begin() {
  const std::lock_guard lock(mutex_);
  stop_ = false;
  events_.clear();
}

std::optional<LiveAllocators> LiveLink::next_frame() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stop_ || !frozen_; });
  if (stop_) return std::nullopt;
  taken_choice_ = choice_;
  return allocators_;
}

void LiveLink::publish(LiveEvent event) {
  const std::lock_guard lock(mutex_);
  event.choice = taken_choice_;
  events_.push_back(std::move(event));
}

bool LiveLink::begin_drawing(double seconds) {
  std::unique_lock lock(mutex_);
  drawing_ = true;
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [&] { return !building_; });
}

void LiveLink::begin_builds() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(max_drawing_seconds),
                    [&] { return !drawing_ || stop_; });
  building_ = true;
}

void LiveLink::leave_to_picture(double seconds, bool until_done) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::unique_lock lock(mutex_);
  while (!stop_ && !(until_done && picture_done_) && Clock::now() < end)
    changed_.wait_for(lock, std::chrono::milliseconds(4));
}

namespace {

// The frames of a scene: always one mesh for a still scene, a new mesh per frame for a moving one.
class Frames {
 public:
  // Loads the scene with its colours; its first frame becomes current. Throws the loaders' errors.
  Frames(const JobSpec& spec, const bench::PoolNeeds& needs) {
    if (is_moving(spec.source)) {
      moving_.emplace(spec.source, spec.device, spec.settings, needs);
      name_ = scenes::moving_label(spec.source);
      advance(0);
    } else {
      still_.emplace(spec.source, spec.device, spec.settings, needs, scenes::Content::materials);
      name_ = still_->name();
    }
  }
  bool moves() const { return moving_.has_value(); }
  // Makes the mesh of a frame and copies it to the device; after the last frame comes the first.
  void advance(std::uint64_t number) {
    if (!moving_) return;
    moving_->prepare(static_cast<unsigned>(number % moving_->frames()));
    moving_->upload();
  }
  const std::string& name() const { return name_; }
  const scenes::Mesh& mesh() const { return moving_ ? moving_->mesh() : still_->mesh(); }
  kdtree::Workspace& workspace() { return moving_ ? moving_->workspace() : still_->workspace(); }
  // Enlarges an automatic pool. Returns false if the pool is fixed or at its limit.
  bool enlarge_pool() { return moving_ ? moving_->enlarge_pool() : still_->enlarge_pool(); }

 private:
  std::string name_;
  std::optional<bench::PreparedScene> still_;
  std::optional<bench::AnimateScene> moving_;
};

class LiveLoop {
 public:
  LiveLoop(const JobSpec& spec, LiveLink& link, const LiveHooks& hooks)
      : spec_(spec), link_(link), hooks_(hooks) {}

  void run() {
    std::optional<LiveAllocators> chosen = link_.next_frame();
    if (!chosen) return;
    source_.emplace(spec_, bench::pool_needs({(*chosen)[0], (*chosen)[1]}));
    for (std::uint64_t frame = 0; chosen; ++frame, chosen = link_.next_frame()) {
      const Clock::time_point begin = Clock::now();
      hooks_.hold_picture(true);
      link_.begin_builds();
      if (frame > 0) source_->advance(frame);
      for (unsigned side = 0; side < 2; ++side) {
        if (sides_[side].allocator == (*chosen)[side]) continue;
        sides_[side] = {(*chosen)[side]};
        warm_up(side);
      }
      double seconds = 0;
      for (const unsigned side : {unsigned(frame % 2), unsigned(1 - frame % 2)})
        seconds += build(side, frame);
      if (source_->moves() && !tree_.nodes.empty()) show();
      hooks_.hold_picture(false);
      link_.end_builds();
      if (source_->moves()) {
        // The picture of a moving scene is never complete: it gets the time that is left in a
        // smooth frame.
        const double spent = std::chrono::duration<double>(Clock::now() - begin).count();
        const double left = std::min(smooth_frame_seconds - spent, seconds);
        link_.leave_to_picture(std::max(left, min_picture_seconds), false);
      } else {
        link_.leave_to_picture(std::clamp(seconds, min_picture_seconds, 0.3), true);
      }
    }
  }

 private:
  struct Side {
    const registry::RegisteredAllocator* allocator = nullptr;
    unsigned frames = 0;
    bool exhausted = false;
  };

  kdtree::BuildOptions options() const {
    kdtree::BuildOptions options;
    options.costs = spec_.settings.costs;
    options.seconds = spec_.settings.timeout;
    return options;
  }
  kdtree::BuildRun build_once(const registry::RegisteredAllocator& entry) {
    source_->workspace().set_allocator_options(entry.options);
    return bench::compiled_for(entry, spec_.device).build(source_->workspace(), options());
  }
  kdtree::BuildRun build_growing(const registry::RegisteredAllocator& entry) {
    kdtree::BuildRun run = build_once(entry);
    while (run.incomplete && source_->enlarge_pool()) run = build_once(entry);
    return run;
  }

  // The first build is not timed: it touches new memory and may have to enlarge the pool.
  void warm_up(unsigned side) {
    const std::size_t pool = pool_bytes();
    const kdtree::BuildRun run = build_growing(*sides_[side].allocator);
    if (!source_->moves() && (!shown_ || (!shown_complete_ && !run.incomplete))) {
      tree_ = source_->workspace().download();
      tree_of_ = sides_[side].allocator->traits->id;
      show();
      shown_complete_ = !run.incomplete;
    }
    restart(side);
    // Times in pools of different sizes are not comparable, so the other side restarts.
    if (pool_bytes() != pool && sides_[1 - side].allocator) restart(1 - side);
  }

  std::size_t pool_bytes() { return source_->workspace().pool().bytes; }

  void show() {
    shown_ = make_built_scene(spec_.source, source_->name(), source_->mesh(), std::move(tree_),
                              spec_.device, tree_of_, spec_.up,
                              source_->moves() ? shown_.get() : nullptr);
    hooks_.show(shown_);
  }

  void restart(unsigned number) {
    sides_[number] = {sides_[number].allocator};
    LiveEvent event;
    event.kind = LiveEvent::Kind::restarted;
    event.side = number;
    event.allocator = sides_[number].allocator;
    event.pool_bytes = pool_bytes();
    event.moves = source_->moves();
    link_.publish(std::move(event));
  }

  // Builds a frame and returns the seconds. An exhausted side stays as it is.
  double build(unsigned number, std::uint64_t frame) {
    Side& side = sides_[number];
    if (side.exhausted) return 0;
    kdtree::BuildRun run = build_once(*side.allocator);
    // A later frame of a moving scene may need more memory than the first one.
    if (run.incomplete && source_->moves() && source_->enlarge_pool()) {
      run = build_growing(*side.allocator);
      for (const unsigned each : {0u, 1u}) restart(each);
    }
    LiveEvent event;
    event.side = number;
    event.sample = {frame, run.ms, 0, !run.incomplete, run.failed_bytes, 0};
    if (!run.incomplete || tree_.nodes.empty()) {
      tree_ = source_->workspace().download();
      tree_of_ = side.allocator->traits->id;
    }
    if (!run.incomplete) event.sample.hash = kdtree::measure(tree_, spec_.settings.costs).hash;
    event.sample.seconds = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
    link_.publish(std::move(event));
    side.exhausted = run.incomplete;
    // Makes one recording per side, after its first times are visible.
    if (++side.frames == first_frames || side.exhausted) record(number);
    return run.ms * 1e-3;
  }

  void record(unsigned number) {
    const registry::RegisteredAllocator& entry = *sides_[number].allocator;
    const std::size_t capacity =
        std::min(max_events, source_->mesh().triangles.size() * 32 + 65536);
    source_->workspace().set_allocator_options(entry.options);
    const kdtree::RecordedRun run = bench::compiled_for(entry, spec_.device)
                                        .build_recorded(source_->workspace(), options(), capacity);
    LiveEvent event;
    event.kind = LiveEvent::Kind::recording;
    event.side = number;
    event.recording = std::make_shared<const Recording>(source_->name(), entry, spec_.device.key,
                                                        pool_bytes(), run);
    link_.publish(std::move(event));
  }

  // A moving scene has 20 frames/s if its builds leave time for that, which is how often the window
  // draws in Live on CPU threads.
  static constexpr double smooth_frame_seconds = 1.0 / 20, min_picture_seconds = 0.015;
  static constexpr unsigned first_frames = 4;
  static constexpr std::size_t max_events = std::size_t{4} << 20;

  const JobSpec& spec_;
  LiveLink& link_;
  const LiveHooks& hooks_;
  std::optional<Frames> source_;
  Side sides_[2];
  kdtree::Tree tree_;  // the last tree that was downloaded, and its allocator
  std::string tree_of_;
  std::shared_ptr<const BuiltScene> shown_;
  bool shown_complete_ = false;
};

}  // namespace

bool is_moving(const std::string& source) { return scenes::moving_frames(source) > 1; }

void run_live(const JobSpec& spec, LiveLink& link, const LiveHooks& hooks) {
  const std::shared_ptr<void> released(nullptr, [&](void*) {
    hooks.hold_picture(false);
    link.end_builds();
  });
  LiveLoop(spec, link, hooks).run();
}

}  // namespace heapwood::viewer
