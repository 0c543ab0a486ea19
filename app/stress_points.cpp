// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "app/stress.hpp"

namespace heapwood::app {

namespace {

using alloc::StressTest;

constexpr std::pair<const char*, StressTest> tests[] = {{"ad", StressTest::alloc_dealloc},
                                                        {"acd", StressTest::cycle},
                                                        {"p", StressTest::probability},
                                                        {"alloc", StressTest::each}};

std::size_t parse_count(const std::string& option, const std::string& text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > 65536)
    throw Error(Exit::usage, fmt::format("{} '{}': expected a number from 1 to 65536", option, text));
  return value;
}

// The elements of a list in their order, without repetitions.
template <class Parse>
std::vector<std::size_t> parse_list(const std::string& text, const std::string& sweep, Parse parse) {
  std::vector<std::size_t> values;
  for (const std::string& part : split(text == "sweep" ? sweep : text, ',')) {
    const std::size_t value = parse(part);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  return values;
}

bool several(const std::string& list) { return list == "sweep" || list.find(',') != std::string::npos; }

// The points of RegEff table 2 (the paper gives ranges; every power of two, every ten iterations) and what runs in seconds
// on CPU threads.
struct Sweeps {
  std::string payload, pool, iterations, blocks, page_bytes;
};
const Sweeps of_the_paper{"4,8,16,32,64,128,256,512,1K,2K,4K,8K,16K,32K,64K,128K",
                          "128K,256K,512K,1M,2M,4M,8M,16M,32M,64M,128M,256M,512M,1G,2G",
                          "10,20,30,40,50,60,70,80,90,100", "1,2,4,8,15,30,60,90,120",
                          "4K,8K,16K,64K,256K,1M,4M,16M,64M"};
const Sweeps of_cpus{"4,64,1K,4K", "128K,1M,8M,64M", "10,40,100", "1,8,30,120", "4K,8K,16K,64K"};

}  // namespace

const char* name(StressTest test) {
  for (const auto& [text, value] : tests) {
    if (value == test) return text;
  }
  return "";
}

const char* name(alloc::LargeBackend large) { return large == alloc::LargeBackend::builtin ? "builtin" : "buddy"; }

StressTest parse_stress_test(const std::string& text) {
  for (const auto& [known, value] : tests) {
    if (text == known) return value;
  }
  throw Error(Exit::usage, text.empty() ? "stress: no test given: use one of ad, acd, p, alloc"
                                        : fmt::format("stress: unknown test '{}': use one of ad, acd, p, alloc", text));
}

std::uint32_t stress_threads(const StressSettings& settings, const StressPoint& point) {
  if (settings.test == StressTest::each) return settings.requests;
  return point.blocks * (stress_block_threads / 32) * settings.lanes;
}

std::vector<StressPoint> stress_points(const StressLists& lists, StressTest test, const simt::DeviceInfo& device) {
  const bool cpu = device.id.kind == simt::DeviceKind::cpu;
  const Sweeps& sweep = cpu ? of_cpus : of_the_paper;
  // Blocks of 8 warps, 64 warps a multiprocessor; on the CPU as many warps as threads.
  const std::size_t fill = cpu ? (device.multiprocessors + 7) / 8 : std::size_t{device.multiprocessors} * 8;
  const auto given = [](const std::string& list, const std::string& otherwise) {
    return list.empty() ? otherwise : list;
  };
  const auto count_of = [](const char* option) {
    return [option](const std::string& text) { return parse_count(option, text); };
  };
  const auto blocks_of = [&](const std::string& text) { return text == "fill" ? fill : parse_count("--blocks", text); };

  const bool cycles = test == StressTest::alloc_dealloc || test == StressTest::cycle;
  const bool repeats = test == StressTest::cycle || test == StressTest::probability;
  const bool sweeps_payload = cycles && !several(lists.pool) && !several(lists.iterations);
  const std::string many_blocks = cpu ? "120" : "120,fill", swept_blocks = cpu ? "sweep" : sweep.blocks + ",fill";
  const auto payloads = parse_list(given(lists.payload, sweeps_payload ? "sweep" : "4"), sweep.payload, parse_bytes);
  const auto pools = parse_list(given(lists.pool, cpu ? "64M" : "2G"), sweep.pool, parse_bytes);
  const auto iterations =
      parse_list(given(lists.iterations, repeats ? "10" : "1"), sweep.iterations, count_of("--iterations"));
  auto blocks = parse_list(given(lists.blocks, test == StressTest::probability ? swept_blocks : many_blocks),
                           sweep.blocks, blocks_of);
  auto pages = lists.page_bytes.empty() ? std::vector<std::size_t>{0}
                                        : parse_list(lists.page_bytes, sweep.page_bytes, parse_bytes);
  const auto unused = [&](const std::string& list, const char* option, const char* instead) {
    if (list.empty()) return;
    throw Error(Exit::usage,
                fmt::format("stress: {} does not apply to the test '{}': {}", option, name(test), instead));
  };
  if (!repeats) unused(lists.iterations, "--iterations", "it is for acd and p");
  if (test == StressTest::each) {
    unused(lists.blocks, "--blocks", "give the number of threads with --requests");
    blocks = {0};
  }

  std::vector<StressPoint> points;
  for (const std::size_t page : pages) {
    for (const std::size_t grid : blocks) {
      for (const std::size_t turns : iterations) {
        for (const std::size_t pool : pools) {
          for (const std::size_t payload : payloads) {
            points.push_back({payload, pool, static_cast<unsigned>(turns), static_cast<unsigned>(grid), page});
          }
        }
      }
    }
  }
  return points;
}

}  // namespace heapwood::app
