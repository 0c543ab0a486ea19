// SPDX-License-Identifier: MIT
// The job of the Live tab: builds every frame with both allocators in turn, A first in even frames
// and B first in odd ones, so that drift affects both alike.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/prepared_scene.hpp"
#include "viewer/built_scene.hpp"
#include "viewer/live.hpp"

namespace heapwood::viewer {

// Exchange between the window and the job. Every function may be called from any thread.
class LiveLink {
 public:
  using Pair = std::array<const registry::RegisteredAllocator*, 2>;

  // The window's side.
  void choose(const Pair& allocators);
  void freeze(bool frozen);
  void stop();
  void set_picture_done(bool done) { picture_done_ = done; }
  std::vector<LiveEvent> take();

  // The job's side.
  void begin();
  // The allocators of the next frame, after waiting while frozen; nullopt: the job ends.
  std::optional<Pair> next_frame();
  void publish(LiveEvent event);
  // Gives the ray tracer time until its picture is complete, at most this long.
  void leave_to_picture(double seconds);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Pair pair_{};
  bool frozen_ = false, stop_ = false;
  std::vector<LiveEvent> events_;
  std::atomic<bool> picture_done_{false};
};

// The scene of each frame. Only still scenes yet: a moving one gives another mesh for each frame,
// which is then published like the first one.
class FrameSource {
 public:
  virtual ~FrameSource() = default;
  virtual bench::PreparedScene& frame(std::uint64_t number) = 0;
  virtual bool moves() const = 0;
};

struct LiveSpec {
  std::string source;
  bench::BuildSettings settings;
  simt::DeviceInfo device;
};

struct LiveHooks {
  std::function<void(bool)> hold_picture;  // while builds are timed
  std::function<void(bench::PreparedScene&, const std::string& allocator)> tree_built;
};

// Runs until the link is stopped; throws what builds throw.
void run_live(const LiveSpec& spec, LiveLink& link, const LiveHooks& hooks);

}  // namespace heapwood::viewer
