// SPDX-License-Identifier: MIT
// The particle workload without kernels, in integers, so that every device computes the same. A
// primary particle emits secondaries in every round. A secondary moves, loses energy, may split,
// and ends after a heavy-tailed number of rounds or by Russian roulette. Random numbers depend on
// the particle's state only, not on the order in which particles are processed.
#pragma once

#include <cstdint>

#include "simt/config.hpp"
#include "workloads/mixed.hpp"

namespace heapwood::workloads::particles {

struct Particle {
  std::uint32_t energy;
  std::uint16_t position;
  std::uint8_t rounds_left;
  std::uint8_t lane;  // its primary's number modulo 32
};

HEAPWOOD_INLINE std::uint64_t bits_of(const Particle& p) {
  return std::uint64_t{p.energy} << 32 | std::uint64_t{p.position} << 16 |
         std::uint64_t{p.rounds_left} << 8 | p.lane;
}

// The number of zero bits below the lowest one, at most `max`: k with probability 2^-(k + 1).
HEAPWOOD_INLINE unsigned geometric(std::uint64_t random, unsigned max) {
  unsigned k = 0;
  while (k < max && (random >> k & 1) == 0) ++k;
  return k;
}

// A lifetime in rounds, from 1 to 127: the probability of more than x is about 1 / x.
HEAPWOOD_INLINE std::uint8_t lifetime_of(std::uint64_t random) {
  const unsigned k = geometric(random, 6);
  return static_cast<std::uint8_t>((1u << k) + (random >> 8 & ((1u << k) - 1)));
}

// The rest of a lifetime at a random time: longer ones are more likely to be seen, so that each
// power of two is equally likely.
HEAPWOOD_INLINE std::uint8_t remaining_lifetime(std::uint64_t random) {
  const std::uint64_t whole = std::uint64_t{1} << random % 7;
  return static_cast<std::uint8_t>(1 + (random >> 8) % (whole + (random >> 24 & (whole - 1))));
}

// What happened to energy and particles; all sums are modulo 2^64.
struct Tally {
  enum Sum { energy_in, energy_out, born, died, requests, refused, digest, count };
  std::uint64_t sums[count];

  HEAPWOOD_INLINE void add(const Tally& more) {
    HEAPWOOD_UNROLLED
    for (int i = 0; i < count; ++i) sums[i] += more.sums[i];
  }
  HEAPWOOD_INLINE void add_born(const Particle& child) {
    sums[energy_in] += child.energy;
    ++sums[born];
  }
  HEAPWOOD_INLINE void add_died(const Particle& p) {
    sums[energy_out] += p.energy;
    ++sums[died];
  }
  // A particle that lives when the last round has ended. The digest is a sum, so that their order
  // does not count.
  HEAPWOOD_INLINE void add_last(const Particle& p, std::uint64_t primary) {
    add_died(p);
    sums[digest] += mixed(primary, bits_of(p));
  }
};

struct Fate {
  bool lives, splits;
  Particle child;  // if it splits
};

// One round of a secondary; `key` differs between rounds and primaries. A child takes a part of the
// energy; its caller adds it to the tally.
HEAPWOOD_INLINE Fate advance(Particle& p, std::uint64_t key, Tally& tally) {
  constexpr std::uint32_t roulette_energy = 1u << 20;
  const std::uint64_t random = mixed(key, bits_of(p));
  Fate fate{true, false, {}};
  p.position = static_cast<std::uint16_t>(p.position + random);
  const std::uint32_t deposited = p.energy / 16;
  p.energy -= deposited;
  tally.sums[Tally::energy_out] += deposited;
  fate.lives = --p.rounds_left != 0;
  if (fate.lives && p.energy < roulette_energy) {
    // Half of the particles end; the others stand for them, with twice the energy.
    fate.lives = (random >> 16 & 1) != 0;
    if (fate.lives) tally.sums[Tally::energy_in] += p.energy;
    if (fate.lives) p.energy *= 2;
  }
  if (!fate.lives) {
    tally.add_died(p);
    return fate;
  }
  fate.splits = (random >> 17 & 63) == 0;
  if (fate.splits) {
    const std::uint64_t more = mixed(random, 0);
    fate.child = {p.energy / 2, static_cast<std::uint16_t>(more), lifetime_of(more >> 16), p.lane};
    p.energy -= fate.child.energy;
    tally.sums[Tally::energy_out] += fate.child.energy;
  }
  return fate;
}

// What all kernels know of a round. `rate`: mean number of secondaries per primary, times 2^16.
struct Round {
  std::uint64_t seed, primaries;
  std::uint32_t number, rate;

