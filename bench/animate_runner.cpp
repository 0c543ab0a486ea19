// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "bench/animate_bench.hpp"
#include "bench/animate_view.hpp"
#include "bench/bench_runner.hpp"
#include "bench/interleaved_runner.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "bench/scene_bench.hpp"
#include "bench/stopwatch.hpp"
#include "kdtree/check/quality.hpp"

namespace heapwood::bench {

namespace {

// The scene cannot be read: the end of the measurement, not the failure of one allocator.
struct SceneFailure {
  Error error;
};

struct AnimateCandidate {
  const registry::RegisteredAllocator* entry;
  AnimateRow* row;
  bool warmed_up = false;
  unsigned next = 0;           // number of its next frame
  kdtree::KeptAllocator kept;  // with keep_pool
  simt::Memory pool;           // its own, with keep_pool

  bool running() const { return row->status == Status::ok || row->status == Status::incomplete; }
};

struct FrameTimes {
  double upload = 0, reset = 0, records = 0, primary = 0, shaded = 0, all = 0;
  kdtree::BuildRun build;
  bool has_allocated = false;  // arrays of the workspace or records: the frame does not count
};

void fail(AnimateRow& row, const std::string& reason) {
  row.status = Status::failed;
  row.reason = reason;
}

class Animation {
 public:
  Animation(const AnimateJob& job, const AnimateEvents& events, std::vector<AnimateRow>& rows);
  Animation(const Animation&) = delete;  // the callbacks refer to it
  Animation& operator=(const Animation&) = delete;

  void run();
  bool stopped() const { return runner_.stopped(); }
  // Sets the reasons of rows that are not complete.
  void finish(const std::optional<Error>& scene_error);

 private:
  static std::vector<AnimateCandidate> candidates_of(const AnimateJob& job,
                                                     std::vector<AnimateRow>& rows);
  std::vector<RunCandidate> run_candidates();
  bool keeps_pool() const { return job_.settings.keep_pool; }
  // Calls f with the candidate's own pool in the workspace, if it has one.
  template <class F>
  void with_pool(AnimateCandidate& candidate, F f);
  bool needs_view() const {
    return job_.settings.shaded || job_.settings.primary || job_.picture_spp > 0;
  }
  void prepare(unsigned number);
  void make_pools();
  void provide_memory(AnimateCandidate& candidate);
  const char* reason_not_to_run(const AnimateCandidate& candidate) const;
  void choose_view();
  void warm_up(AnimateCandidate& candidate);
  double measure(AnimateCandidate& candidate);
  FrameTimes frame(AnimateCandidate& candidate);
  void note_times(AnimateRow& row, const FrameTimes& times) const;
  void check_tree(AnimateRow& row, unsigned number, bool incomplete);
  void note_pool(AnimateCandidate& candidate, unsigned number);

  const AnimateJob& job_;
  const AnimateEvents& events_;
  std::vector<AnimateCandidate> candidates_;
  std::optional<AnimateScene> scene_;
  std::optional<AnimateView> view_;
  std::optional<unsigned> prepared_;  // number of the frame in scene_
  bool has_pools_ = false, has_provided_ = false;
  std::uint64_t min_triangles_ = ~std::uint64_t{0}, max_triangles_ = 0;
  // Of each frame's first complete tree, and its allocator; 0: none so far.
  std::vector<std::uint64_t> hashes_;
  std::vector<std::string> hash_of_;
  std::optional<unsigned> pictured_;  // number of the last frame with a picture
  std::size_t done_ = 0;
  InterleavedRunner runner_;
};

std::vector<AnimateCandidate> Animation::candidates_of(const AnimateJob& job,
                                                       std::vector<AnimateRow>& rows) {
  std::vector<AnimateCandidate> all;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].frame_ms.empty()) all.push_back({job.allocators[i], &rows[i], false, 0, {}, {}});
  }
  return all;
}

