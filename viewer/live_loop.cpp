// SPDX-License-Identifier: MIT
#include "viewer/live_loop.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "bench/program/options.hpp"
#include "kdtree/check/quality.hpp"

namespace heapwood::viewer {

void LiveLink::choose(const LiveSetup& setup) {
  const std::lock_guard lock(mutex_);
  setup_ = setup;
  ++choice_;
}

std::uint64_t LiveLink::choice() const {
  const std::lock_guard lock(mutex_);
  return choice_;
}

void LiveLink::freeze(bool frozen) {
  {
    const std::lock_guard lock(mutex_);
    if (frozen_ == frozen) return;
    frozen_ = frozen;
  }
  changed_.notify_all();
}

void LiveLink::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
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

std::optional<LiveSetup> LiveLink::next_frame() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stop_ || !frozen_; });
  if (stop_) return std::nullopt;
  taken_choice_ = choice_;
  return setup_;
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

void LiveLink::end_drawing() {
  {
    const std::lock_guard lock(mutex_);
    drawing_ = false;
  }
  changed_.notify_all();
}

void LiveLink::begin_builds() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::duration<double>(max_drawing_seconds),
                    [&] { return !drawing_ || stop_; });
  building_ = true;
}

void LiveLink::end_builds() {
  {
    const std::lock_guard lock(mutex_);
    building_ = false;
  }
  changed_.notify_all();
}

void LiveLink::leave_to_picture(double seconds, bool until_done) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::unique_lock lock(mutex_);
  while (!stop_ && !(until_done && picture_done_) && Clock::now() < end)
    changed_.wait_for(lock, std::chrono::milliseconds(4));
}

namespace {

using Clock = std::chrono::steady_clock;

class LiveLoop {
 public:
  LiveLoop(const LiveSpec& spec, LiveLink& link, const LiveHooks& hooks)
      : spec_(spec), link_(link), hooks_(hooks) {}

