// SPDX-License-Identifier: MIT
// The job of the Live tab: builds every frame with both allocators in turn, A first in even frames
// and B first in odd ones, so that drift affects both alike.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "viewer/built_scene.hpp"
#include "viewer/live.hpp"

namespace heapwood::viewer {

// Sides A and B, which the user may change while frames are built.
using LiveAllocators = std::array<const registry::RegisteredAllocator*, 2>;

// What the window and the job exchange. Every function may be called from any thread.
class LiveLink {
 public:
  // Called by the window.
  void choose(const LiveAllocators& allocators);
  void freeze(bool frozen) { set(frozen_, frozen); }
  void stop() { set(stop_, true); }
  void set_picture_done(bool done) { picture_done_ = done; }
  std::vector<LiveEvent> take();
  // If builds and OpenGL use the same cores, builds and the window take turns, so that neither
  // slows the other. begin_drawing() waits at most `seconds` for the builds of a frame to end, and
  // returns whether they did. Then no build starts until end_drawing(), or for at most
  // max_drawing_seconds.
  bool begin_drawing(double seconds);
  void end_drawing() { set(drawing_, false); }
  // The number of the latest choice. Events that reflect an earlier one may still arrive.
  std::uint64_t choice() const;

  // Called by the job.
  void begin();
  // Waits while the window is frozen. Returns the next frame's allocators; nullopt: the job ends.
  std::optional<LiveAllocators> next_frame();
  void publish(LiveEvent event);
  void begin_builds();
  void end_builds() { set(building_, false); }
  // Gives the ray tracer this many seconds; with `until_done` fewer if its picture is complete.
  void leave_to_picture(double seconds, bool until_done);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  LiveAllocators allocators_{};
  // Number of the latest choice, and of the present frame's.
  std::uint64_t choice_ = 0, taken_choice_ = 0;
  bool frozen_ = false, stop_ = false;
  bool building_ = false, drawing_ = false;  // drawing_: the window draws or is about to
  static constexpr double max_drawing_seconds = 0.1;
  void set(bool& member, bool value) {
    const std::lock_guard lock(mutex_);
    member = value;
    changed_.notify_all();
  }

  std::vector<LiveEvent> events_;
  std::atomic<bool> picture_done_{false};
};

struct LiveHooks {
  std::function<void(bool)> hold_picture;  // called around timed builds
  // Shows the scene with its tree: a still scene once, a moving one in each frame.
  std::function<void(std::shared_ptr<const BuiltScene>)> show;
};

// Runs until the link is stopped. Throws what builds throw.
struct JobSpec;
void run_live(const JobSpec& spec, LiveLink& link, const LiveHooks& hooks);

// Whether a source is a moving scene (scenes/moving/). May read files.
bool is_moving(const std::string& source);

}  // namespace heapwood::viewer
