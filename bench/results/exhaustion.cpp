// SPDX-License-Identifier: MIT
#include "bench/results/exhaustion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/results/format.hpp"

namespace heapwood::bench {

std::string exhaustion_text(const Result& result) {
  std::string text =
      fmt::format("{}: pool of {} exhausted, tree incomplete: requested {}", result.allocator,
                  bytes_text(result.pool_bytes.value_or(0)), bytes_text(result.refused_bytes));
  if (result.requests && result.pool_bytes) {
    const std::uint64_t used = std::min(result.requests->high_water_bytes, *result.pool_bytes);
    text += fmt::format(", max used {}, free {}", bytes_text(used),
                        bytes_text(*result.pool_bytes - used));
  }
  if (result.at_end)
    text += fmt::format(", largest free region {} after the build",
                        bytes_text(result.at_end->largest_free_bytes));
  if (result.settings.pool.kind == PoolSize::Kind::automatic) {
    return text +
           "; no larger pool would help or fit in the device's memory: use another allocator or "
           "--refs ids";
  }
  return text + "; use --pool auto or a larger --pool";
}

}  // namespace heapwood::bench
