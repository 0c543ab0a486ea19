// SPDX-License-Identifier: MIT
#include "bench/stress.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "bench/build_settings.hpp"
#include "bench/program/messages.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

namespace {

using workloads::StressTest;

// Names of tests in results.
constexpr std::pair<const char*, StressTest> tests[] = {
    {"ad", StressTest::alloc_dealloc},    {"acd", StressTest::cycle},
    {"p", StressTest::probability},       {"alloc", StressTest::each},
    {"mixed", StressTest::mixed},         {"scaling", StressTest::scaling},
    {"exhaust", StressTest::exhaust},     {"utilization", StressTest::utilization},
    {"range", StressTest::range},         {"churn", StressTest::churn},
    {"lifetimes", StressTest::lifetimes}, {"soak", StressTest::soak}};

// Names of tests on the command line where they differ. Names in results are accepted too.
constexpr std::pair<const char*, StressTest> long_names[] = {
    {"malloc-free", StressTest::alloc_dealloc},
    {"cycle", StressTest::cycle},
    {"probability", StressTest::probability}};

constexpr std::pair<const char*, workloads::Lifetimes> orders[] = {
    {"random", workloads::Lifetimes::random},
    {"lifo", workloads::Lifetimes::lifo},
    {"immortal", workloads::Lifetimes::immortal}};

bool several(const std::string& list) {
  return list == "sweep" || list.find(',') != std::string::npos;
}

// The points of `sweep`: those of RegEff table 2 (its ranges at powers of two, every ten
// iterations) and of Ouroboros figure 3 (requests). On CPU threads only those that take seconds.
const StressLists of_the_papers{"4,8,16,32,64,128,256,512,1K,2K,4K,8K,16K,32K,64K,128K",
                                "128K,256K,512K,1M,2M,4M,8M,16M,32M,64M,128M,256M,512M,1G,2G",
                                "10,20,30,40,50,60,70,80,90,100", "1,2,4,8,15,30,60,90,120",
                                "1,10,100,1K,10K,100K,1M"};
const StressLists of_cpus{"4,64,1K,4K", "128K,1M,8M,64M", "10,40,100", "1,8,30,120",
                          "1,10,100,1K,10K,100K"};

// The defaults of all tests, and of single tests where they differ.
struct Defaults {
  StressLists lists, on_cpu{};
};
const Defaults of_all{{.payload = "4", .pool = "2G", .iterations = "1", .requests = "100K"},
                      {.pool = "64M", .requests = "10K"}};
const std::map<StressTest, Defaults> of_tests{
    {StressTest::alloc_dealloc, {{.blocks = "120,fill"}, {.blocks = "120"}}},
    {StressTest::cycle, {{.iterations = "10", .blocks = "120,fill"}, {.blocks = "120"}}},
    {StressTest::probability,
     {{.iterations = "10", .blocks = of_the_papers.blocks + ",fill"}, {.blocks = of_cpus.blocks}}},
    {StressTest::mixed, {{.payload = "8K"}}},
    {StressTest::scaling, {{.payload = "32,128,1K,8K", .requests = "sweep"}}},
    // The largest pool comes first, because it fixes the size of the device malloc's heap.
    {StressTest::exhaust,
     {{.payload = "512K,256K,128K,64K,32K,16K,8K,4K,2K,1K,512,256,128,64,32,16"},
      {.payload = "4K,256,16"}}},
    {StressTest::utilization, {{.payload = "16", .blocks = "fill"}, {.pool = "8M"}}},
    {StressTest::range,
     {{.payload = "16,32,64,128,256,512,1K,2K,4K,8K", .iterations = "100"},
      {.payload = "16,256,1K", .iterations = "10"}}},
    {StressTest::churn, {{.payload = "16", .iterations = "10000"}, {.pool = "8M"}}},
    {StressTest::lifetimes, {{.payload = "2K", .iterations = "16"}, {.requests = "1K"}}},
    {StressTest::soak, {{.payload = "2K"}, {.requests = "1K"}}}};

}  // namespace

const char* name(StressTest test) { return name_in(tests, test); }
const char* name(workloads::Lifetimes order) { return name_in(orders, order); }
const char* command_name(StressTest test) {
  const char* const name = name_in(long_names, test);
  return *name != 0 ? name : name_in(tests, test);
}