Animation::Animation(const AnimateJob& job, const AnimateEvents& events,
                     std::vector<AnimateRow>& rows)
    : job_(job),
      events_(events),
      candidates_(candidates_of(job, rows)),
      hashes_(job.settings.frames),
      hash_of_(job.settings.frames),
      runner_(run_candidates(), static_cast<int>(job.settings.frames), 0,
              [this](std::size_t i, const std::string& what) {
                const bool is_warm_up = what == "warm-up";
                if (events_.progress) {
                  events_.progress(
                      done_, candidates_.size() * (std::size_t{job_.settings.frames} + 1),
                      fmt::format(
                          "{}: {}, {}", candidates_[i].row->scene, candidates_[i].row->label,
                          is_warm_up ? what : fmt::format("frame {}", candidates_[i].next + 1)));
                }
                ++done_;
              }) {
  for (const AnimateRow& row : rows) {
    for (std::size_t i = 0; i < std::min(row.hashes.size(), hashes_.size()); ++i) {
      if (hashes_[i] != 0 || row.hashes[i] == 0) continue;
      hashes_[i] = row.hashes[i];
      hash_of_[i] = row.label;
    }
  }
}

std::vector<RunCandidate> Animation::run_candidates() {
  std::vector<RunCandidate> all;
  for (AnimateCandidate& candidate : candidates_) {
    RunCandidate one;
    one.warm_up = [this, &candidate]() -> std::optional<double> {
      candidate.warmed_up = true;
      warm_up(candidate);
      return std::nullopt;
    };
    one.run = [this, &candidate] { return measure(candidate); };
    one.running = [&candidate] { return !candidate.warmed_up || candidate.running(); };
    one.fail = [&candidate](const std::exception& error) {
      fail(*candidate.row, reason_text(error));
    };
    all.push_back(std::move(one));
  }
  return all;
}

void Animation::run() {
  if (candidates_.empty()) return;
  scene_.emplace(job_.scene, job_.device, job_.settings.build,
                 pool_needs(job_.sized_for.empty() ? job_.allocators : job_.sized_for));
  prepare(0);
  for (const std::string& text : scene_->mesh().notes) warning(text);
  runner_.warm_up();
  if (keeps_pool()) make_pools();
  runner_.measure();
}

template <class F>
void Animation::with_pool(AnimateCandidate& candidate, F f) {
  if (!has_pools_) return f();
  // Also if f throws.
  struct Exchange {
    kdtree::Workspace& workspace;
    simt::Memory& pool;
    Exchange(kdtree::Workspace& w, simt::Memory& p) : workspace(w), pool(p) { w.swap_pool(p); }
    ~Exchange() { workspace.swap_pool(pool); }
  };
  const Exchange exchange(scene_->workspace(), candidate.pool);
  f();
}

void Animation::prepare(unsigned number) {
  if (prepared_ == number) return;
  prepared_.reset();
  try {
    scene_->prepare(scene_frame(number, job_.settings.frames, scene_->frames()));
  } catch (const simt::Stopped&) {
    throw;
  } catch (const Error& error) {
    throw SceneFailure{error};
  }
  prepared_ = number;
  min_triangles_ = std::min<std::uint64_t>(min_triangles_, scene_->mesh().triangles.size());
  max_triangles_ = std::max<std::uint64_t>(max_triangles_, scene_->mesh().triangles.size());
}

// One pool per candidate, of the size that the warm-up found.
void Animation::make_pools() {
  const std::uint64_t bytes = scene_->pool_bytes();
  const auto count = static_cast<std::uint64_t>(
      std::count_if(candidates_.begin(), candidates_.end(),
                    [](const AnimateCandidate& one) { return one.running(); }));
  const std::uint64_t available = simt::device_available(job_.device.id);
  if (count * bytes > available / 10 * 9) {
    throw Error(Exit::failed,
                fmt::format("--keep-pool: {} pools of {} need more than the free {}; name fewer "
                            "--allocators, or a smaller --pool",
                            count, bytes_text(bytes), bytes_text(available)));
  }
  for (AnimateCandidate& candidate : candidates_) {
    if (candidate.running()) candidate.pool = simt::Memory(job_.device.id, bytes);
  }
  has_pools_ = true;
}

// Builds some frames of the whole motion, so that pool and arrays are large enough for all.
void Animation::provide_memory(AnimateCandidate& candidate) {
  const unsigned last = job_.settings.frames - 1;
  for (const unsigned number : {last, last / 4 * 3, last / 2, last / 4, 0u}) {
    prepare(number);
    scene_->upload();
    while (scene_->build(*candidate.entry).incomplete && scene_->enlarge_pool()) {
    }
  }
  has_provided_ = true;
}

