// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "bench/replay_bench.hpp"

namespace heapwood::bench {

namespace {

ReplayPool parse_replay_pool(const std::string& text) {
  const auto fail = [&](const char* expected) {
    throw Error(Exit::usage, fmt::format("--pool '{}': expected {}", text, expected));
  };
  ReplayPool pool;
  pool.text = text;
  if (text == "auto") return pool;
  if (text.find_first_of("0123456789.") != 0)
    fail("auto, a size (512M, 2G) or a multiple of the peak (1.5x), or several of them: auto,1.5x");
  if (text.back() == 'x' || text.back() == 'X') {
    const char* const end = text.data() + text.size() - 1;
    const auto [at, error] = std::from_chars(text.data(), end, pool.multiple);
    if (error != std::errc{} || at != end || !(pool.multiple > 0) || pool.multiple > 1e9)
      fail("a multiple of the peak, as in 1.5x");
    pool.kind = ReplayPool::Kind::peak_multiple;
    return pool;
  }
  pool.kind = ReplayPool::Kind::bytes;
  pool.bytes = parse_bytes(text);
  return pool;
}

}  // namespace

std::vector<ReplayPool> parse_replay_pools(const std::string& text) {
  std::vector<ReplayPool> pools;
  for (const std::string& part : split(text, ',')) {
    const ReplayPool pool = parse_replay_pool(part);
    const bool is_known = std::any_of(pools.begin(), pools.end(), [&](const ReplayPool& other) {
      return other.text == pool.text;
    });
    if (!is_known) pools.push_back(pool);
  }
  return pools;
}

}  // namespace heapwood::bench