workloads::Lifetimes parse_order(const std::string& text) {
  return find_in(orders, "--order", text);
}

StressTest parse_stress_test(const std::string& text) {
  std::vector<std::string> known;
  for (const auto& [name, test] : tests) {
    known.push_back(command_name(test));
    if (text == name || text == known.back()) return test;
  }
  const std::string problem = text.empty() ? "no test given" : "unknown test '" + text + "'";
  throw_error(Exit::usage, "stress: {}: use one of {}", problem, joined(known));
}

bool has_iterations(StressTest test) {
  return test == StressTest::cycle || test == StressTest::probability ||
         test == StressTest::range || test == StressTest::churn || test == StressTest::lifetimes;
}

bool has_requests(StressTest test) {
  return workloads::allocates_once(test) || test == StressTest::range ||
         test == StressTest::churn || workloads::has_lifetimes(test);
}

std::uint32_t stress_threads(const StressSettings& settings, const StressPoint& point) {
  if (point.requests != 0) return point.requests;
  return point.blocks * (stress_block_threads / 32) * settings.lanes;
}

std::vector<StressPoint> stress_points(const StressLists& lists, StressTest test,
                                       const simt::DeviceInfo& device) {
  const auto unused = [&](const std::string& list, const char* option, const char* instead) {
    if (list.empty()) return;
    throw_error(Exit::usage, "stress: {} does not apply to the test '{}': {}", option,
                command_name(test), instead);
  };
  const bool by_requests = has_requests(test), exhausts = test == StressTest::exhaust;
  if (exhausts)
    unused(lists.requests, "--requests", "the pool size determines the number of requests");
  if (!has_iterations(test))
    unused(lists.iterations, "--iterations",
           "it applies to cycle, probability, range, churn and lifetimes");
  if (by_requests) unused(lists.blocks, "--blocks", "set the number of threads with --requests");
  if (!by_requests) unused(lists.requests, "--requests", "set the number of threads with --blocks");

  const bool cpu = device.id.kind == simt::DeviceKind::cpu;
  const StressLists& sweep = cpu ? of_cpus : of_the_papers;
  const auto known = of_tests.find(test);
  Defaults of_test = known == of_tests.end() ? Defaults{} : known->second;
  const bool varies_payload = test == StressTest::alloc_dealloc || test == StressTest::cycle;
  if (varies_payload && !several(lists.pool) && !several(lists.iterations))
    of_test.lists.payload = "sweep";
  std::vector<const StressLists*> order{&lists, &of_test.lists, &of_all.lists};
  if (cpu) order = {&lists, &of_test.on_cpu, &of_test.lists, &of_all.on_cpu, &of_all.lists};
  // Blocks of 8 warps that fill the device: 64 warps per multiprocessor, or one per CPU thread.
  const std::size_t fill =
      cpu ? (device.multiprocessors + 7) / 8 : std::size_t{device.multiprocessors} * 8;
  const auto count_of = [](const char* option, std::size_t max) {
    return [=](const std::string& text) { return parse_count(option, text, max); };
  };
  const auto blocks_of = [&](const std::string& text) {
    return text == "fill" ? fill : parse_count("--blocks", text, 65536);
  };
  // The values of a parameter; `none`: the test has no such parameter.
  const auto values = [&](std::string StressLists::*list, auto parse, bool none = false) {
    if (none) return std::vector<std::size_t>{0};
    const StressLists& given = **std::ranges::find_if(
        order, [&](const StressLists* one) { return !(one->*list).empty(); });
    return parse_list((given.*list == "sweep" ? sweep : given).*list, [&](const std::string& text) {
      return static_cast<std::size_t>(parse(text));
    });
  };
  const auto payloads = values(&StressLists::payload, parse_bytes),
             pools = values(&StressLists::pool, parse_bytes);
  const auto iterations = values(&StressLists::iterations, count_of("--iterations", 65536));
  const auto blocks = values(&StressLists::blocks, blocks_of, by_requests);
  // Limited to as many as all tests can launch.
  const auto requests =
      values(&StressLists::requests, count_of("--requests", 1 << 24), !by_requests);
  for (const std::size_t payload : payloads) {
    if ((test == StressTest::mixed || workloads::has_lifetimes(test)) &&
        (payload < alloc::granule || payload > 1 << 30))
      throw_error(Exit::usage, "stress: {}: --payload is the largest size, from 16 to 1G",
                  name(test));
  }

  std::vector<StressPoint> points;
  for (const std::size_t grid : blocks) {
    for (const std::size_t turns : iterations) {
      for (const std::size_t pool : pools) {
        for (std::size_t count : requests) {
          for (const std::size_t payload : payloads) {
            // `exhaust` fills the given pool, or that of bulk section 5.3: 2^20 requests, at most
            // 512 MiB.
            std::size_t bytes = pool;
            if (exhausts) {
              const std::size_t size = alloc::padded(payload),
                                max_requests = cpu ? 1 << 13 : 1 << 20;
              if (lists.pool.empty()) bytes = max_requests * std::min<std::size_t>(size, 512);
              count = std::clamp<std::size_t>(bytes / size, 1, 1 << 24);
            }
            points.push_back({payload, bytes, static_cast<unsigned>(turns),
                              static_cast<unsigned>(grid), static_cast<std::uint32_t>(count)});
          }
        }
      }
    }
  }
  return points;
}

