// SPDX-License-Identifier: MIT
#include "viewer/jobs.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/prepared_scene.hpp"
#include "bench/program/messages.hpp"
#include "viewer/comparison.hpp"

namespace heapwood::viewer {

namespace {

// Space for events, 16 bytes each. A triangle takes about ten (three arrays allocated and freed,
// and nodes), more where many triangles overlap.
constexpr std::size_t events_per_triangle = 32, max_events = std::size_t{48} << 20;

}  // namespace

// Linux has a nice value per thread. A failure only makes the window less smooth.
void lower_priority(int nice) {
  if (window_is_watched) setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), nice);
}

double cpu_seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Jobs::Jobs(std::function<void(bool)> hold_picture)
    : hold_picture_(std::move(hold_picture)), thread_([this] { work(); }) {}

Jobs::~Jobs() {
  cancel();
  live_.stop();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    simt::interrupt();
  }
  changed_.notify_all();
  thread_.join();
  simt::clear_interrupt();
}

bool Jobs::start(const JobSpec& spec) {
  {
    const std::lock_guard lock(mutex_);
    const bool live = progress_.kind == JobSpec::Kind::live;
    if (progress_.running && !live) return false;
    next_ = spec;
    live_.stop();
    const std::string& what = spec.has_scene() ? spec.source : spec.trace;
    progress_ = {.running = true, .kind = spec.kind, .what = what + ": loading"};
    started_ = simt::HostClock::now();
  }
  changed_.notify_all();
  return true;
}

void Jobs::cancel() {
  const std::lock_guard lock(mutex_);
  if (!progress_.running || progress_.cancelling || progress_.kind == JobSpec::Kind::live) return;
  if (next_) {  // a live job must end its build first
    outcomes_.push_back({.spec = *next_, .cancelled = true, .ended = true});
    next_.reset();
    progress_ = {};
    return;
  }
  progress_.cancelling = true;
  simt::interrupt();  // the job clears the flag when it ends
}

JobProgress Jobs::progress() const {
  const std::lock_guard lock(mutex_);
  JobProgress copy = progress_;
  if (copy.kind == JobSpec::Kind::live) return {};
  if (copy.running) copy.seconds = simt::seconds_since(started_);
  return copy;
}

bool Jobs::is_live() const {
  const std::lock_guard lock(mutex_);
  return progress_.running && progress_.kind == JobSpec::Kind::live;
}

std::optional<JobOutcome> Jobs::take() {
  const std::lock_guard lock(mutex_);
  if (outcomes_.empty()) return std::nullopt;
  JobOutcome first = std::move(outcomes_.front());
  outcomes_.pop_front();
  return first;
}

bool Jobs::is_idle() const {
  const std::lock_guard lock(mutex_);
  const bool running = progress_.running && progress_.kind != JobSpec::Kind::live;
  return !running && outcomes_.empty();
}

void Jobs::work() {
  lower_priority(nice_build);
  for (;;) {
    JobSpec spec;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || next_; });
      if (stop_) return;
      spec = *next_;
      next_.reset();
      live_.begin();
    }
    run(spec);
  }
}

void Jobs::run(const JobSpec& spec) {
  JobOutcome outcome{.spec = spec};
  try {
    if (spec.kind == JobSpec::Kind::live) {
      run_live(spec);
    } else if (!spec.has_scene()) {
      record_trace(spec, outcome);
    } else if (spec.kind == JobSpec::Kind::record) {
      record(spec, outcome);
    } else {
      measure(spec, outcome);
    }
  } catch (const simt::Stopped& stop) {
    outcome.cancelled = stop.reason() == simt::Stopped::Reason::interrupted;
    if (!outcome.cancelled) outcome.error = stop.what();
  } catch (const Error& error) {
    outcome.error = error.what();
    outcome.exit = error.exit();
  } catch (const std::exception& error) {
    outcome.error = bench::error_text(error);
  }
  outcome.ended = true;
  const std::lock_guard lock(mutex_);
  outcome.cancelled = outcome.cancelled || progress_.cancelling;
  simt::clear_interrupt();
  if (!next_) progress_ = {};  // unless the next job has begun already
  outcomes_.push_back(std::move(outcome));
}

