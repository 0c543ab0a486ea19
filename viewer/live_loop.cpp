// SPDX-License-Identifier: MIT
#include "viewer/live_loop.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "bench/animate_bench.hpp"
#include "kdtree/check/quality.hpp"
#include "scenes/moving/moving_scene.hpp"
#include "viewer/jobs.hpp"

namespace heapwood::viewer {

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
