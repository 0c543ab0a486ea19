// SPDX-License-Identifier: MIT
// Shared by the conformance tests: the fixture and checks of results.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/alloc/targets.hpp"

namespace heapwood::alloc::test {

using Kind = workloads::Op::Kind;

class Conformance : public testing::TestWithParam<Target> {
 protected:
  void SetUp() override {
    if (!GetParam().unusable.empty()) GTEST_SKIP() << GetParam().unusable;
  }
  const Target& target() const { return GetParam(); }
  const AllocatorTraits& traits() const { return *GetParam().traits; }

  workloads::ExerciseJob job(std::size_t pool_bytes, unsigned warps, unsigned lanes,
                             std::uint32_t slots) const {
    workloads::ExerciseJob j;
    j.device = target().device;
    j.pool_bytes = pool_bytes;
    j.warps = warps;
    j.lanes = lanes;
    j.slots = slots;
    return j;
  }

  // Runs the job and checks what holds for every job: walks cover the pool, patterns are intact,
  // pointers are aligned.
  workloads::ExerciseResult run(const workloads::ExerciseJob& j) const {
    const workloads::ExerciseResult result = target().run(j);
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
          const workloads::Op& op = j.phases[p].scripts[s][i];
          const workloads::OpResult& r = result.phases[p].ops[s][i];
          if ((op.kind != Kind::allocate && op.kind != Kind::exchange) ||
              r.offset == workloads::OpResult::failed)
            continue;
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

  static void expect_cover(const std::vector<Region>& regions, std::size_t pool_bytes) {
    std::size_t at = 0;
    for (const Region& region : regions) {
      ASSERT_EQ(region.offset, at) << "walk() left a gap, or two regions overlap";
      ASSERT_GT(region.bytes, 0u) << "walk() reported a region of 0 bytes";
      at += region.bytes;
    }
    EXPECT_EQ(at, pool_bytes) << "walk() did not end with the pool";
  }
};

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
inline void expect_disjoint(const workloads::ExercisePhase& phase,
                            const workloads::ExercisePhaseResult& result) {
  std::vector<std::pair<std::int64_t, std::int64_t>> blocks;
  for (std::size_t s = 0; s < phase.scripts.size(); ++s) {
    for (std::size_t i = 0; i < phase.scripts[s].size(); ++i) {
      if (phase.scripts[s][i].kind != Kind::allocate ||
          result.ops[s][i].offset == workloads::OpResult::failed)
        continue;
      const auto at = static_cast<std::int64_t>(result.ops[s][i].offset);
      blocks.emplace_back(at, at + static_cast<std::int64_t>(
                                       std::max<std::uint64_t>(1, phase.scripts[s][i].bytes)));
    }
  }
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    EXPECT_LE(blocks[i - 1].second, blocks[i].first)
        << "the block at " << blocks[i].first << " overlaps the one at " << blocks[i - 1].first;
  }
}

inline std::uint64_t successes(const workloads::ExercisePhase& phase,
                               const workloads::ExercisePhaseResult& result) {
  std::uint64_t count = 0;
  for (std::size_t s = 0; s < phase.scripts.size(); ++s) {
    for (std::size_t i = 0; i < phase.scripts[s].size(); ++i) {
      count += phase.scripts[s][i].kind == Kind::allocate &&
               result.ops[s][i].offset != workloads::OpResult::failed;
    }
  }
  return count;
}

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

}  // namespace heapwood::alloc::test