  void run() {
    std::optional<LiveSetup> setup = link_.next_frame();
    if (!setup) return;
    source_ = open_frames(spec_.source, spec_.device, spec_.settings,
                          bench::pool_needs({setup->allocators[0], setup->allocators[1]}));
    for (std::uint64_t frame = 0; setup; ++frame, setup = link_.next_frame()) {
      const Clock::time_point begin = Clock::now();
      hooks_.hold_picture(true);
      link_.begin_builds();
      if (source_->moves() && frame > 0) source_->advance(frame);
      take_setup(*setup);
      double seconds = 0;
      for (const unsigned side : {unsigned(frame % 2), unsigned(1 - frame % 2)})
        seconds += build(side, frame);
      if (source_->moves() && !tree_.nodes.empty()) show();
      hooks_.hold_picture(false);
      link_.end_builds();
      if (source_->moves()) {
        // Its picture is never complete: it gets what is left of a smooth frame.
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
    kdtree::KeptAllocator kept;
    simt::Memory pool;  // its own, while pools are kept
  };

  // The side's pool takes the place of the workspace's, also if a build throws.
  class OwnPool {
   public:
    OwnPool(kdtree::Workspace& workspace, simt::Memory& pool) : workspace_(workspace), pool_(pool) {
      workspace_.swap_pool(pool_);
    }
    ~OwnPool() { workspace_.swap_pool(pool_); }
    OwnPool(const OwnPool&) = delete;
    OwnPool& operator=(const OwnPool&) = delete;

   private:
    kdtree::Workspace& workspace_;
    simt::Memory& pool_;
  };

  void take_setup(const LiveSetup& setup) {
    if (std::exchange(keep_pools_, setup.keep_pools) != setup.keep_pools) {
      for (Side& side : sides_) side = {};
    }
    for (unsigned side = 0; side < 2; ++side) {
      if (sides_[side].allocator == setup.allocators[side]) continue;
      sides_[side] = {};
      sides_[side].allocator = setup.allocators[side];
      warm_up(side);
    }
  }

  // A pool that is never freed into, or whose blocks may overlap, cannot be kept.
  bool keeps(const Side& side) const {
    const alloc::AllocatorTraits& traits = *side.allocator->traits;
    return keep_pools_ && !traits.lower_bound && traits.keeps_live_memory && traits.in_pool;
  }

  kdtree::BuildRun build_once(const registry::RegisteredAllocator& entry,
                              kdtree::KeptAllocator* kept = nullptr) {
    kdtree::BuildOptions options;
    options.costs = spec_.settings.costs;
    options.seconds = spec_.settings.timeout;
    options.kept = kept;
    source_->workspace().set_allocator_options(entry.options);
    return bench::compiled_for(entry, spec_.device).build(source_->workspace(), options);
  }
  kdtree::BuildRun build_growing(const registry::RegisteredAllocator& entry) {
    kdtree::BuildRun run = build_once(entry);
    while (run.incomplete && source_->enlarge_pool()) run = build_once(entry);
    return run;
  }

  // Not timed: the first build touches new memory, and may have to enlarge the pool.
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
    // Times with another pool are not comparable.
    if (pool_bytes() != pool && sides_[1 - side].allocator) restart(1 - side);
  }

  std::size_t pool_bytes() { return source_->workspace().pool().bytes; }

  void show() {
    hooks_.tree_built(*source_, std::move(tree_), tree_of_);
    shown_ = true;
  }

  void restart(unsigned number) {
    Side& side = sides_[number];
    side.frames = 0;
    side.exhausted = false;
    side.kept = {};
    side.pool = {};
    LiveEvent event;
    event.kind = LiveEvent::Kind::restarted;
    event.side = number;
    event.allocator = side.allocator;
    event.pool_bytes = pool_bytes();
    event.moves = source_->moves();
    event.keeps_pool = keeps(side);
    link_.publish(std::move(event));
  }

  kdtree::BuildRun build_kept(Side& side) {
    if (!keeps(side)) return build_once(*side.allocator);
    if (side.pool.bytes() != pool_bytes()) {
      side.kept = {};
      side.pool = simt::Memory(spec_.device.id, pool_bytes());
    }
    const OwnPool own(source_->workspace(), side.pool);
    return build_once(*side.allocator, &side.kept);
  }

  // Returns seconds. An exhausted side stays as it is.
  double build(unsigned number, std::uint64_t frame) {
    Side& side = sides_[number];
    if (side.exhausted) return 0;
    kdtree::BuildRun run = build_kept(side);
    // A later frame of a moving scene may need more memory than the first one.
    if (run.incomplete && source_->moves() && source_->enlarge_pool()) {
      run = build_growing(*side.allocator);
      for (const unsigned each : {0u, 1u}) restart(each);
    }
    LiveEvent event;
    event.side = number;
    event.sample = {frame, run.ms, 0, !run.incomplete, run.failed_bytes, {}, 0};
    if (!run.incomplete || tree_.nodes.empty()) {
      tree_ = source_->workspace().download();
      tree_of_ = side.allocator->traits->id;
    }
    if (!run.incomplete) event.sample.hash = kdtree::measure(tree_, spec_.settings.costs).hash;
    if (side.kept.regions && frame % frames_per_walk == 0) {
      const std::vector<alloc::Region> regions = side.kept.regions();
      const std::vector<std::uint64_t> unknown(regions.size());
      const alloc::Fragmentation state = alloc::fragmentation_by_region(regions, unknown);
      if (state.measured) event.sample.fragmentation = state.external_merged;
    }
    event.sample.seconds = std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
    link_.publish(std::move(event));
    side.exhausted = run.incomplete;
    // One recording per side, after the first times can be seen.
    if (++side.frames == first_frames || side.exhausted) record(number);
    return run.ms * 1e-3;
  }

  void record(unsigned number) {
    const registry::RegisteredAllocator& entry = *sides_[number].allocator;
    const std::size_t capacity =
        std::min(max_events, source_->mesh().triangles.size() * 32 + 65536);
    kdtree::BuildOptions options;
    options.costs = spec_.settings.costs;
    options.seconds = spec_.settings.timeout;
    source_->workspace().set_allocator_options(entry.options);
    const kdtree::RecordedRun run = bench::compiled_for(entry, spec_.device)
                                        .build_recorded(source_->workspace(), options, capacity);
    LiveEvent event;
    event.kind = LiveEvent::Kind::recording;
    event.side = number;
    event.recording = std::make_shared<const Recording>(
        make_recording(source_->name(), entry, spec_.device.key, pool_bytes(), run,
                       static_cast<std::uint32_t>(kdtree::ref_bytes(spec_.settings.refs))));
    link_.publish(std::move(event));
  }

  // A moving scene has 20 frames/s if its builds leave time for that: as many as the window draws
  // in Live on CPU threads.
  static constexpr double smooth_frame_seconds = 1.0 / 20, min_picture_seconds = 0.015;
  static constexpr unsigned first_frames = 4, frames_per_walk = 8;
  static constexpr std::size_t max_events = std::size_t{4} << 20;

  const LiveSpec& spec_;
  LiveLink& link_;
  const LiveHooks& hooks_;
  std::unique_ptr<FrameSource> source_;
  Side sides_[2];
  bool keep_pools_ = false;
  kdtree::Tree tree_;  // of the last build that was downloaded, and its allocator
  std::string tree_of_;
  bool shown_ = false, shown_complete_ = false;
};

}  // namespace

void run_live(const LiveSpec& spec, LiveLink& link, const LiveHooks& hooks) {
  const std::shared_ptr<void> released(nullptr, [&](void*) {
    hooks.hold_picture(false);
    link.end_builds();
  });
  LiveLoop(spec, link, hooks).run();
}

}  // namespace heapwood::viewer
