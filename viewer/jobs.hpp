// SPDX-License-Identifier: MIT
// Background builds. One thread runs one job at a time; the window polls it and takes its outcomes.
#pragma once

#include <time.h>

#include "bench/bench_runner.hpp"
#include "simt/clock.hpp"
#include "viewer/live.hpp"

namespace heapwood::viewer {

// Nice values of background threads, above the window's. Builds, which are timed, precede rays.
inline constexpr int nice_build = 5, nice_picture = 10;
// Whether a user watches. Cleared at the start of unattended runs, whose threads keep their
// priority.
inline bool window_is_watched = true;
void lower_priority(int nice);        // lowers that of the calling thread
double cpu_seconds(clockid_t clock);  // of CLOCK_THREAD_CPUTIME_ID or CLOCK_PROCESS_CPUTIME_ID

struct JobSpec {
  enum class Kind { build, compare, record, live };
  Kind kind = Kind::build;
  std::string source;
  std::optional<unsigned> up;  // up axis; none: the scene's own
  std::vector<const registry::RegisteredAllocator*> allocators;
  bench::BuildSettings settings;
  bool pool_grows = false;  // a pool of live:N is enlarged until builds complete, as automatic ones
  simt::DeviceInfo device;
  std::string trace;  // path of a program trace to be recorded instead of a build

  bool has_scene() const { return trace.empty(); }
};

// A result of a job; parts that do not apply are empty.
struct JobOutcome {
  JobSpec spec{};
  // Sent before the job ends, so that it can be shown.
  std::shared_ptr<const BuiltScene> scene{};
  std::vector<bench::Result> results{};  // for a comparison also sent before it ends
  std::vector<std::shared_ptr<const Recording>> recordings{};
  std::string warning{};     // set by a job that succeeded
  std::string error{};       // the reason why the job failed
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
  // hold_picture is called by live jobs, on their thread, around timed builds.
  explicit Jobs(std::function<void(bool)> hold_picture = {});
  ~Jobs();

  // Starts a job. Returns false while another one runs, except a live one, which is then stopped.
  bool start(const JobSpec& spec);
  LiveLink& live() { return live_; }
  bool is_live() const;
  // Stops the running launch and all later ones of the job; a job that has not begun does not
  // begin. Does not affect a live job.
  void cancel();
  // The progress and the next outcome of jobs other than live ones.
  JobProgress progress() const;
  std::optional<JobOutcome> take();
  // Whether no job but a live one runs, and all outcomes have been taken.
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
  simt::HostClock::time_point started_;
  std::thread thread_;  // declared last because it uses everything above
};

}  // namespace heapwood::viewer
