// SPDX-License-Identifier: MIT
#include "bench/animate_bench.hpp"

#include <algorithm>

#include "bench/bench_runner.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "kdtree/check/quality.hpp"
#include "scenes/file.hpp"
#include "simt/clock.hpp"

namespace heapwood::bench {

namespace {

// Thrown if the scene cannot be read: ends the measurement, not only that of one allocator.
struct SceneFailure {
  Error error;
};

struct FrameTimes {
  double upload = 0, reset = 0, records = 0, primary = 0, shaded = 0, all = 0;
  kdtree::BuildRun build;
  // Arrays of the workspace or records had to grow, so the frame does not count.
  bool has_allocated = false;
};

// Reports each frame and each warm-up of all candidates as a step.
RowBench::Step frame_steps(const AnimateJob& job, const AnimateEvents& events,
                           std::size_t candidates) {
  return
      [scene = scenes::moving_label(job.scene),
       step = counted_steps(events.on_step, candidates * (std::size_t{job.settings.frames} + 1))](
          const std::string& what) { step(scene + ": " + what); };
}

class Animation : public RowBench {
 public:
  Animation(const AnimateJob& job, const AnimateEvents& events, const std::vector<AnimateRow>& rows,
            std::vector<Candidate> candidates)
      : RowBench(candidates, static_cast<int>(job.settings.frames), 0,
                 frame_steps(job, events, candidates.size()), "frame"),
        job_(job),
        events_(events),
        states_(candidates.size()),
        hashes_(job.settings.frames),
        hash_of_(job.settings.frames) {
    for (const AnimateRow& row : rows) {
      for (std::size_t i = 0; i < std::min(row.hashes.size(), hashes_.size()); ++i) {
        if (hashes_[i] != 0 || row.hashes[i] == 0) continue;
        hashes_[i] = row.hashes[i];
        hash_of_[i] = row.label;
      }
    }
  }

  void run_all() {
    if (candidates_.empty()) return;
    scene_.emplace(job_.scene, job_.device, job_.settings.build,
                   pool_needs(job_.sized_for.empty() ? job_.allocators : job_.sized_for));
    prepare(0);
    for (const std::string& text : scene_->mesh().notes) warning(text);
    warm_up_all();
    if (keeps_pool()) make_pools();
    measure();
  }

  // Sets the reasons of rows that are not complete.
  void finish_rows(const std::optional<Error>& scene_error) {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      AnimateRow& row = this->row(i);
      if (max_triangles_ != 0) {
        row.scene_frames = scene_->frames();
        row.min_triangles = min_triangles_;
        row.max_triangles = max_triangles_;
        if (view_) row.camera = render::to_arguments(view_->camera(), scene_->mesh().origin);
      }
      if (scene_error && candidates_[i].running) fail(i, scene_error->what());
    }
    finish();
  }

 private:
  struct State {                 // of a candidate
    unsigned next = 0;           // number of its next frame
    kdtree::KeptAllocator kept;  // with keep_pool
    simt::Memory pool;           // with keep_pool: the candidate's own pool
  };

  AnimateRow& row(std::size_t i) const { return static_cast<AnimateRow&>(*candidates_[i].row); }
  const Allocator& entry(std::size_t i) const { return *candidates_[i].entry; }
  bool keeps_pool() const { return job_.settings.keep_pool; }
  bool needs_view() const {
    return job_.settings.shaded || job_.settings.primary || job_.picture_spp > 0;
  }

  // Calls f with the candidate's own pool, if any, in the workspace; exchanges them back, also on a
  // throw.
  template <class F>
  void with_pool(std::size_t i, F f) {
    if (!has_pools_) return f();
    struct Exchange {
      kdtree::Workspace& workspace;
      simt::Memory& pool;
      Exchange(kdtree::Workspace& w, simt::Memory& p) : workspace(w), pool(p) { w.swap_pool(p); }
      ~Exchange() { workspace.swap_pool(pool); }
    };
    const Exchange exchange(scene_->workspace(), states_[i].pool);
    f();
  }

