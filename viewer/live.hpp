// SPDX-License-Identifier: MIT
// The Live tab: two allocators race. Each side has an animation of its own, or builds a still scene
// again and again; its clock shows the time of its builds and rays. The side whose clock is behind
// makes its next frame. If both are kept in step, they make each frame in turn, A first in even
// ones and B first in odd ones, so that drift affects both alike.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "viewer/picture.hpp"
#include "viewer/recording.hpp"

namespace heapwood::viewer {

// LiveView is the state of the tab: the job sends events; the view keeps the latest times and
// determines which side is slower.

// One build of one frame.
struct LiveSample {
  std::uint64_t frame = 0;  // of the side's animation; of a still scene the number of builds before
  double ms = 0;
  std::uint64_t hash = 0;  // hash of the tree's structure; 0: not computed
  bool complete = true;
  std::uint64_t refused_bytes = 0;  // size of the first refused request, if the tree is incomplete
  double seconds = 0;               // time at which it was made
  double trace_ms = 0;              // of the rays of this side's picture
  double other_ms = 0;              // time of this side's turn besides build and rays
  double cpu_share = 1;             // processor time / (time of the build * threads); 1 on a GPU
};

struct LiveEvent {
  enum class Kind { sample, recording, restarted };
  Kind kind = Kind::sample;
  unsigned side = 0;  // 0 is A, 1 is B; 2: AtomicMalloc, with which a frame in eight is built
  LiveSample sample{};
  std::shared_ptr<const Recording> recording{};  // recording of a frame of this side
  // Set if this side was restarted and its first sample follows.
  const registry::RegisteredAllocator* allocator = nullptr;
  std::uint64_t pool_bytes = 0;
  std::uint64_t period = 0;  // frames of the animation; 0: the scene does not move
  std::uint64_t choice = 0;  // number of the user's choice that this event reflects
};

// Times of one side over the latest frames.
class LiveTimes {
 public:
  static constexpr std::size_t window = 120, min_to_rank = 12;

  LiveTimes() = default;
  explicit LiveTimes(std::uint64_t period) : period_(period) {}
  void add(const LiveSample& sample);
  const std::deque<LiveSample>& samples() const { return samples_; }
  // The latest complete build of each frame of the animation, or of the last 120 frames of a still
  // scene. Builds of two sides with one key have the same mesh.
  const std::map<std::uint64_t, LiveSample>& latest() const { return latest_; }
  const LiveSample* latest_like(const LiveSample& sample) const;
  // The median of the frames in the window, and their range without fastest and slowest tenth.
  double median() const { return median_; }
  double low() const { return low_; }
  double high() const { return high_; }
  double median_of(double LiveSample::*figure) const;  // of the samples that have one
  // Whether the last build was incomplete.
  bool exhausted() const { return !samples_.empty() && !samples_.back().complete; }

 private:
  std::uint64_t period_ = window;
  std::deque<LiveSample> samples_;
  std::map<std::uint64_t, LiveSample> latest_;
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
  double factor = 1;       // median of its time / the other side's time for the same mesh
  // Medians over the frames that both sides completed, and what of that allocation takes; 0:
  // unknown, -1: unknown.
  double ms[2] = {}, allocation_ms[2] = {-1, -1};
  std::string text, detail;
};
// The frames that both sides completed: in how many a side took longer; medians over them.
struct PairedFrames {
  std::size_t all = 0, slower = 0;
  double ms = 0, other_ms = 0, ratio = 1, difference_ms = 0;
};
PairedFrames paired_frames(const LiveTimes& side, const LiveTimes& other);
// Compares the sides by the frames that both completed. A side is called slower if it took longer
// in at least nine of ten. `reference`: AtomicMalloc's times; the difference is what allocation
// costs.
LiveVerdict judge(const LiveSide& a, const LiveSide& b, const LiveTimes& reference = LiveTimes());

// Returns "takes 3.2 times as long" or "is 5% slower".
std::string slower_text(double factor);

struct LiveView {
  LiveSide sides[2];
  LiveTimes reference;  // of AtomicMalloc
  HeapView heap;        // the recordings, which are played repeatedly
  std::uint64_t frames = 0, pool_bytes = 0;
  // Frames of which both trees were hashed; those whose trees differ.
  std::uint64_t compared = 0, different = 0;
  bool frozen = false, in_step = false;
  std::string problem;       // the reason why no frames are built
  bool moves = false;        // whether the scene moves
  std::uint64_t choice = 0;  // number of the latest choice that has taken effect

