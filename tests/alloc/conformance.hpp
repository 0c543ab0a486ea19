// SPDX-License-Identifier: MIT
// Scripts of allocator calls (exercise.hpp), checks of their results, and the fixture of the
// conformance tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/alloc/targets.hpp"

namespace heapwood::alloc::test {

using workloads::ExerciseJob;
using workloads::ExercisePhase;
using workloads::ExercisePhaseResult;
using workloads::ExerciseResult;
using workloads::Op;
using workloads::OpResult;
using Kind = Op::Kind;
using Script = std::vector<Op>;

inline std::size_t bytes_in(const std::vector<Region>& regions, Region::State state) {
  std::size_t sum = 0;
  for (const Region& region : regions) sum += region.state == state ? region.bytes : 0;
  return sum;
}

inline void expect_all_freed(const std::vector<Region>& regions) {
  EXPECT_EQ(bytes_in(regions, Region::State::used), 0u)
      << "all blocks were freed, but walk() reports used regions";
}

inline std::size_t largest_free(const std::vector<Region>& regions) {
  std::size_t most = 0;
  for (const Region& region : regions) {
    if (region.state == Region::State::free) most = std::max(most, region.bytes);
  }
  return most;
}

// No two blocks of the phase overlap. Valid only if the phase frees nothing.
inline void expect_disjoint(const ExercisePhase& phase, const ExercisePhaseResult& result) {
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks;
  for (std::size_t s = 0; s < phase.scripts.size(); ++s) {
    for (std::size_t i = 0; i < phase.scripts[s].size(); ++i) {
      if (phase.scripts[s][i].kind != Kind::allocate || result.ops[s][i].offset == OpResult::failed)
        continue;
      const auto begin = static_cast<std::int64_t>(result.ops[s][i].offset);
      blocks.emplace_back(begin, begin + static_cast<std::int64_t>(std::max<std::uint64_t>(
                                             1, phase.scripts[s][i].bytes)));
    }
  }
  std::ranges::sort(blocks);
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    EXPECT_LE(blocks[i - 1].second, blocks[i].first)
        << "the block at " << blocks[i].first << " overlaps the one at " << blocks[i - 1].first;
  }
}

// Requests that were served, of a phase that frees nothing.
inline std::uint32_t served(const ExercisePhaseResult& phase) {
  std::uint32_t n = 0;
  for (const auto& ops : phase.ops) {
    for (const OpResult& r : ops) n += r.offset != OpResult::failed;
  }
  return n;
}
inline std::size_t used_bytes(const ExercisePhaseResult& phase) {
  return bytes_in(phase.regions, Region::State::used);
}

class Conformance : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (!GetParam().unusable.empty()) GTEST_SKIP() << GetParam().unusable;
  }
  const Target& target() const { return GetParam(); }
  const AllocatorTraits& traits() const { return *GetParam().traits; }

  ExerciseJob job(std::size_t pool_bytes, unsigned warps, unsigned lanes,
                  std::uint32_t slots) const {
    return {.device = target().device,
            .pool_bytes = pool_bytes,
            .warps = warps,
            .lanes = lanes,
            .slots = slots};
  }

  // Runs the job and checks what holds for every job: walks cover the pool, patterns are intact,
  // pointers are aligned.
  ExerciseResult run(const ExerciseJob& j) const {
    const ExerciseResult result = target().run(j);
    if (traits().in_pool) {
      expect_cover(result.initial, j.pool_bytes);
      for (const auto& phase : result.phases) expect_cover(phase.regions, j.pool_bytes);
    }
    if (traits().keeps_live_memory) {
      EXPECT_EQ(result.mismatches, 0u) << "words of a block were changed by another owner";
    }
    EXPECT_TRUE(result.same_initial_walk) << "two calls of create() gave different layouts";
    for (std::size_t p = 0; p < result.phases.size(); ++p) {
      EXPECT_EQ(result.phases[p].ops.size(), j.phases[p].scripts.size());
      for (std::size_t s = 0; s < result.phases[p].ops.size(); ++s) {
        for (std::size_t i = 0; i < result.phases[p].ops[s].size(); ++i) {
          const Op& op = j.phases[p].scripts[s][i];
          const OpResult& r = result.phases[p].ops[s][i];
          if (r.offset == OpResult::failed) continue;  // 0 for operations that do not allocate
          EXPECT_EQ(r.offset % 16, 0u) << "a block is not aligned to 16 bytes";
          if (traits().in_pool) {
            EXPECT_LE(r.offset + std::max<std::uint64_t>(op.bytes, 1), j.pool_bytes)
                << "a block of " << op.bytes << " bytes ends outside the pool";
          }
        }
      }
    }
    return result;
  }

  // For phases that allocate and free in turn: no two blocks of a phase overlap, and all are freed.
  void expect_disjoint_and_freed(const ExerciseJob& j, const ExerciseResult& result) const {
    for (std::size_t p = 0; p < j.phases.size(); p += 2) {
      expect_disjoint(j.phases[p], result.phases[p]);
      if (target().frees() && traits().in_pool) expect_all_freed(result.phases[p + 1].regions);
    }
  }

  static void expect_cover(const std::vector<Region>& regions, std::size_t pool_bytes) {
    std::size_t offset = 0;
    for (const Region& region : regions) {
      ASSERT_EQ(region.offset, offset) << "walk() left a gap, or two regions overlap";
      ASSERT_GT(region.bytes, 0u) << "walk() reported a region of 0 bytes";
      offset += region.bytes;
    }
    EXPECT_EQ(offset, pool_bytes) << "walk() did not end with the pool";
  }
};