std::vector<StressPoint> take_oversized(std::vector<StressPoint>& points) {
  const auto fits = [](const StressPoint& p) {
    return p.requests * alloc::padded(p.payload) <= p.pool_bytes;
  };
  const auto end = std::stable_partition(points.begin(), points.end(), fits);
  std::vector<StressPoint> oversized(end, points.end());
  points.erase(end, points.end());
  return oversized;
}

StressSpaceFigures space_figures(const StressRow& row) {
  std::vector<double> utilization, blocks, first, last, iterations, iteration_ms, last_ms;
  for (const std::vector<workloads::StressStep>& steps : row.steps) {
    if (steps.empty()) continue;
    const auto in_use = static_cast<double>(steps.back().blocks);
    blocks.push_back(in_use);
    if (row.capacity_bytes && !workloads::has_lifetimes(row.settings.test))
      utilization.push_back(in_use * static_cast<double>(row.point.payload) /
                            static_cast<double>(row.capacity_bytes));
    first.push_back(static_cast<double>(steps.front().address_bytes));
    last.push_back(static_cast<double>(steps.back().address_bytes));
    std::vector<double> served;
    for (const workloads::StressStep& step : steps) {
      if (step.refused == 0) served.push_back(step.ms);
    }
    iterations.push_back(static_cast<double>(served.size()));
    if (served.empty()) continue;
    last_ms.push_back(served.back());
    iteration_ms.push_back(*median(served));
  }
  return {median(utilization), median(blocks),       median(first),  median(last),
          median(iterations),  median(iteration_ms), median(last_ms)};
}

std::optional<double> held_over_live(const StressRow& row) {
  if (!workloads::has_lifetimes(row.settings.test) || !row.peak || row.peak->live_bytes == 0)
    return std::nullopt;
  const alloc::Fragmentation& f = row.peak->fragmentation;
  return static_cast<double>(row.point.pool_bytes - f.free_bytes - f.metadata_bytes) /
         static_cast<double>(row.peak->live_bytes);
}

namespace {

Json settings_json(const StressRow& row) {
  const StressSettings& settings = row.settings;
  Json json;
  json["payload_bytes"] = row.point.payload;
  json["request_bytes"] = alloc::padded(row.point.payload);
  json["pool_bytes"] = row.point.pool_bytes;
  if (has_iterations(settings.test)) json["iterations"] = row.point.iterations;
  if (!has_requests(settings.test)) json["blocks"] = row.point.blocks;
  json["threads"] = stress_threads(settings, row.point);
  json["lanes"] = settings.lanes;
  json["large"] = "buddy";
  put_allocator_settings(json, settings.allocator);
  if (workloads::allocates_once(settings.test)) json["rounds"] = settings.rounds;
  json["touch"] = settings.touch;
  json["coalesced"] = settings.coalesced;
  json["wait"] = settings.wait;
  using enum workloads::StressTest;
  if (settings.test == probability || settings.test == mixed || settings.test == churn ||
      workloads::has_lifetimes(settings.test))
    json["seed"] = settings.seed;
  // The default is not written, so that results compare with those of versions without the option.
  if (settings.test == probability && settings.probability != 0.75)
    json["probability"] = settings.probability;
  if (settings.test == lifetimes) json["order"] = name(settings.order);
  json["runs"] = settings.runs;
  json["seconds"] = settings.seconds;
  return json;
}

}  // namespace