  void prepare(unsigned number) {
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

  // Makes a pool per candidate, of the size that the warm-up found.
  void make_pools() {
    const std::uint64_t bytes = scene_->pool_bytes();
    const auto count =
        static_cast<std::uint64_t>(std::ranges::count_if(candidates_, &Candidate::running));
    const std::uint64_t available = simt::device_available(job_.device.id);
    if (count * bytes > available / 10 * 9) {
      throw_error(Exit::failed,
                  "--keep-pool: {} pools of {} need more than the free {}; name fewer "
                  "--allocators, or a smaller --pool",
                  count, bytes_text(bytes), bytes_text(available));
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].running) states_[i].pool = simt::Memory(job_.device.id, bytes);
    }
    has_pools_ = true;
  }

  // Builds some frames from the whole motion, so that pool and arrays are large enough for all.
  void provide_memory(const Allocator& entry) {
    const unsigned last = job_.settings.frames - 1;
    for (const unsigned number : {last, last / 4 * 3, last / 2, last / 4, 0u}) {
      prepare(number);
      scene_->upload();
      while (scene_->build(entry).incomplete && scene_->enlarge_pool()) {
      }
    }
    has_provided_ = true;
  }

  std::string reason_to_skip(const Allocator& entry) const {
    const alloc::AllocatorTraits& traits = *entry.traits;
    if (const char* reason = cannot_build(entry)) return reason;
    const std::string reason = reason_not_to_run(entry, job_.device, scene_->pool_bytes());
    if (!reason.empty()) return reason;
    if (keeps_pool() && traits.lower_bound) return "never frees: its pool cannot be kept";
    const std::size_t all_refs = kdtree::Workspace::suggested_pool(scene_->mesh().triangles.size(),
                                                                   job_.settings.build.refs, false);
    if (!traits.keeps_live_memory && (keeps_pool() || scene_->pool_bytes() < all_refs)) {
      return would_overwrite;
    }
    return "";
  }

  std::optional<double> warm_up(std::size_t i) override {
    prepare(0);
    if (const std::string reason = reason_to_skip(entry(i)); !reason.empty()) {
      skip(i, reason);
      return {};
    }
    if (!has_provided_) provide_memory(entry(i));
    scene_->upload();
    bool is_complete = !scene_->build(entry(i)).incomplete;
    while (!is_complete && scene_->enlarge_pool())
      is_complete = !scene_->build(entry(i)).incomplete;
    // The camera is chosen even if the tree is incomplete: its rays are correct, but slow.
    choose_view();
    row(i).status = is_complete ? Status::ok : Status::incomplete;
    row(i).reason.clear();
    frame(i);
    return {};
  }

  void choose_view() {
    if (view_ || !needs_view()) return;
    try {
      view_.emplace(*scene_, job_);
    } catch (const simt::Stopped&) {
      throw;
    } catch (const Error& error) {
      throw SceneFailure{error};  // the scene's camera or size is at fault
    }
  }

  FrameTimes frame(std::size_t i) {
    FrameTimes times;
    const AnimateSettings& settings = job_.settings;
    const std::size_t arrays = scene_->workspace().overhead_bytes();
    with_pool(i, [&] {
      const auto start = simt::HostClock::now();
      scene_->upload();
      times.upload = 1e3 * simt::seconds_since(start);
      const auto built = simt::HostClock::now();
      times.build = scene_->build(entry(i), has_pools_ ? &states_[i].kept : nullptr);
      times.reset = 1e3 * simt::seconds_since(built) - times.build.ms;
      if (settings.shaded || settings.primary) {
        times.has_allocated = !view_->fill_records(times.records);
        if (settings.shaded)
          times.shaded = view_->shade();
        else
          times.primary = view_->trace_primary();
      }
      times.all = 1e3 * simt::seconds_since(start);
    });
    if (settings.shaded && settings.primary) times.primary = view_->trace_primary();
    times.has_allocated |= scene_->workspace().overhead_bytes() != arrays;
    return times;
  }

