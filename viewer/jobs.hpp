// SPDX-License-Identifier: MIT
// Builds beside the window: one thread does one job at a time; the window asks how far it is and takes what has come.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/bench_runner.hpp"
#include "viewer/built_scene.hpp"
#include "viewer/heap_map.hpp"

namespace heapwood::viewer {

struct JobSpec {
  enum class Kind { build, compare, record };
  Kind kind = Kind::build;
  std::string source;
  std::optional<unsigned> up;  // axis; the scene's own if there is none
  std::vector<const engine::Entry*> allocators;
  app::BuildSettings settings;
  simt::DeviceInfo device;
  bool slowed = false;  // a recording begins when its watcher lets it (HeapView::follow)
};

// What a job brings; empty parts were not its affair.
struct JobOutcome {
  JobSpec::Kind kind = JobSpec::Kind::build;
  std::shared_ptr<const BuiltScene> scene;  // comes before the job has ended, so that it can be shown
  std::vector<app::Result> results;
  std::optional<LiveBuild> live;                             // begins; before the job has ended
  std::vector<std::shared_ptr<const Recording>> recordings;  // each when it is there, and all in the end
  std::string error;                                         // why there is nothing
  Exit exit = Exit::failed;                                  // what a command would end with for it
  bool cancelled = false;
  bool ended = false;
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
  Jobs();
  ~Jobs();

  // False while another one runs.
  bool start(const JobSpec& spec);
  // Stops the launch that runs, and all that would follow.
  void cancel();
  JobProgress progress() const;
  std::optional<JobOutcome> take();
  // Nothing runs, and everything has been taken.
  bool settled() const;

 private:
  void work();
  void run(const JobSpec& spec);
  void measure(const JobSpec& spec, JobOutcome& outcome);
  void record(const JobSpec& spec, JobOutcome& outcome);
  void tell(std::size_t done, std::size_t total, const std::string& what);
  void put(JobOutcome outcome);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<JobSpec> next_;
  JobProgress progress_;
  std::vector<JobOutcome> outcomes_;
  bool stop_ = false;
  double started_ = 0;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace heapwood::viewer
