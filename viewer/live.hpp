// SPDX-License-Identifier: MIT
// What the Live tab shows: two allocators build the frames of one scene in turn, over and over. The
// job (live_loop.hpp) sends events, this keeps the latest times and says which side is slower.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "viewer/heap_map.hpp"

namespace heapwood::viewer {

// One build of one frame.
struct LiveSample {
  std::uint64_t frame = 0;
  double ms = 0;
  std::uint64_t hash = 0;  // of the tree
  bool complete = true;
  std::uint64_t refused_bytes = 0;  // the first refused request, if it is incomplete
  double seconds = 0;               // when it was made
  double trace_ms = 0;              // of one sample per pixel of the picture shown then; 0: unknown
};

struct LiveEvent {
  enum class Kind { sample, recording, restarted };
  Kind kind = Kind::sample;
  unsigned side = 0;  // 0: A, 1: B
  LiveSample sample;
  std::shared_ptr<const Recording> recording;                // of a frame of this side
  const registry::RegisteredAllocator* allocator = nullptr;  // restarted: its first sample follows
  std::uint64_t pool_bytes = 0;
  bool moves = false;        // the scene
  std::uint64_t choice = 0;  // number of the user's choice that the event follows
};

// Times of one side over the latest frames.
class LiveTimes {
 public:
  static constexpr std::size_t window = 120, min_to_rank = 12;

  void add(const LiveSample& sample);
  const std::deque<LiveSample>& samples() const { return samples_; }
  // The median of the frames in the window, and their range without the fastest and slowest tenth.
  double median() const { return median_; }
  double low() const { return low_; }
  double high() const { return high_; }
  // The last build was incomplete.
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
  std::size_t slower = 0;  // the side that is slower or exhausted
  double factor = 1;       // ranked: its median over the other's
  std::string text, detail;
};
// Frames that both sides completed, and in how many of them a side took longer than the other.
struct PairedFrames {
  std::size_t all = 0, slower = 0;
};
PairedFrames paired_frames(const LiveTimes& side, const LiveTimes& other);
// A side is called slower if it took longer in at least nine of ten frames. Both build the same
// frame one after the other, first in turn, so a disturbance that lasts slows both.
LiveVerdict judge(const LiveSide& a, const LiveSide& b);

// "takes 3.2 times as long", "is 5% slower"
std::string slower_text(double factor);

// The smallest largest hole of a recorded build: the moment at which a large request is most likely
// to be refused.
std::uint64_t tightest_hole(const Recording& recording);

struct LiveView {
  LiveSide sides[2];
  HeapView heap;  // the recordings, played over and over
  std::uint64_t frames = 0, pool_bytes = 0;
  std::uint64_t compared = 0, different = 0;  // frames with both trees; those that differ
  bool frozen = false;
  std::string problem;       // why no frames are built
  bool moves = false;        // the scene
  std::uint64_t choice = 0;  // the latest one that has taken effect

  // The median time of one sample per pixel in the latest frames; 0: unknown. Both sides have the
  // same tree.
  double trace_ms() const;
  // The rate that follows from both builds and the time left to the picture; 0: unknown.
  double frames_per_second() const;

  void take(const LiveEvent& event);
  void clear() { *this = {}; }

 private:
  void show_recordings();
};

}  // namespace heapwood::viewer