  std::optional<double> run(std::size_t i) override {
    AnimateRow& row = this->row(i);
    const unsigned number = states_[i].next;
    prepare(number);
    FrameTimes times = frame(i);
    // Measures a frame again if the first attempt had to allocate.
    const auto is_repeated = [&] {
      return times.has_allocated ||
             (times.build.incomplete && !keeps_pool() && scene_->enlarge_pool());
    };
    while (is_repeated()) times = frame(i);
    ++states_[i].next;
    if (times.build.incomplete) {
      row.status = Status::incomplete;
      if (row.incomplete_frames++ == 0) row.refused_bytes = times.build.failed_bytes;
    }
    note_times(row, times);
    row.pool_bytes = has_pools_ ? states_[i].pool.bytes() : scene_->pool_bytes();
    check_tree(i, number, times.build.incomplete);
    note_pool(i, number);
    if (candidates_[i].running) take_picture(number);
    return {};
  }

  void take_picture(unsigned number) {
    if (job_.picture_spp == 0 || !events_.picture || pictured_ == number) return;
    events_.picture(number, view_->picture(job_.picture_spp));
    pictured_ = number;
  }

  void note_times(AnimateRow& row, const FrameTimes& times) const {
    row.upload_ms.push_back(times.upload);
    row.reset_ms.push_back(times.reset);
    row.build_ms.push_back(times.build.ms);
    const bool traces = job_.settings.primary || job_.settings.shaded;
    if (traces) row.records_ms.push_back(times.records);
    if (job_.settings.primary) row.primary_ms.push_back(times.primary);
    if (job_.settings.shaded) row.shaded_ms.push_back(times.shaded);
    row.frame_ms.push_back(times.all);
  }

  void check_tree(std::size_t i, unsigned number, bool incomplete) {
    AnimateRow& row = this->row(i);
    const std::uint64_t hash =
        incomplete
            ? 0
            : kdtree::measure(scene_->workspace().download(), job_.settings.build.costs).hash;
    row.hashes.push_back(hash);
    if (hash == 0) return;
    if (hashes_[number] == 0) {
      hashes_[number] = hash;
      hash_of_[number] = row.label;
    }
    if (hashes_[number] == hash) return;
    row.wrong_tree = true;
    fail(i, fmt::format("tree of frame {} differs from {}'s: hash {:016x} instead of {:016x}",
                        number, hash_of_[number], hash, hashes_[number]));
  }

  // Records the state of a kept pool after the first frame, the last one and some in between.
  void note_pool(std::size_t i, unsigned number) {
    constexpr unsigned samples = 8;
    const unsigned last = job_.settings.frames - 1;
    const unsigned step = std::max(1u, (last + samples - 2) / (samples - 1));
    if (!has_pools_ || (number % step != 0 && number != last) || !states_[i].kept.regions) return;
    const std::vector<alloc::Region> regions = states_[i].kept.regions();
    const std::vector<std::uint64_t> requested(regions.size());
    const alloc::Fragmentation state = alloc::fragmentation_by_region(regions, requested);
    if (state.measured) row(i).pools.push_back({number, state});
  }

  void judge(std::size_t i) override {
    AnimateRow& row = this->row(i);
    const std::size_t done = row.frame_ms.size();
    if (done == 0) {
      row.status = Status::skipped;
      row.reason = interrupted_reason;
    } else if (row.incomplete_frames > 0) {
      row.status = Status::incomplete;
      row.reason = fmt::format("pool of {} exhausted in {} of {} frames: first by a request of {}",
                               bytes_text(row.pool_bytes), row.incomplete_frames, done,
                               bytes_text(row.refused_bytes));
    } else {
      row.reason = reason_of_few_runs(i, done);
    }
  }