const char* Animation::reason_not_to_run(const AnimateCandidate& candidate) const {
  const alloc::AllocatorTraits& traits = *candidate.entry->traits;
  const kdtree::RefKind refs = job_.settings.build.refs;
  const std::size_t all_refs =
      kdtree::Workspace::suggested_pool(scene_->mesh().triangles.size(), refs, false);
  if (const char* reason = cannot_build(*candidate.entry)) return reason;
  if (!candidate.entry->on(job_.device.id.kind)) return "not compiled for this device";
  if (scene_->pool_bytes() < traits.smallest_pool)
    return "the pool is smaller than this allocator needs";
  if (keeps_pool() && traits.lower_bound) return "never frees: its pool cannot be kept";
  if (!traits.keeps_live_memory && (keeps_pool() || scene_->pool_bytes() < all_refs)) {
    return "the pool is smaller than the sum of all requests; this allocator would overwrite live "
           "memory";
  }
  return nullptr;
}

void Animation::warm_up(AnimateCandidate& candidate) {
  AnimateRow& row = *candidate.row;
  prepare(0);
  if (const char* reason = reason_not_to_run(candidate)) {
    row.reason = reason;
    return;
  }
  if (!has_provided_) provide_memory(candidate);
  scene_->upload();
  bool is_complete = !scene_->build(*candidate.entry).incomplete;
  while (!is_complete && scene_->enlarge_pool())
    is_complete = !scene_->build(*candidate.entry).incomplete;
  // Rays of an incomplete tree are correct, but slow.
  choose_view();
  row.status = is_complete ? Status::ok : Status::incomplete;
  row.reason.clear();
  frame(candidate);
}

void Animation::choose_view() {
  if (view_ || !needs_view()) return;
  try {
    view_.emplace(*scene_, job_);
  } catch (const simt::Stopped&) {
    throw;
  } catch (const Error& error) {
    throw SceneFailure{error};  // of its camera, or its size
  }
}

FrameTimes Animation::frame(AnimateCandidate& candidate) {
  FrameTimes times;
  const AnimateSettings& settings = job_.settings;
  const std::size_t arrays = scene_->workspace().overhead_bytes();
  with_pool(candidate, [&] {
    const Stopwatch start;
    scene_->upload();
    times.upload = start.ms();
    const Stopwatch built;
    times.build = scene_->build(*candidate.entry, has_pools_ ? &candidate.kept : nullptr);
    times.reset = built.ms() - times.build.ms;
    if (settings.shaded || settings.primary) {
      times.has_allocated = !view_->fill_records(times.records);
      if (settings.shaded)
        times.shaded = view_->shade();
      else
        times.primary = view_->trace_primary();
    }
    times.all = start.ms();
  });
  if (settings.shaded && settings.primary) times.primary = view_->trace_primary();
  times.has_allocated |= scene_->workspace().overhead_bytes() != arrays;
  return times;
}

double Animation::measure(AnimateCandidate& candidate) {
  AnimateRow& row = *candidate.row;
  const unsigned number = candidate.next;
  prepare(number);
  FrameTimes times = frame(candidate);
  // The first attempt may have had to allocate.
  const auto is_repeated = [&] {
    return times.has_allocated ||
           (times.build.incomplete && !keeps_pool() && scene_->enlarge_pool());
  };
  while (is_repeated()) times = frame(candidate);
  ++candidate.next;
  if (times.build.incomplete) {
    row.status = Status::incomplete;
    if (row.incomplete_frames++ == 0) row.refused_bytes = times.build.failed_bytes;
  }
  note_times(row, times);
  row.pool_bytes = has_pools_ ? candidate.pool.bytes() : scene_->pool_bytes();
  check_tree(row, number, times.build.incomplete);
  note_pool(candidate, number);
  if (job_.picture_spp > 0 && events_.picture && pictured_ != number && candidate.running()) {
    // The records may be those of an earlier frame.
    double ignored = 0;
    view_->fill_records(ignored);
    events_.picture(number, view_->picture(job_.picture_spp));
    pictured_ = number;
  }
  return times.all;
}

void Animation::note_times(AnimateRow& row, const FrameTimes& times) const {
  row.upload_ms.push_back(times.upload);
  row.reset_ms.push_back(times.reset);
  row.build_ms.push_back(times.build.ms);
  const bool traces = job_.settings.primary || job_.settings.shaded;
  if (traces) row.records_ms.push_back(times.records);
  if (job_.settings.primary) row.primary_ms.push_back(times.primary);
  if (job_.settings.shaded) row.shaded_ms.push_back(times.shaded);
  row.frame_ms.push_back(times.all);
}

