// SPDX-License-Identifier: MIT
// Background builds: one thread runs one job at a time; the window polls its progress and takes its
// outcomes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/bench_runner.hpp"
#include "viewer/built_scene.hpp"
#include "viewer/live_loop.hpp"
#include "viewer/recording.hpp"

namespace heapwood::viewer {

// Priorities of background threads, below the window's so that it stays smooth. Builds, which are
// timed, come before rays.
inline constexpr int nice_build = 5, nice_picture = 10;
// Cleared before the first thread starts in unattended runs, which keep their priority.
inline bool window_is_watched = true;
void lower_priority(int nice);  // of the calling thread

struct JobSpec {
  enum class Kind { build, compare, record, live };
  Kind kind = Kind::build;
  std::string source;
  std::optional<unsigned> up;  // axis; the scene's own if there is none
  std::vector<const registry::RegisteredAllocator*> allocators;
  bench::BuildSettings settings;
  simt::DeviceInfo device;
  std::string trace;  // a recording of this program trace instead of a build

  bool has_scene() const { return trace.empty(); }
};

// A result of a job; parts that do not apply are empty.
struct JobOutcome {
  JobSpec spec{};
  // Arrives before the job ends, so that it can be shown.
  std::shared_ptr<const BuiltScene> scene{};
  std::vector<bench::Result> results{};  // of a comparison also before it ends
  std::vector<std::shared_ptr<const Recording>> recordings{};
  std::string warning{};     // of a job that succeeded
  std::string error{};       // why the job failed
  Exit exit = Exit::failed;  // exit code of a command that fails with this error
  bool cancelled = false, ended = false;
};

struct JobProgress {
  bool running = false, cancelling = false;
  JobSpec::Kind kind = JobSpec::Kind::build;
  std::size_t done = 0, total = 0;
  std::string what;
  double seconds = 0;
};

class Jobs {
 public:
  // hold_picture: called by live jobs, from their thread, around timed builds.
  explicit Jobs(std::function<void(bool)> hold_picture = {});
  ~Jobs();

  // Returns false while a job other than a live one runs. A live job is stopped after its current
  // build.
  bool start(const JobSpec& spec);
  LiveLink& live() { return live_; }
  bool is_live() const;
  // Stops the running launch and all later ones of the job; a job that has not begun never does.
  // A live job is not cancelled.
  void cancel();
  // The progress and the outcome of jobs other than live ones.
  JobProgress progress() const;
  std::optional<JobOutcome> take();
  // No job runs except a live one, and all outcomes have been taken.
  bool is_idle() const;

 private:
  void work();
  void run(const JobSpec& spec);
  void measure(const JobSpec& spec, JobOutcome& outcome);
  void record(const JobSpec& spec, JobOutcome& outcome);
  void run_live(const JobSpec& spec);
  void record_trace(const JobSpec& spec, JobOutcome& outcome);
  void report_progress(std::size_t done, std::size_t total, const std::string& what);
  void publish(JobOutcome outcome);

  const std::function<void(bool)> hold_picture_;
  LiveLink live_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<JobSpec> next_;
  JobProgress progress_;
  std::deque<JobOutcome> outcomes_;
  bool stop_ = false;
  double started_ = 0;
  std::thread thread_;  // last: uses everything above
};

}  // namespace heapwood::viewer
