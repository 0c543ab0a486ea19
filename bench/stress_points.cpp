// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "bench/build_settings.hpp"
#include "bench/program/names.hpp"
#include "bench/stress.hpp"

namespace heapwood::bench {

namespace {

using workloads::StressTest;

constexpr std::pair<const char*, StressTest> tests[] = {
    {"ad", StressTest::alloc_dealloc},    {"acd", StressTest::cycle},
    {"p", StressTest::probability},       {"alloc", StressTest::each},
    {"mixed", StressTest::mixed},         {"scaling", StressTest::scaling},
    {"exhaust", StressTest::exhaust},     {"utilization", StressTest::utilization},
    {"range", StressTest::range},         {"churn", StressTest::churn},
    {"lifetimes", StressTest::lifetimes}, {"soak", StressTest::soak}};

constexpr std::pair<const char*, workloads::Lifetimes> orders[] = {
    {"random", workloads::Lifetimes::random},
    {"lifo", workloads::Lifetimes::lifo},
    {"immortal", workloads::Lifetimes::immortal}};

// The elements of a list in order, without duplicates.
template <class Parse>
std::vector<std::size_t> parse_list(const std::string& text, const std::string& sweep,
                                    Parse parse) {
  std::vector<std::size_t> values;
  for (const std::string& part : split(text == "sweep" ? sweep : text, ',')) {
    const std::size_t value = parse(part);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

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

// The defaults of a test.
StressLists defaults(StressTest test, bool cpu, const StressLists& given) {
  StressLists lists{"4", cpu ? "64M" : "2G", "1", "", "", cpu ? "10K" : "100K"};
  switch (test) {
    case StressTest::cycle:
      lists.iterations = "10";
      [[fallthrough]];
    case StressTest::alloc_dealloc:
      if (!several(given.pool) && !several(given.iterations)) lists.payload = "sweep";
      lists.blocks = cpu ? "120" : "120,fill";
      break;
    case StressTest::probability:
      lists.iterations = "10";
      lists.blocks = cpu ? of_cpus.blocks : of_the_papers.blocks + ",fill";
      break;
    case StressTest::each:
      break;
    case StressTest::mixed:
      lists.payload = "8K";
      break;
    case StressTest::scaling:
      lists.payload = "32,128,1K,8K";
      lists.requests = "sweep";
      break;
    case StressTest::exhaust:
      // The largest pool first: it fixes the size of the heap of the device's own malloc.
      lists.payload =
          cpu ? "4K,256,16" : "512K,256K,128K,64K,32K,16K,8K,4K,2K,1K,512,256,128,64,32,16";
      break;
    case StressTest::utilization:
      lists.payload = "16";
      lists.blocks = "fill";
      if (cpu) lists.pool = "8M";
      break;
    case StressTest::range:
      lists.payload = cpu ? "16,256,1K" : "16,32,64,128,256,512,1K,2K,4K,8K";
      lists.iterations = cpu ? "10" : "100";
      break;
    case StressTest::churn:
      lists.payload = "16";
      lists.iterations = "10000";
      if (cpu) lists.pool = "8M";
      break;
    case StressTest::lifetimes:
      lists.iterations = "16";
      [[fallthrough]];
    case StressTest::soak:
      lists.payload = "2K";
      if (cpu) lists.requests = "1K";
      break;
  }
  return lists;
}

}  // namespace

const char* name(StressTest test) { return name_in(tests, test); }
const char* name(workloads::Lifetimes order) { return name_in(orders, order); }
std::string stress_tests() { return all_names(tests); }

workloads::Lifetimes parse_order(const std::string& text) {
  return find_in(orders, "--order", text);
}

StressTest parse_stress_test(const std::string& text) {
  if (text.empty()) throw Error(Exit::usage, "stress: no test given: use one of " + stress_tests());
  return find_in(tests, "stress: unknown test", text);
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
    throw Error(Exit::usage, fmt::format("stress: {} does not apply to the test '{}': {}", option,
                                         name(test), instead));
  };
  const bool by_requests = has_requests(test), exhausts = test == StressTest::exhaust;
  if (exhausts)
    unused(lists.requests, "--requests", "the pool size determines the number of requests");
  if (!has_iterations(test))
    unused(lists.iterations, "--iterations", "it applies to acd, p, range, churn and lifetimes");
  if (by_requests) unused(lists.blocks, "--blocks", "set the number of threads with --requests");
  if (!by_requests) unused(lists.requests, "--requests", "set the number of threads with --blocks");

  const bool cpu = device.id.kind == simt::DeviceKind::cpu;
  const StressLists& sweep = cpu ? of_cpus : of_the_papers;
  const StressLists otherwise = defaults(test, cpu, lists);
  // Blocks of 8 warps, 64 warps per multiprocessor; on the CPU one warp per thread.
  const std::size_t fill =
      cpu ? (device.multiprocessors + 7) / 8 : std::size_t{device.multiprocessors} * 8;
  const auto count_of = [](const char* option) {
    return [option](const std::string& text) { return parse_count(option, text, 65536); };
  };
  const auto blocks_of = [&](const std::string& text) {
    return text == "fill" ? fill : parse_count("--blocks", text, 65536);
  };
  // none: the test has no such parameter.
  const auto values = [&](std::string StressLists::*list, auto parse, bool none = false) {
    if (none) return std::vector<std::size_t>{0};
    return parse_list((lists.*list).empty() ? otherwise.*list : lists.*list, sweep.*list, parse);
  };
  const auto payloads = values(&StressLists::payload, parse_bytes),
             pools = values(&StressLists::pool, parse_bytes);
  const auto iterations = values(&StressLists::iterations, count_of("--iterations"));
  const auto blocks = values(&StressLists::blocks, blocks_of, by_requests);
  // Limited to what all tests can launch.
  const auto parse_requests = [](const std::string& text) {
    return parse_count("--requests", text, 1 << 24);
  };
  const auto requests = values(&StressLists::requests, parse_requests, !by_requests);
  const auto pages = values(&StressLists::page_bytes, parse_bytes, lists.page_bytes.empty());
  for (const std::size_t payload : payloads) {
    if ((test == StressTest::mixed || workloads::has_lifetimes(test)) &&
        (payload < alloc::granule || payload > 1 << 30))
      throw Error(
          Exit::usage,
          fmt::format("stress: {}: --payload is the largest size, from 16 to 1G", name(test)));
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