void describe(JsonFields& fields, workloads::PoolState& state) {
  fields("blocks", state.blocks);
  fields("live_bytes", state.live_bytes);
  if (state.blocks) fields("address_bytes", state.address_bytes);
  describe(fields, state.fragmentation);
}

void describe(JsonFields& fields, workloads::StressStep& step) {
  fields("ms", step.ms);
  fields("blocks", step.blocks);
  fields("refused", step.refused);
  fields("address_bytes", step.address_bytes);
}

namespace {

Json space_json(const StressRow& row) {
  const StressSpaceFigures figures = space_figures(row);
  Json json;
  JsonFields fields(json);
  fields.derived("capacity_bytes", row.capacity_bytes);
  fields.derived("utilization", figures.utilization);
  fields.derived("blocks", figures.blocks);
  fields.derived("first_address_bytes", figures.first_address_bytes);
  fields.derived("address_bytes", figures.address_bytes);
  fields.derived("iterations", figures.iterations);
  fields.derived("iteration_ms", figures.iteration_ms);
  fields.derived("last_ms", figures.last_ms);
  fields.derived("refusal_ms", median(row.refusal_ms));
  fields.derived("held_over_live", held_over_live(row));
  for (const std::vector<workloads::StressStep>& steps : row.steps) {
    Json& run = json["steps"].push_back(Json::array());
    for (const workloads::StressStep& step : steps) run.push_back(described(step));
  }
  return json;
}

Json expected_json(const StressRow& row) {
  const double threads = stress_threads(row.settings, row.point);
  const workloads::ExpectedCounts expected =
      workloads::expected_counts(row.point.iterations, row.settings.probability);
  return {{"count", threads * expected.allocations},
          {"count_sigma", std::sqrt(threads) * expected.allocations_sigma},
          {"deallocations", threads * expected.deallocations},
          {"deallocations_sigma", std::sqrt(threads) * expected.deallocations_sigma}};
}

}  // namespace

void describe(JsonFields& fields, StressRow& row) {
  using enum workloads::StressTest;
  const workloads::StressTest test = row.settings.test;
  fields.derived("test", name(test));
  describe_allocator(fields, row);
  fields.derived("settings", settings_json(row));
  describe_outcome(fields, row);
  fields("runs_ms", row.runs_ms);
  if (!row.allocate_ms.empty()) {
    fields("allocate_ms", row.allocate_ms);
    fields("free_ms", row.free_ms);
  }
  fields("reset_ms", row.reset_ms);
  fields.unless_empty("floor_ms", row.floor_ms);
  fields.derived_quartiles(row.runs_ms);
  if (row.counts) {
    fields.within("allocations", [&](JsonFields& counts) {
      counts("count", row.counts->allocations);
      counts("deallocations", row.counts->deallocations);
      counts("refused", row.counts->failures);
      if (test == alloc_dealloc) counts("refused_split", row.split_failures);
    });
  }
  if (test == exhaust) fields("capacity_bytes", row.capacity_bytes);
  if (test == probability) fields.derived("expected", expected_json(row));
  if (row.overlaps || row.settings.touch) {
    fields.within("overlaps", [&](JsonFields& overlaps) {
      overlaps.optional("by_address", row.overlaps);
      if (row.settings.touch) overlaps("by_content", row.damaged);
    });
  }
  if (row.peak || row.end) {
    fields.within("memory", [&](JsonFields& memory) {
      memory.object("peak", row.peak);
      memory.object("end", row.end);
    });
  }
  if (!row.steps.empty()) fields.derived("space", space_json(row));
  if (row.calls) fields.derived("calls", described(*row.calls));
}

}  // namespace heapwood::bench