void Jobs::measure(const JobSpec& spec, JobOutcome& outcome) {
  bench::BenchJob job;
  job.scenes = {spec.source};
  job.allocators = spec.allocators;
  job.settings = spec.settings;
  job.device = spec.device;
  // All allocators get the pool that AtomicMalloc needs, as in `heapwood bench`.
  if (spec.kind != JobSpec::Kind::build) job.pool_probe = registry::find("atomic");
  bool shown = false;
  ComparisonHooks hooks;
  hooks.progress = [this](std::size_t done, std::size_t total, const std::string& what) {
    report_progress(done, total, what);
  };
  hooks.partial = [&](std::vector<bench::Result> results) {
    if (spec.kind != JobSpec::Kind::build) publish({.spec = spec, .results = std::move(results)});
  };
  hooks.tree_built = [&](bench::PreparedScene& prepared, bench::Result& result) {
    if (shown || simt::interrupted()) return;
    shown = true;  // all allocators build the same tree
    scenes::Mesh mesh = prepared.mesh();
    add_appearance(mesh, spec.source);
    publish({.spec = spec,
             .scene = make_built_scene(spec.source, prepared.name(), std::move(mesh),
                                       prepared.workspace().download(), spec.device,
                                       result.allocator, spec.up)});
  };
  bench::BenchResult bench = compare_builds(job, hooks);
  if (bench.scene_error) throw *bench.scene_error;
  outcome.results = std::move(bench.results);
  outcome.cancelled = bench.interrupted;
}

void Jobs::run_live(const JobSpec& spec) {
  const LiveHooks hooks{[this](bool held) {
                          if (hold_picture_) hold_picture_(held);
                        },
                        [&](std::shared_ptr<const BuiltScene> scene) {
                          publish({.spec = spec, .scene = std::move(scene)});
                        }};
  viewer::run_live(spec, live_, hooks);
}

void Jobs::record(const JobSpec& spec, JobOutcome& outcome) {
  const std::size_t total = spec.allocators.size() + 1;
  report_progress(0, total, spec.source + ": loading");
  bench::PreparedScene prepared(spec.source, spec.device, spec.settings,
                                bench::pool_needs(spec.allocators));
  report_progress(1, total, prepared.name() + ": finding the pool size");
  // All allocators have one pool size, which suffices for each, so that their maps can be compared.
  for (const registry::RegisteredAllocator* entry : spec.allocators) {
    kdtree::BuildRun run = prepared.build_growing(*entry);
    for (int i = 0; run.incomplete && spec.pool_grows && i < 6; ++i) {
      prepared.set_pool(2 * prepared.pool_bytes());
      run = prepared.build(*entry);
    }
  }
  const std::size_t capacity =
      std::min(max_events, prepared.triangles() * events_per_triangle + 65536);
  std::size_t done = 1;
  for (const registry::RegisteredAllocator* entry : spec.allocators) {
    report_progress(done++, total, prepared.name() + ": " + entry->traits->label + ", recording");
    const kdtree::RecordedRun run = prepared.build_recorded(*entry, capacity);
    outcome.recordings.push_back(std::make_shared<const Recording>(
        prepared.name(), *entry, spec.device.key, prepared.pool_bytes(), run));
  }
}

void Jobs::record_trace(const JobSpec& spec, JobOutcome& outcome) {
  report_progress(0, spec.allocators.size(), spec.trace + ": reading");
  const TraceRecorder recorder(spec.trace, spec.settings.pool, spec.allocators, spec.device,
                               spec.settings.timeout);
  outcome.warning = recorder.warning();
  std::size_t done = 0;
  for (const registry::RegisteredAllocator* entry : spec.allocators) {
    report_progress(done++, spec.allocators.size(), recorder.name() + ": " + entry->traits->label);
    outcome.recordings.push_back(recorder.record(*entry));
    const Recording& recording = *outcome.recordings.back();
    if (recording.requests.failures > 0)
      outcome.warning += fmt::format("{}{}: pool of {} exhausted: {} requests refused",
                                     outcome.warning.empty() ? "" : "; ", recording.label,
                                     bench::size_text(recording.pool_bytes),
                                     bench::count_text(recording.requests.failures));
  }
}

void Jobs::report_progress(std::size_t done, std::size_t total, const std::string& what) {
  const std::lock_guard lock(mutex_);
  progress_.done = done;
  progress_.total = total;
  progress_.what = what;
}

void Jobs::publish(JobOutcome outcome) {
  const std::lock_guard lock(mutex_);
  outcomes_.push_back(std::move(outcome));
}

}  // namespace heapwood::viewer
