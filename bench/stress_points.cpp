// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "bench/build_settings.hpp"
#include "bench/program/messages.hpp"
#include "bench/stress.hpp"

namespace heapwood::bench {

namespace {

using workloads::StressTest;

// The names in results.
constexpr std::pair<const char*, StressTest> tests[] = {
    {"ad", StressTest::alloc_dealloc},    {"acd", StressTest::cycle},
    {"p", StressTest::probability},       {"alloc", StressTest::each},
    {"mixed", StressTest::mixed},         {"scaling", StressTest::scaling},
    {"exhaust", StressTest::exhaust},     {"utilization", StressTest::utilization},
    {"range", StressTest::range},         {"churn", StressTest::churn},
    {"lifetimes", StressTest::lifetimes}, {"soak", StressTest::soak}};

// The names on the command line where they differ. It also takes those in results.
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
// iterations) and of Ouroboros figure 3 (requests); on CPU threads, those that take seconds.
const StressLists of_the_papers{"4,8,16,32,64,128,256,512,1K,2K,4K,8K,16K,32K,64K,128K",
                                "128K,256K,512K,1M,2M,4M,8M,16M,32M,64M,128M,256M,512M,1G,2G",
                                "10,20,30,40,50,60,70,80,90,100",
                                "1,2,4,8,15,30,60,90,120",
                                "4K,8K,16K,64K,256K,1M,4M,16M,64M",
                                "1,10,100,1K,10K,100K,1M"};
const StressLists of_cpus{"4,64,1K,4K", "128K,1M,8M,64M", "10,40,100",
                          "1,8,30,120", "4K,8K,16K,64K",  "1,10,100,1K,10K,100K"};

// Defaults of all tests, and of each where they differ.
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
    // The largest pool first: it fixes the size of the heap of the device's own malloc.
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
  // Blocks of 8 warps, 64 warps per multiprocessor; on the CPU one warp per thread.
  const std::size_t fill =
      cpu ? (device.multiprocessors + 7) / 8 : std::size_t{device.multiprocessors} * 8;
  const auto count_of = [](const char* option, std::size_t max) {
    return [=](const std::string& text) { return parse_count(option, text, max); };
  };
  const auto blocks_of = [&](const std::string& text) {
    return text == "fill" ? fill : parse_count("--blocks", text, 65536);
  };
  // none: the test has no such parameter.
  const auto values = [&](std::string StressLists::*list, auto parse, bool none = false) {
    if (none) return std::vector<std::size_t>{0};
    const StressLists& given = **std::find_if(
        order.begin(), order.end(), [&](const StressLists* one) { return !(one->*list).empty(); });
    return parse_list((given.*list == "sweep" ? sweep : given).*list, [&](const std::string& text) {
      return static_cast<std::size_t>(parse(text));
    });
  };
  const auto payloads = values(&StressLists::payload, parse_bytes),
             pools = values(&StressLists::pool, parse_bytes);
  const auto iterations = values(&StressLists::iterations, count_of("--iterations", 65536));
  const auto blocks = values(&StressLists::blocks, blocks_of, by_requests);
  // Limited to what all tests can launch.
  const auto requests =
      values(&StressLists::requests, count_of("--requests", 1 << 24), !by_requests);
  const auto pages = values(&StressLists::page_bytes, parse_bytes, lists.page_bytes.empty());
  for (const std::size_t payload : payloads) {
    if ((test == StressTest::mixed || workloads::has_lifetimes(test)) &&
        (payload < alloc::granule || payload > 1 << 30))
      throw_error(Exit::usage, "stress: {}: --payload is the largest size, from 16 to 1G",
                  name(test));
  }

  std::vector<StressPoint> points;
  for (const std::size_t page : pages) {
    for (const std::size_t grid : blocks) {
      for (const std::size_t turns : iterations) {
        for (const std::size_t pool : pools) {
          for (std::size_t count : requests) {
            for (const std::size_t payload : payloads) {
              // Fills the given pool or that of bulk section 5.3: 2^20 requests, at most 512 MiB.
              std::size_t bytes = pool;
              if (exhausts) {
                const std::size_t size = alloc::padded(payload),
                                  max_requests = cpu ? 1 << 13 : 1 << 20;
                if (lists.pool.empty()) bytes = max_requests * std::min<std::size_t>(size, 512);
                count = std::clamp<std::size_t>(bytes / size, 1, 1 << 24);
              }
              points.push_back({payload, bytes, static_cast<unsigned>(turns),
                                static_cast<unsigned>(grid), page,
                                static_cast<std::uint32_t>(count)});
            }
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

}  // namespace heapwood::bench
