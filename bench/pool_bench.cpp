// SPDX-License-Identifier: MIT
#include "bench/pool_bench.hpp"

#include <algorithm>

namespace heapwood::bench {

void describe_pool_runs(JsonFields& fields, PoolRow& row) {
  fields.unless_empty("pool", row.pool);
  fields.unless_empty("pool_bytes", row.pool_bytes);
  describe_outcome(fields, row);
  fields("runs_ms", row.runs_ms);
  fields.derived_quartiles(row.runs_ms);
  fields("reset_ms", row.reset_ms);
}

std::vector<PoolSize> parse_peak_pools(const std::string& text, bool accepts_auto) {
  return parse_list(text, [&](const std::string& part) {
    using enum PoolSize::Kind;
    const PoolSize pool = parse_pool(part, "the peak, as in 1.5x");
    if (pool.kind != bytes && pool.kind != root_multiple && (!accepts_auto || pool.for_speed))
      throw_unexpected("--pool", part,
                       std::string(accepts_auto ? "auto, " : "") +
                           "a size (512M, 2G) or a multiple of the peak (1.5x)");
    return pool;
  });
}

std::uint64_t whole_pool(const PoolSize& pool, double bytes) {
  constexpr std::uint64_t unit = 256, min_pool = 1 << 16;
  if (bytes > 1e15) throw_error(Exit::usage, "--pool {}: too large", pool.text);
  const auto whole = static_cast<std::uint64_t>(bytes);
  return pool.kind == PoolSize::Kind::bytes ? whole / unit * unit
                                            : std::max((whole + unit - 1) / unit * unit, min_pool);
}

}  // namespace heapwood::bench
