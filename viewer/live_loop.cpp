// SPDX-License-Identifier: MIT
#include "viewer/live_loop.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "kdtree/check/quality.hpp"

namespace heapwood::viewer {

void LiveLink::choose(const Pair& allocators) {
  const std::lock_guard lock(mutex_);
  pair_ = allocators;
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

std::optional<LiveLink::Pair> LiveLink::next_frame() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stop_ || !frozen_; });
  if (stop_) return std::nullopt;
  return pair_;
}

void LiveLink::publish(LiveEvent event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
}

void LiveLink::leave_to_picture(double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::unique_lock lock(mutex_);
  while (!stop_ && !picture_done_ && Clock::now() < end)
    changed_.wait_for(lock, std::chrono::milliseconds(4));
}

namespace {

class StillScene final : public FrameSource {
 public:
  StillScene(const LiveSpec& spec, const bench::PoolNeeds& needs)
      : scene_(spec.source, spec.device, spec.settings, needs) {}
  bench::PreparedScene& frame(std::uint64_t) override { return scene_; }
  bool moves() const override { return false; }

 private:
  bench::PreparedScene scene_;
};

class LiveLoop {
 public:
  LiveLoop(const LiveSpec& spec, LiveLink& link, const LiveHooks& hooks)
      : spec_(spec), link_(link), hooks_(hooks) {}

  void run() {
    std::optional<LiveLink::Pair> pair = link_.next_frame();
    if (!pair) return;
    source_ = std::make_unique<StillScene>(spec_, bench::pool_needs({(*pair)[0], (*pair)[1]}));
    for (std::uint64_t frame = 0; pair; ++frame, pair = link_.next_frame()) {
      hooks_.hold_picture(true);
      bench::PreparedScene& scene = source_->frame(frame);
      for (unsigned side = 0; side < 2; ++side) {
        if (sides_[side].allocator == (*pair)[side]) continue;
        sides_[side] = {};
        sides_[side].allocator = (*pair)[side];
        warm_up(scene, side);
      }
      double seconds = 0;
      for (const unsigned side : {unsigned(frame % 2), unsigned(1 - frame % 2)})
        seconds += build(scene, side, frame);
      hooks_.hold_picture(false);
      link_.leave_to_picture(std::clamp(seconds, 0.015, 0.3));
    }
  }

 private:
  struct Side {
    const registry::RegisteredAllocator* allocator = nullptr;
    unsigned frames = 0;
    bool exhausted = false;
  };

  // Not timed: the first build touches new memory, and may have to enlarge the pool.
  void warm_up(bench::PreparedScene& scene, unsigned side) {
    const std::size_t pool = scene.pool_bytes();
    const kdtree::BuildRun run = scene.build_growing(*sides_[side].allocator);
    if (!shown_ || (!shown_complete_ && !run.incomplete)) {
      hooks_.tree_built(scene, sides_[side].allocator->traits->id);
      shown_ = true;
      shown_complete_ = !run.incomplete;
    }
    restart(scene, side);
    // Times with another pool are not comparable.
    const unsigned other = 1 - side;
    if (scene.pool_bytes() != pool && sides_[other].allocator) restart(scene, other);
  }

  void restart(const bench::PreparedScene& scene, unsigned side) {
    sides_[side].frames = 0;
    LiveEvent event;
    event.kind = LiveEvent::Kind::restarted;
    event.side = side;
    event.allocator = sides_[side].allocator;
    event.pool_bytes = scene.pool_bytes();
    link_.publish(std::move(event));
  }

  // Returns seconds. An exhausted side stays as it is.
  double build(bench::PreparedScene& scene, unsigned side, std::uint64_t number) {
    Side& own = sides_[side];
    if (own.exhausted) return 0;
    const kdtree::BuildRun run = scene.build(*own.allocator);
    LiveEvent event;
    event.side = side;
    event.sample = {number, run.ms, 0, !run.incomplete, run.failed_bytes};
    if (!run.incomplete) event.sample.hash = scene.tree_stats().hash;
    link_.publish(std::move(event));
    own.exhausted = run.incomplete;
    // One recording per side, after the first times can be seen.
    if (++own.frames == first_frames || own.exhausted) record(scene, side);
    return run.ms * 1e-3;
  }

  void record(bench::PreparedScene& scene, unsigned side) {
    const registry::RegisteredAllocator& entry = *sides_[side].allocator;
    const std::size_t capacity = std::min(max_events, scene.triangles() * 32 + 65536);
    const kdtree::RecordedRun run = scene.build_recorded(entry, capacity);
    LiveEvent event;
    event.kind = LiveEvent::Kind::recording;
    event.side = side;
    event.recording = std::make_shared<const Recording>(
        make_recording(scene.name(), entry, spec_.device.key, scene.pool_bytes(), run));
    link_.publish(std::move(event));
  }

  static constexpr unsigned first_frames = 4;
  static constexpr std::size_t max_events = std::size_t{4} << 20;

  const LiveSpec& spec_;
  LiveLink& link_;
  const LiveHooks& hooks_;
  std::unique_ptr<FrameSource> source_;
  Side sides_[2];
  bool shown_ = false, shown_complete_ = false;
};

}  // namespace

void run_live(const LiveSpec& spec, LiveLink& link, const LiveHooks& hooks) {
  const std::shared_ptr<void> released(nullptr, [&](void*) { hooks.hold_picture(false); });
  LiveLoop(spec, link, hooks).run();
}

}  // namespace heapwood::viewer
