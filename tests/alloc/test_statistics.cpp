// SPDX-License-Identifier: MIT
#include "alloc/statistics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "alloc/adaptors/counted.hpp"
#include "registry/registry.hpp"
#include "simt/cpu.hpp"
#include "simt/warp.hpp"
#include "tests/alloc/targets.hpp"

namespace heapwood::alloc {

using State = Region::State;

TEST(Fragmentation, IsThePapersDefinition) {
  const std::vector<Region> regions = {{0, 64, State::metadata}, {64, 32, State::used},
                                       {96, 64, State::used},    {160, 48, State::free},
                                       {208, 16, State::held},   {224, 16, State::free}};
  // Requests of 8 in a region of 32 waste 0.75; of 32 in 64 they waste 0.5.
  const std::vector<std::uint64_t> requested{0, 8, 32, 0, 0, 0};
  const Fragmentation f = fragmentation_by_region(regions, requested);
  EXPECT_TRUE(f.measured);
  ASSERT_TRUE(f.internal.has_value());
  EXPECT_DOUBLE_EQ(*f.internal, (0.75 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(f.external, 1 - 48.0 / 64);
  EXPECT_EQ(f.free_bytes, 64u);
  EXPECT_EQ(f.largest_free_bytes, 48u);
  EXPECT_EQ(f.used_bytes, 96u);
  EXPECT_EQ(f.metadata_bytes, 64u);
}

TEST(Fragmentation, OfBlocksIsThePapersDefinition) {
  const std::vector<Region> regions{{0, 64, State::metadata}, {64, 32, State::used},
                                    {96, 32, State::free},    {128, 96, State::free},
                                    {224, 64, State::used},   {288, 64, State::free}};
  const std::vector<LiveBlock> blocks{{64, 4}, {224, 10}, {256, 30}};
  const Fragmentation a = fragmentation_of_blocks(regions, blocks);
  ASSERT_TRUE(a.internal);
  EXPECT_DOUBLE_EQ(*a.internal, (28.0 / 32 + 24.0 / 64) / 2);
  EXPECT_DOUBLE_EQ(a.external, 0.5);
  EXPECT_DOUBLE_EQ(a.external_merged, 1 - 128.0 / 192);
  EXPECT_EQ(a.metadata_bytes, 64u);
}

TEST(CountedMemory, SumsTheLogByRegion) {
  const simt::Cpu device(simt::find_device("cpu", 2).id);
  constexpr std::size_t granules = 5000;  // so regions have several pieces, pieces several blocks
  CountedMemory counted(device.id(), granules * granule);
  std::vector<Region> regions;
  std::vector<std::uint64_t> expected;
  for (std::size_t first = 0, i = 0; first < granules; ++i) {
    const std::size_t n = std::min(granules - first, i % 3 == 0 ? std::size_t{1500} : 1 + i % 7);
    regions.push_back({first * granule, n * granule, i % 4 == 1 ? State::free : State::used});
    expected.push_back(0);
    for (std::size_t k = first; k < first + n && i % 4 != 1; k += 2) {
      counted.log()[k] = static_cast<std::uint32_t>(1 + k % 32);
      expected.back() += 1 + k % 32;
    }
    first += n;
  }
  EXPECT_EQ(counted.requested(regions, device), expected);
  EXPECT_EQ(counted.requested({}, device), std::vector<std::uint64_t>{});
}

TEST(Fragmentation, WhatIsUnknownIsAbsent) {
  EXPECT_FALSE(fragmentation_by_region({}, {}).measured);
  const std::vector<Region> regions = {{0, 64, State::used}};
  const std::vector<std::uint64_t> unknown{0};
  const Fragmentation f = fragmentation_by_region(regions, unknown);
  EXPECT_TRUE(f.measured);
  EXPECT_FALSE(f.internal.has_value());
  EXPECT_EQ(f.external, 0);
}

// AWMalloc after its offset has wrapped: two blocks share one address, and the walk sees 16 bytes.
TEST(Fragmentation, BlocksThatShareMemoryHaveNoInternalOne) {
  const std::vector<Region> regions = {{0, 16, State::used}, {16, 48, State::free}};
  const std::vector<LiveBlock> blocks{{0, 16}, {0, 16}, {16, 16}}, small{{0, 4}, {0, 4}};
  const Fragmentation f = fragmentation_of_blocks(regions, blocks);
  EXPECT_TRUE(f.measured);
  EXPECT_FALSE(f.internal.has_value());
  EXPECT_EQ(f.used_bytes, 16u);
  // No more bytes than the region has.
  EXPECT_FALSE(fragmentation_of_blocks(regions, small).internal.has_value());
  const std::vector<std::uint64_t> requested{32, 0}, fits{16, 0};
  EXPECT_FALSE(fragmentation_by_region(regions, requested).internal.has_value());
  EXPECT_TRUE(fragmentation_by_region(regions, fits).internal.has_value());
}

TEST(RequestStats, SumsOfSquaresBeyond64Bits) {
  CounterWords words{};
  EXPECT_EQ(request_stats(words).mean_bytes, 0);
  // Two requests of 2^40 and 3 * 2^40 bytes: mean 2^41, sigma 2^40.
  const double unit = 1099511627776.0;
  words.allocations = 2;
  words.sum = std::uint64_t{4} << 40;
  words.square_high = (std::uint64_t{1} << 48) + (std::uint64_t{9} << 48);
  const RequestStats stats = request_stats(words);
  EXPECT_DOUBLE_EQ(stats.mean_bytes, 2 * unit);
  EXPECT_DOUBLE_EQ(stats.sigma_bytes, unit);
}

// An allocator that serves requests from a buffer of its own, which is not in the pool.
struct BesideThePool {
  static constexpr AllocatorTraits traits{
      .id = "beside", .label = "beside", .paper = "none", .in_pool = false};
  std::byte* buffer;
  std::size_t bytes;

  template <class Thread>
  void* allocate(Thread&, std::size_t wanted) const {
    return wanted <= bytes ? buffer : nullptr;
  }
};

TEST(RequestStats, SizesThatWrapWithAHeaderAreRefused) {
  const simt::Cpu device(simt::find_device("cpu", 1).id);
  const CountedMemory memory(device.id(), 4096);
  alignas(granule) std::byte buffer[64];
  auto counted = Counted<BesideThePool>::create({buffer, sizeof(buffer)}, {}, memory);
  simt::Control control;
  simt::SerialWarp warp(0, 1, &control);
  for (std::size_t less = 0; less <= 2 * granule; ++less)
    EXPECT_EQ(counted.allocate(warp, ~std::size_t{0} - less), nullptr) << less;
  EXPECT_EQ(counted.allocate(warp, 40), buffer + granule);
  EXPECT_EQ(memory.result().failures, 2 * granule + 1);
  EXPECT_EQ(memory.result().allocations, 1u);
}

// The registers that an allocator's calls need on a GPU.
TEST(Registers, HeapwoodLeavesRoomForManyWarps) {
  const registry::RegisteredAllocator* heapwood = registry::find("heapwood");
  ASSERT_NE(heapwood, nullptr);
  const test::Target target = test::targets().front();
  const registry::CompiledAllocator* compiled =
      target.unusable.empty() ? heapwood->on(target.device.kind) : nullptr;
  if (compiled == nullptr || target.device.kind == simt::DeviceKind::cpu)
    GTEST_SKIP() << "only GPUs have registers";
  const registry::CallUse use = compiled->call_use(target.device, false, LargeBackend::buddy);
  ASSERT_TRUE(use.own.has_value());
  EXPECT_LE(use.own->registers, 40u);
  EXPECT_EQ(use.own->local_bytes, 0u) << "spilled";
  EXPECT_LE(use.both.registers, 64u) << "half of a multiprocessor's warps would not fit";
  EXPECT_EQ(use.both.local_bytes, 0u) << "spilled";
}

}  // namespace heapwood::alloc
