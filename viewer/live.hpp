// SPDX-License-Identifier: MIT
// The job of the Live tab: builds every frame with both allocators in turn, A first in even frames
// and B first in odd ones, so that drift affects both alike.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "viewer/built_scene.hpp"
#include "viewer/recording.hpp"

namespace heapwood::viewer {

// LiveView is the state of the tab: the job sends events; the view keeps the latest times and
// determines which side is slower.

// One build of one frame.
struct LiveSample {
  std::uint64_t frame = 0;
  double ms = 0;
  std::uint64_t hash = 0;  // hash of the tree
  bool complete = true;
  std::uint64_t refused_bytes = 0;  // size of the first refused request, if the tree is incomplete
  double seconds = 0;               // time at which it was made
  double trace_ms = 0;  // of one sample per pixel of the picture shown at that time; 0: unknown
};

struct LiveEvent {
  enum class Kind { sample, recording, restarted };
  Kind kind = Kind::sample;
  unsigned side = 0;  // 0 is A, 1 is B
  LiveSample sample;
  std::shared_ptr<const Recording> recording;  // recording of a frame of this side
  // Set if this side was restarted and its first sample follows.
  const registry::RegisteredAllocator* allocator = nullptr;
  std::uint64_t pool_bytes = 0;
  bool moves = false;        // whether the scene moves
  std::uint64_t choice = 0;  // number of the user's choice that this event reflects
};

// Times of one side over the latest frames.
class LiveTimes {
 public:
  static constexpr std::size_t window = 120, min_to_rank = 12;

  void add(const LiveSample& sample);
  const std::deque<LiveSample>& samples() const { return samples_; }
  // The median of the frames in the window, and their range without fastest and slowest tenth.
  double median() const { return median_; }
  double low() const { return low_; }
  double high() const { return high_; }
  // Whether the last build was incomplete.
  bool exhausted() const { return !samples_.empty() && !samples_.back().complete; }

 private:
  std::deque<LiveSample> samples_;
  double median_ = 0, low_ = 0, high_ = 0;
};

struct LiveSide {
  const registry::RegisteredAllocator* allocator = nullptr;
  LiveTimes times;
  std::shared_ptr<const Recording> recording;
  const char* label() const { return allocator ? allocator->traits->label : ""; }
};

struct LiveVerdict {
  enum class Kind { measuring, exhausted, noisy, ranked };
  Kind kind = Kind::measuring;
  std::size_t slower = 0;  // index of the side that is slower or exhausted
  double factor = 1;       // its median / the other side's median
  std::string text, detail;
};
// The number of frames that both sides completed, and in how many of them a side took longer.
struct PairedFrames {
  std::size_t all = 0, slower = 0;
};
PairedFrames paired_frames(const LiveTimes& side, const LiveTimes& other);
// Compares the sides. A side is called slower if it took longer in at least nine of ten frames.
// Both build each frame one after the other, taking turns in being first, so a lasting disturbance
// slows both.
LiveVerdict judge(const LiveSide& a, const LiveSide& b);

// Returns "takes 3.2 times as long" or "is 5% slower".
std::string slower_text(double factor);

// The largest hole of a recorded build at the time when it is smallest, at which a large request is
// most likely to be refused.
std::uint64_t tightest_hole(const Recording& recording);

struct LiveView {
  LiveSide sides[2];
  HeapView heap;  // the recordings, which are played repeatedly
  std::uint64_t frames = 0, pool_bytes = 0;
  // Frames of which both trees exist; those whose trees differ.
  std::uint64_t compared = 0, different = 0;
  bool frozen = false;
  std::string problem;       // the reason why no frames are built
  bool moves = false;        // whether the scene moves
  std::uint64_t choice = 0;  // number of the latest choice that has taken effect

  // The median time of one sample per pixel in the latest frames; 0: unknown. It is one for both
  // sides, which have the same tree.
  double trace_ms() const;
  // The rate of frames that results from both builds and the time left for the picture; 0: unknown.
  double frames_per_second() const;

  void take(const LiveEvent& event);
  void clear() { *this = {}; }

 private:
  void show_recordings();
};

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
