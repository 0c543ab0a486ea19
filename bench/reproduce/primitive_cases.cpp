// SPDX-License-Identifier: MIT
// Measures the semaphores and RCU (workloads/stress_primitives.hpp) at numbers of threads.
#include <fmt/format.h>

#include "bench/reproduce/case_results.hpp"
#include "bench/results/format.hpp"
#include "bench/row_bench.hpp"
#include "workloads/stress_primitives.hpp"

namespace heapwood::bench {

namespace {

struct Variant {
  workloads::PrimitiveTest test;
  const char* id;
  const char* label;
};

// Milliseconds of one run.
double milliseconds_of(const workloads::PrimitiveJob& job) {
  const workloads::PrimitiveResult measured = workloads::run_primitive(job);
  if (measured.done != measured.wanted)
    throw Error(Exit::failed, fmt::format("only {} of {} operations were completed", measured.done,
                                          measured.wanted));
  return measured.ms;
}

// A warm-up and the runs of one variant, whose wall time is limited.
class PrimitiveRuns : public RowBench {
 public:
  PrimitiveRuns(MeasuredRow& row, const workloads::PrimitiveJob& job, int runs)
      : RowBench({{nullptr, &row}}, runs, job.seconds, [](const std::string&) {}),
        row_(row),
        job_(job) {}

  // Status and times.
  void measure_into(Json& result) {
    warm_up_all();
    measure();
    finish();
    set_status(result, row_.status, row_.reason);
    result["runs_ms"] = runs_ms_;
    put(result, "median_ms", median(runs_ms_));
  }

 private:
  std::optional<double> warm_up(std::size_t) override {
    warm_up_ms_ = milliseconds_of(job_);
    return {};
  }
  std::optional<double> run(std::size_t) override {
    runs_ms_.push_back(milliseconds_of(job_));
    return {};
  }
  void keep_warm_up(std::size_t) override { runs_ms_.push_back(warm_up_ms_); }
  void judge(std::size_t i) override {
    row_.status = Status::ok;
    row_.reason = reason_of_few_runs(i, runs_ms_.size());
  }

  MeasuredRow& row_;
  workloads::PrimitiveJob job_;
  double warm_up_ms_ = 0;
  std::vector<double> runs_ms_;
};

ReproduceCase primitive_case(const char* what, workloads::PrimitiveJob job, int runs,
                             std::vector<Variant> variants) {
  std::string key = fmt::format("{} threads={}", what, job.threads);
  if (job.readers > 1) key += fmt::format(" readers={}", job.readers);
  ReproduceCase one{fmt::format("{} runs={}", key, runs)};
  one.about = {{"threads", job.threads}, {"readers", job.readers}, {"batch", job.batch}};
  one.measure = [job, runs, variants = std::move(variants)](const Announce& announce) mutable {
    Json results = Json::array();
    for (const Variant& variant : variants) {
      announce(fmt::format("{}, {} threads", variant.label, count_text(job.threads)));
      job.test = variant.test;
      Json result{{"allocator", variant.id}, {"label", variant.label}};
      MeasuredRow row;
      PrimitiveRuns(row, job, runs).measure_into(result);
      results.push_back(std::move(result));
    }
    return results;
  };
  return one;
}

}  // namespace

// On the CPU a warp is one thread.
// Rcu goes on to 2^18 threads, 1024 blocks, more than are resident: a thread that waits for readers
// then keeps others from starting. The list is at most 4096 elements long there, because every
// thread walks it.
ReproduceCases primitive_cases(const Experiment& experiment, const ReproduceSetup& setup) {
  using enum workloads::PrimitiveTest;
  const bool rcu = experiment.kind == "rcu",
             small = !setup.full || setup.device.id.kind == simt::DeviceKind::cpu;
  const int runs = experiment.runs(setup);
  ReproduceCases cases;
  workloads::PrimitiveJob job;
  job.device = setup.device.id;
  job.seconds = setup.seconds;
  const std::uint32_t max_threads = small ? 1u << (rcu ? 8 : 14) : 1u << (rcu ? 18 : 20),
                      max_long = rcu && !small ? 1u << 14 : max_threads;
  for (job.threads = 4; job.threads <= max_threads; job.threads *= 4) {
    if (!rcu) {
      cases.push_back(
          primitive_case("semaphore", job, runs,
                         {{counting_semaphore, "counting", "Counting semaphore"},
                          {bulk_semaphore, "bulk", "Bulk semaphore"},
                          {published_semaphore, "published", "Bulk semaphore, as published"}}));
      continue;
    }
    for (const std::uint32_t readers :
         small ? std::vector{1u, 16u} : std::vector{1u, 4u, 16u, 64u, 256u}) {
      job.readers = readers;
      if (job.threads > max_long && job.threads / readers > 4096) continue;
      cases.push_back(primitive_case("rcu", job, runs,
                                     {{plain_rcu, "plain", "One barrier per writer"},
                                      {delegated_rcu, "delegated", "Delegation"}}));
    }
  }
  return cases;
}

}  // namespace heapwood::bench