  HEAPWOOD_INLINE std::uint64_t key_of(std::uint64_t primary) const {
    return mixed(mixed(seed, number), primary);
  }
  // The secondaries that a primary emits: one in four primaries is twice as strong, one in 16 four
  // times, and so on up to 64 times.
  HEAPWOOD_INLINE std::uint32_t emitted_by(std::uint64_t primary) const {
    const unsigned strength = geometric(mixed(~seed, primary), 12) / 2;
    const std::uint64_t scaled = std::uint64_t{rate} << strength;
    return static_cast<std::uint32_t>((scaled + (key_of(primary) & 0xffff)) >> 16);
  }
  HEAPWOOD_INLINE Particle secondary(std::uint64_t primary, std::uint32_t i) const {
    const std::uint64_t random = mixed(key_of(primary), ~std::uint64_t{i});
    return {(1u << 24) + (static_cast<std::uint32_t>(random >> 32) >> 1),
            static_cast<std::uint16_t>(random),
            number == 0 ? remaining_lifetime(random >> 16) : lifetime_of(random >> 16),
            static_cast<std::uint8_t>(primary & 31)};
  }
};

// The list of a primary's secondaries: chunks, the newest first. The oldest two have 16 bytes, the
// next two 32, and so on up to 1,024. All but the newest are full.
struct Chunk {
  static constexpr std::uint32_t max_class = 6;
  Chunk* next;
  Particle particles[1];

  HEAPWOOD_INLINE static std::uint32_t bytes_at(std::uint32_t depth) {
    return 16u << (depth / 2 < max_class ? depth / 2 : max_class);
  }
  HEAPWOOD_INLINE static std::uint32_t capacity_at(std::uint32_t depth) {
    return bytes_at(depth) / 8 - 1;
  }
};
static_assert(sizeof(Particle) == 8 && sizeof(Chunk) == 16);

struct List {
  Chunk* newest;
  std::uint32_t chunks;     // number of chunks
  std::uint32_t in_newest;  // particles in the newest
};

// One round of a primary's list or, with `ends`, frees it and counts its particles.
// allocate(bytes) returns nullptr if it refuses; then the new particle is lost. Ends early if
// is_aborted(). Contains one call of each function, so that an allocator is inlined only once.
template <class Allocate, class Deallocate, class IsAborted>
HEAPWOOD_INLINE void update_list(const Round& round, std::uint64_t primary, List& list, bool ends,
                                 Tally& tally, Allocate allocate, Deallocate deallocate,
                                 IsAborted is_aborted) {
  const std::uint64_t key = round.key_of(primary);
  std::uint32_t emitted = ends ? 0 : round.emitted_by(primary);
  // The cursor: `left` particles of the chunk at `depth` are to be processed, the last one first.
  // Particles above it are processed or new.
  Chunk* chunk = list.newest;
  std::uint32_t depth = list.chunks, left = ends ? 0 : list.in_newest;
  HEAPWOOD_ROLLED
  for (std::uint32_t turn = 1;; ++turn) {
    if (turn % 32 == 0 && is_aborted()) break;
    Particle child{};
    bool adds = false, removes = false;
    if (left > 0) {
      Particle& p = chunk->particles[--left];
      Particle moved = p;
      const Fate fate = advance(moved, key, tally);
      adds = fate.splits;
      child = fate.child;
      removes = !fate.lives;
      // The newest particle takes the place of one that ends.
      p = removes ? list.newest->particles[list.in_newest - 1] : moved;
      if (left == 0 && --depth > 0) {
        chunk = chunk->next;
        left = Chunk::capacity_at(depth - 1);
      }
    } else if (emitted > 0) {
      child = round.secondary(primary, --emitted);
      adds = true;
    } else if (ends && list.chunks > 0) {
      for (; list.in_newest > 1; --list.in_newest)
        tally.add_last(list.newest->particles[list.in_newest - 1], primary);
      tally.add_last(list.newest->particles[0], primary);
      removes = true;
    } else {
      break;
    }
    if (adds) {
      bool has_space = list.chunks > 0 && list.in_newest < Chunk::capacity_at(list.chunks - 1);
      if (!has_space) {
        auto* const block = static_cast<Chunk*>(allocate(Chunk::bytes_at(list.chunks)));
        ++tally.sums[Tally::requests];
        has_space = block != nullptr;
        tally.sums[Tally::refused] += !has_space;
        if (has_space) {
          block->next = list.newest;
          list = {block, list.chunks + 1, 0};
        }
      }
      if (has_space) {
        list.newest->particles[list.in_newest++] = child;
        tally.add_born(child);
      }
    }
    if (removes && --list.in_newest == 0) {
      Chunk* const block = list.newest;
      list.newest = block->next;
      --list.chunks;
      list.in_newest = list.chunks > 0 ? Chunk::capacity_at(list.chunks - 1) : 0;
      deallocate(block);
    }
  }
}

}  // namespace heapwood::workloads::particles
