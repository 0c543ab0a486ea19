// SPDX-License-Identifier: MIT
// The walk over a pool of arenas that both layouts share (layout.hpp, page_layout.hpp). Host code.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/heapwood/arenas.hpp"

namespace heapwood::alloc::arena {

// Visits the regions of the pool in order of offset. Free regions of arenas are runs of free arenas
// within one superblock and runs of superblocks without a used arena. Spans are used, and so is any
// other arena unless `divided(i, add)` adds its regions with add(bytes, state) and returns how many
// arenas they fill; it returns 0 for an arena that is used as a whole. `counts` is padded to whole
// superblocks.
template <class Visitor, class Divided>
void walk_arenas(Pool pool, const Arenas& a, const std::vector<std::uint32_t>& counts,
                 const std::vector<std::uint32_t>& superblocks, Visitor visit, Divided divided) {
  const auto empty = [&](std::uint32_t s) {
    if (s >= a.superblocks || is_span(superblocks[s])) return false;
    const auto first = counts.begin() + s * Arenas::per_superblock;
    return std::all_of(first, first + a.arenas_in(s), [](std::uint32_t c) { return c == 0; });
  };
  std::size_t at = 0;
  const auto add = [&](std::size_t bytes, Region::State state) {
    if (bytes > 0) visit(Region{at, bytes, state});
    at += bytes;
  };
  add(static_cast<std::size_t>(a.memory - pool.base), Region::State::metadata);
  for (std::uint32_t i = 0, n = 0; i < a.arenas; i += n) {
    const std::uint32_t s = i / Arenas::per_superblock, word = counts[i];
    n = 1;
    Region::State state = Region::State::used;
    if (i % Arenas::per_superblock == 0 && is_span(superblocks[s])) {
      n = std::min((superblocks[s] - span) * Arenas::per_superblock, a.arenas - i);
    } else if (i % Arenas::per_superblock == 0 && empty(s)) {
      state = Region::State::free;
      n = a.arenas_in(s);
      for (std::uint32_t next = s + 1; empty(next); ++next) n += a.arenas_in(next);
    } else if (word == 0) {
      state = Region::State::free;
      while ((i + n) % Arenas::per_superblock != 0 && i + n < a.arenas && counts[i + n] == 0) ++n;
    } else if (is_span(word)) {
      n = word - span;
    } else if (const std::uint32_t filled = divided(i, add); filled != 0) {
      n = filled;
      continue;
    }
    if (n == 0 || n > a.arenas - i)
      throw Error(Exit::failed, "heapwood: arena " + std::to_string(i) + " is within no block");
    add(std::size_t{n} << a.shift, state);
  }
  add(pool.bytes - at, Region::State::metadata);
}

}  // namespace heapwood::alloc::arena