// A small counter-based generator with the same sequence on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint32_t operator()(std::uint32_t below) {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<std::uint32_t>(((z ^ (z >> 31)) >> 32) * below >> 32);
  }

 private:
  std::uint64_t state_;
};

inline const simt::DeviceId four_threads{.threads = 4};

// A job with one lane per warp.
inline ExerciseJob job_of(std::size_t pool_bytes, unsigned warps, std::uint32_t slots,
                          std::vector<ExercisePhase> phases = {},
                          const AllocatorOptions& options = {}) {
  return {.device = four_threads,
          .pool_bytes = pool_bytes,
          .options = options,
          .warps = warps,
          .slots = slots,
          .phases = std::move(phases)};
}

// One operation for every step-th slot from `first` to before `end`.
inline Script of_slots(Kind kind, std::uint32_t first, std::uint32_t end, std::uint64_t bytes = 0,
                       std::uint32_t step = 1) {
  Script script;
  for (std::uint32_t slot = first; slot < end; slot += step) script.push_back({kind, slot, bytes});
  return script;
}
// The scripts of several lanes, each for its share of `each` slots. With a `shift`, a script takes
// the slots of the script that many positions later.
inline ExercisePhase of_shares(std::uint32_t scripts, std::uint32_t each, Kind kind,
                               std::uint64_t bytes = 0, std::uint32_t shift = 0) {
  ExercisePhase phase;
  for (std::uint32_t s = 0; s < scripts; ++s) {
    const std::uint32_t first = (s + shift) % scripts * each;
    phase.scripts.push_back(of_slots(kind, first, first + each, bytes));
  }
  return phase;
}
// Allocates size(slot) bytes into each slot.
template <class Size>
ExercisePhase allocate_shares(std::uint32_t scripts, std::uint32_t each, Size size) {
  ExercisePhase phase = of_shares(scripts, each, Kind::allocate);
  for (Script& script : phase.scripts) {
    for (Op& op : script) op.bytes = size(op.slot);
  }
  return phase;
}
// Frees the blocks in all slots, in scripts that take turns.
inline ExercisePhase free_all(std::uint32_t scripts, std::uint32_t slots) {
  ExercisePhase phase;
  for (std::uint32_t s = 0; s < scripts; ++s)
    phase.scripts.push_back(of_slots(Kind::free, s, slots, 0, scripts));
  return phase;
}
// Each lane exchanges blocks in random slots; size(random) draws a block's bytes. One of `frees`
// operations frees a block instead; 0: none does.
template <class Size>
ExercisePhase exchange_at_random(std::uint32_t scripts, std::uint32_t slots, unsigned each,
                                 std::uint64_t seed, Size size, std::uint32_t frees = 0) {
  ExercisePhase phase;
  for (std::uint32_t s = 0; s < scripts; ++s) {
    Random random(seed + s);
    Script& script = phase.scripts.emplace_back();
    for (unsigned i = 0; i < each; ++i) {
      const std::uint32_t slot = random(slots);
      const bool is_free = frees != 0 && random(frees) == 0;
      script.push_back({is_free ? Kind::free : Kind::exchange, slot, size(random)});
    }
  }
  return phase;
}

}  // namespace heapwood::alloc::test