void Animation::check_tree(AnimateRow& row, unsigned number, bool incomplete) {
  const std::uint64_t hash =
      incomplete ? 0
                 : kdtree::measure(scene_->workspace().download(), job_.settings.build.costs).hash;
  row.hashes.push_back(hash);
  if (hash == 0) return;
  if (hashes_[number] == 0) {
    hashes_[number] = hash;
    hash_of_[number] = row.label;
  }
  if (hashes_[number] == hash) return;
  row.wrong_tree = true;
  fail(row, fmt::format("tree of frame {} differs from {}'s: hash {:016x} instead of {:016x}",
                        number, hash_of_[number], hash, hashes_[number]));
}

// The state of a kept pool after the first and the last frame and some between them.
void Animation::note_pool(AnimateCandidate& candidate, unsigned number) {
  constexpr unsigned samples = 8;
  const unsigned last = job_.settings.frames - 1;
  const unsigned step = std::max(1u, (last + samples - 2) / (samples - 1));
  if (!has_pools_ || (number % step != 0 && number != last) || !candidate.kept.regions) return;
  const std::vector<alloc::Region> regions = candidate.kept.regions();
  const std::vector<std::uint64_t> requested(regions.size());
  const alloc::Fragmentation state = alloc::fragmentation_by_region(regions, requested);
  if (state.measured) candidate.row->pools.push_back({number, state});
}

void Animation::finish(const std::optional<Error>& scene_error) {
  for (const AnimateCandidate& candidate : candidates_) {
    if (max_triangles_ == 0) break;
    AnimateRow& row = *candidate.row;
    row.scene_frames = scene_->frames();
    row.min_triangles = min_triangles_;
    row.max_triangles = max_triangles_;
    if (view_) row.camera = render::to_arguments(view_->camera(), scene_->mesh().origin);
  }
  for (const AnimateCandidate& candidate : candidates_) {
    AnimateRow& row = *candidate.row;
    const std::size_t done = row.frame_ms.size();
    const bool is_waiting = row.reason == interrupted_reason;  // for its warm-up
    if (scene_error && (candidate.running() || is_waiting)) fail(row, scene_error->what());
    if (!candidate.running()) continue;
    if (done == 0) {
      row.status = Status::skipped;
      row.reason = interrupted_reason;
    } else if (row.incomplete_frames > 0) {
      row.status = Status::incomplete;
      row.reason = fmt::format("pool of {} exhausted in {} of {} frames: first by a request of {}",
                               bytes_text(row.pool_bytes), row.incomplete_frames, done,
                               bytes_text(row.refused_bytes));
    } else if (done < job_.settings.frames) {
      row.reason = fmt::format("interrupted after {} of {} frames", done, job_.settings.frames);
    }
  }
}

const AnimateRow* find_kept(const AnimateJob& job, const registry::RegisteredAllocator* entry) {
  for (const AnimateRow& row : job.kept) {
    if (row.allocator == entry->traits->id) return &row;
  }
  return nullptr;
}

}  // namespace

unsigned scene_frame(unsigned number, unsigned measured, unsigned scene_frames) {
  if (measured >= scene_frames) return number % scene_frames;
  return static_cast<unsigned>(std::uint64_t{number} * scene_frames / measured);
}

AnimateRow animate_row_head(const AnimateJob& job) {
  AnimateRow row;
  row.source = job.scene;
  row.digest = scenes::moving_digest(job.scene);
  row.scene = scenes::moving_label(job.scene);
  row.settings = job.settings;
  row.reason = interrupted_reason;
  return row;
}

AnimateResult run_animation(const AnimateJob& job, const AnimateEvents& events) {
  AnimateResult result;
  const AnimateRow head = animate_row_head(job);
  for (const registry::RegisteredAllocator* entry : job.allocators) {
    const AnimateRow* kept = find_kept(job, entry);
    result.rows.push_back(kept ? *kept : head);
    AnimateRow& row = result.rows.back();
    row.allocator = entry->traits->id;
    row.label = entry->traits->label;
    row.frees = entry->traits->frees;
    row.lower_bound = entry->traits->lower_bound;
  }
  Animation animation(job, events, result.rows);
  try {
    animation.run();
  } catch (const SceneFailure& failure) {
    result.scene_error = failure.error;
  } catch (const simt::Stopped& stop) {
    if (stop.reason() != simt::Stopped::Reason::interrupted) throw;
    result.interrupted = true;  // while the scene was read
  }
  animation.finish(result.scene_error);
  result.interrupted |= animation.stopped();
  return result;
}

}  // namespace heapwood::bench