  const AnimateJob& job_;
  const AnimateEvents& events_;
  std::vector<State> states_;
  std::optional<AnimateScene> scene_;
  std::optional<AnimateView> view_;
  std::optional<unsigned> prepared_;  // number of the frame in scene_
  bool has_pools_ = false, has_provided_ = false;
  std::uint64_t min_triangles_ = ~std::uint64_t{0}, max_triangles_ = 0;
  // By frame: the hash of the first complete tree (0: none yet), and its allocator.
  std::vector<std::uint64_t> hashes_;
  std::vector<std::string> hash_of_;
  std::optional<unsigned> pictured_;  // number of the last frame with a picture
};

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
  result.rows.assign(job.allocators.size(), animate_row_head(job));
  for (std::size_t i = 0; i < result.rows.size(); ++i)
    result.rows[i].set_allocator(*job.allocators[i]->traits);
  Animation animation(job, events, result.rows,
                      candidates_for(result.rows, job.allocators, job.kept,
                                     [](const AnimateRow& earlier, const AnimateRow& row) {
                                       return earlier.allocator == row.allocator;
                                     }));
  try {
    animation.run_all();
  } catch (const SceneFailure& failure) {
    result.scene_error = failure.error;
  } catch (const simt::Stopped& stop) {
    if (stop.reason() != simt::Stopped::Reason::interrupted) throw;
    result.interrupted = true;  // while the scene was read
  }
  animation.finish_rows(result.scene_error);
  result.interrupted |= animation.stopped();
  return result;
}

Json to_json(const AnimateSettings& settings) {
  Json json = to_json(settings.build);
  json.erase("runs");
  json["frames"] = settings.frames;
  json["keep_pool"] = settings.keep_pool;
  json["trace"] = Json::array();
  if (settings.primary) json["trace"].push_back("primary");
  if (settings.shaded) json["trace"].push_back("shaded");
  json["watertight"] = settings.watertight;
  json["width"] = settings.size.width;
  json["height"] = settings.size.height;
  if (!settings.camera.camera.empty()) json["camera"] = scenes::utf8_text(settings.camera.camera);
  if (!settings.camera.up.empty()) json["up"] = settings.camera.up;
  return json;
}

void describe(JsonFields& fields, PoolAfterFrame& pool) {
  pool.state.measured = true;
  fields("frame", pool.frame);
  fields("used_bytes", pool.state.used_bytes);
  fields("free_bytes", pool.state.free_bytes);
  fields("largest_free_bytes", pool.state.largest_free_bytes);
  fields("metadata_bytes", pool.state.metadata_bytes);
  fields.finite("external_fragmentation_merged", pool.state.external_merged);
}

void describe(JsonFields& fields, AnimateRow& row) {
  fields("scene", row.scene);
  row.source = scenes::utf8_text(row.source);
  fields("source", row.source);
  fields("digest", row.digest);
  fields("scene_frames", row.scene_frames);
  fields("min_triangles", row.min_triangles);
  fields("max_triangles", row.max_triangles);
  fields("camera", row.camera);
  describe_allocator(fields, row);
  fields.derived("settings", to_json(row.settings));
  describe_outcome(fields, row);
  fields.unless_empty("wrong_tree", row.wrong_tree);
  fields("pool_bytes", row.pool_bytes);
  for (const AnimateSamples& one : animate_samples) {
    std::vector<double>& ms = row.*one.ms;
    const std::string key = one.key;
    fields.unless_empty((key + "_ms").c_str(), ms);
    fields.derived((key + "_median_ms").c_str(), median(ms));
    fields.derived((key + "_p99_ms").c_str(), quantile(ms, 0.99));
  }
  fields.derived("frames_per_second", row.frames_per_second());
  fields.unless_empty("incomplete_frames", row.incomplete_frames);
  if (row.incomplete_frames > 0) fields("first_refused_bytes", row.refused_bytes);
  if (fields.has("pool_after_frames", !row.pools.empty()))
    fields.list("pool_after_frames", row.pools);
  fields.hashes("tree_hashes", row.hashes);
}

Earlier<AnimateRow> read_animations(const std::string& path, const simt::DeviceInfo& device,
                                    const AnimateRow& head) {
  Earlier<AnimateRow> earlier = read_earlier_rows<AnimateRow>(
      path, device, animate_schema, head.settings, [&](const AnimateRow& row) {
        return row.source == scenes::utf8_text(head.source) && row.digest == head.digest &&
               row.frame_ms.size() == head.settings.frames &&
               row.hashes.size() == head.settings.frames;
      });
  for (AnimateRow& row : earlier.kept) row.source = head.source;
  return earlier;
}

}  // namespace heapwood::bench
