// SPDX-License-Identifier: MIT
// The cases of dynamic graphs (Ouroboros section 6.2): uses the runner of `heapwood graph` on the
// graphs of the paper's table 1, or on generated ones of the same size. Also the cases of
// strings, particles, semaphores and RCU.
#include <filesystem>

#include "bench/graph_bench.hpp"
#include "bench/program/messages.hpp"
#include "bench/reproduce/reproduce.hpp"
#include "bench/results/format.hpp"
#include "bench/row_bench.hpp"
#include "bench/steps_bench.hpp"
#include "workloads/graph/source.hpp"
#include "workloads/stress_primitives.hpp"

namespace heapwood::bench {

namespace {

// The result for the report's page, without "frees": the page takes results with that key for those
// of allocators, but `pages` and `csr` are layouts.
Json graph_result(const GraphRow& row) {
  Json json = described(row);
  if (row.layout != GraphLayout::blocks) json.erase("frees");
  for (const char* key : {"edge_hashes", "rounds"}) json.erase(key);
  return json;
}

Json measure_graph(GraphBench bench, const std::string& source, const Announce& announce) {
  workloads::graph::GraphSource graph;
  try {
    announce("reading or generating the graph");
    graph = workloads::graph::load_graph(source);
  } catch (const std::exception& error) {
    Json results = Json::array();
    for (const Allocator* entry : bench.allocators) {
      Json result{{"allocator", entry->traits->id}, {"label", entry->traits->label}};
      set_status(result, Status::failed, error_text(error));
      results.push_back(std::move(result));
    }
    return results;
  }
  bench.graph = graph.name;
  bench.digest = graph.digest;
  bench.host = &graph.graph;
  if (!graph.is_symmetric) std::erase(bench.settings.phases, GraphPhase::triangles);
  Json results = Json::array();
  for (const GraphRow& row : run_graph(bench, on_step(announce)))
    results.push_back(graph_result(row));
  return results;
}

ReproduceCase graph_case(const std::string& name_and_stand_in, const Experiment& experiment,
                         const ReproduceSetup& setup) {
  const std::size_t slash = name_and_stand_in.find('/');
  const std::string graph = name_and_stand_in.substr(0, slash),
                    stand_in = name_and_stand_in.substr(slash + 1),
                    file = find_file(setup.scenes, graph, {".mtx", ".graph", ".txt"}),
                    source = file.empty() ? stand_in : file;
  GraphBench bench;
  bench.device = setup.device;
  bench.layouts = parse_layouts(experiment.text("layouts", "all"));
  bench.allocators = experiment.allocators(setup);
  GraphSettings& settings = bench.settings;
  settings.phases = parse_phases(experiment.text("phases"));
  settings.updates = parse_updates(experiment.text("updates", "random"));
  settings.init = parse_init(experiment.text("init", "each"));
  settings.batches = {setup.full ? 100000u : 1000u};
  settings.rounds = setup.full ? 2 : 1;
  settings.runs = experiment.runs(setup);
  settings.iterations = setup.full ? 5 : 2;
  settings.budget_seconds = setup.seconds;
  // CudaMalloc needs seconds for millions of vertices, and a stopped run would leak blocks.
  settings.seconds = 5 * setup.seconds;
  settings.pool = parse_pool("auto");
  // A file is named without its folder, as in other keys.
  const std::string label = file.empty() ? source : std::filesystem::path(file).filename().string();
  ReproduceCase one{
      fmt::format("graph {} init={} phases={} updates={} batch={} rounds={} runs={}", label,
                  name(settings.init), experiment.text("phases"), name(settings.updates),
                  settings.batches.front(), settings.rounds, settings.runs),
      bench.allocators};
  one.about = {{"graph", graph},
               {"source", label},
               {"procedural", file.empty()},
               {"init", name(settings.init)},
               {"updates", name(settings.updates)}};
  one.measure = [bench = std::move(bench), source](const Announce& announce) {
    return measure_graph(bench, source, announce);
  };
  return one;
}

}  // namespace

ReproduceCases graph_cases(const Experiment& experiment, const ReproduceSetup& setup) {
  ReproduceCases cases;
  for (const std::string& graph : split(experiment.list("graphs", setup), ','))
    cases.push_back(graph_case(graph, experiment, setup));
  return cases;
}

// The inputs are numbers of rows or, of particles, populations.
ReproduceCases steps_cases(const Experiment& experiment, const ReproduceSetup& setup) {
  StepsBench bench;
  bench.device = setup.device;
  bench.allocators = experiment.allocators(setup);
  StepsSettings& settings = bench.settings;
  settings.pools = parse_peak_pools(experiment.text("pool"), false);
  settings.runs = experiment.runs(setup);
  settings.seconds = 5 * setup.seconds;
  settings.budget_seconds = setup.seconds;
  settings.count = parse_count("count", experiment.list("count", setup), 200'000'000);
  const bool is_strings = experiment.kind == "strings";
  ReproduceCases cases;
  for (const std::string& population : split(experiment.text("populations", "steady"), ',')) {
    settings.population = population;
    const std::string key =
        fmt::format("{} {} {} pool={} runs={}", experiment.kind, is_strings ? "rows" : population,
                    settings.count, experiment.text("pool"), settings.runs);
    ReproduceCase& one = cases.emplace_back(ReproduceCase{key, bench.allocators});
    one.measure = [bench, is_strings](const Announce& announce) mutable {
      announce("computing the expected result");
      bench.workload =
          (is_strings ? strings_workload : particles_workload)(bench.settings, bench.device);
      Json results = Json::array();
      for (const StepsRow& row : run_steps(bench, on_step(announce))) {
        results.push_back(described(row));
        // The page takes results with this key for those of allocators.
        if (row.allocator == bench.workload.baseline) results.back().erase("frees");
      }
      return results;
    };
  }
  return cases;
}

namespace {

struct Variant {
  workloads::PrimitiveTest test;
  const char* id;
  const char* label;
};

// Returns the milliseconds of one run.
double milliseconds_of(const workloads::PrimitiveJob& job) {
  const workloads::PrimitiveResult measured = workloads::run_primitive(job);
  if (measured.done != measured.wanted)
    throw_error(Exit::failed, "only {} of {} operations were completed", measured.done,
                measured.wanted);
  return measured.ms;
}

// Makes a warm-up and the runs of one variant, within a limit of wall time.
class PrimitiveRuns : public RowBench {
 public:
  PrimitiveRuns(MeasuredRow& row, const workloads::PrimitiveJob& job, int runs)
      : RowBench({{nullptr, &row}}, runs, job.seconds, [](const std::string&) {}),
        row_(row),
        job_(job) {}

  // Adds status and times to the result.
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

// Semaphores and RCU, for growing numbers of threads; on the CPU a warp is one thread. Rcu has up
// to 2^18 threads (1024 blocks), more than are resident: a thread that waits for readers then keeps
// others from starting. Its list has at most 4096 elements there, because every thread walks it.
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