  // Frames per second of a side, or of the faster side; 0: unknown.
  double frames_per_second(std::size_t side) const;
  double frames_per_second() const { return std::max(frames_per_second(0), frames_per_second(1)); }
  // Medians of a frame's parts in milliseconds: builds of A and B, rays, everything else.
  std::array<double, 4> parts() const;
  // How many times as long builds on CPU threads take as they would on an idle computer; 1: not
  // known to be more.
  double slowed_by_others() const;

  void take(const LiveEvent& event);
  void clear() {
    const bool kept_in_step = in_step;
    *this = {};
    in_step = kept_in_step;
  }

 private:
  void show_recordings();
};

// Sides A and B, which the user may change while frames are built.
using LiveAllocators = std::array<const registry::RegisteredAllocator*, 2>;

// What the user wants the next frame to be.
struct LiveWish {
  LiveAllocators allocators{};
  bool frozen = false, in_step = false;
  View view;  // of each half of the picture
  std::uint64_t view_number = 0;
};

// What the window and the job exchange. Every function may be called from any thread.
class LiveLink {
 public:
  // Called by the window.
  void choose(const LiveAllocators& allocators);
  void freeze(bool frozen) { set(wish_.frozen, frozen); }
  void keep_in_step(bool in_step) { set(wish_.in_step, in_step); }
  // The job traces the pictures of both halves itself, between builds.
  void show(const View& view);
  void upload(unsigned side, gl::Texture& texture) { pixels_[side].upload(texture); }
  bool has_refined_view() const;  // the pictures of a frozen frame are complete
  void stop() { set(stop_, true); }
  std::vector<LiveEvent> take();
  // If builds and OpenGL use the same cores, builds and the window take turns, so that neither
  // slows the other. begin_drawing() waits at most `seconds` for a build to end, and returns
  // whether it did. Then no build starts until end_drawing(), or for at most max_drawing_seconds.
  bool begin_drawing(double seconds);
  void end_drawing() { set(drawing_, false); }
  // The number of the latest choice. Events that reflect an earlier one may still arrive.
  std::uint64_t choice() const;

  // Called by the job.
  void begin();
  // Waits while the window is frozen, unless its view is not that of this number or `refines`.
  // nullopt: the job ends.
  std::optional<LiveWish> next_frame(std::uint64_t view_number = 0, bool refines = false);
  PixelExchange& pixels(unsigned side) { return pixels_[side]; }
  void set_refined(std::uint64_t view_number) {
    const std::lock_guard lock(mutex_);
    refined_view_ = view_number;
  }
  void publish(LiveEvent event);
  void wait(double seconds);  // ends early if the job is to end
  void begin_build();
  void end_build() { set(building_, false); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  LiveWish wish_;
  PixelExchange pixels_[2];
  // Number of the latest choice, and of the present frame's.
  std::uint64_t choice_ = 0, taken_choice_ = 0, refined_view_ = 0;
  bool stop_ = false;
  bool building_ = false, drawing_ = false;  // drawing_: the window draws or is about to
  static constexpr double max_drawing_seconds = 0.1;
  void set(bool& member, bool value) {
    const std::lock_guard lock(mutex_);
    member = value;
    changed_.notify_all();
  }

  std::vector<LiveEvent> events_;
};

struct LiveHooks {
  std::function<void(bool)> hold_picture;  // the window's picture, while frames are built
  // Shows the scene with its tree: once, and a moving one whenever it is frozen.
  std::function<void(std::shared_ptr<const BuiltScene>)> show;
};

// Runs until the link is stopped. Throws what builds throw.
struct JobSpec;
void run_live(const JobSpec& spec, LiveLink& link, const LiveHooks& hooks);

// Whether a source is a moving scene (scenes/moving/). May read files.
bool is_moving(const std::string& source);

}  // namespace heapwood::viewer
