// SPDX-License-Identifier: MIT
// Allocators whose large requests go to the platform's malloc(): location of blocks, the heap's
// limit, and the release of what was not freed.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "alloc/allocators/awmalloc_safe.hpp"
#include "alloc/allocators/halloc.hpp"
#include "alloc/allocators/scatter.hpp"
#include "alloc/allocators/xmalloc.hpp"
#include "simt/cpu.hpp"
#include "tests/alloc/exercise_erased.hpp"

namespace heapwood::alloc {
namespace {

constexpr std::size_t large = 9000;  // a large request for all of them, in the pools below

template <class A>
class Builtin : public testing::Test {
 protected:
  const simt::DeviceId id{.threads = 2};
  const simt::Cpu device{id};
  simt::Control control{};
  simt::SerialWarp thread{0, 1, &control};
};
using Allocators = testing::Types<Scatter, Halloc, XMalloc, AwMallocSafe>;
TYPED_TEST_SUITE(Builtin, Allocators);

TYPED_TEST(Builtin, LargeBlocksLieOutsideThePool) {
  using A = typename TypeParam::WithBuiltin;
  static_assert(!A::traits.in_pool && TypeParam::traits.in_pool);
  for (const std::size_t bytes : {8192u, 8192u + 16u * 7u, 30'000u}) {
    simt::Memory memory(this->id, bytes);
    const Pool pool{memory.data(), bytes};
    A a = A::create(pool, {}, this->device);
    const ReleaseAtEnd<A, simt::Cpu> release(pool, this->device);
    const auto inside = [&](void* block) {
      return block >= pool.base && block < pool.base + bytes;
    };
    std::size_t offset = 0;
    for (const Region& region : regions_of(a, this->id)) {
      EXPECT_EQ(region.offset, offset);
      offset += region.bytes;
    }
    EXPECT_EQ(offset, bytes);
    void* small = a.allocate(this->thread, 40);
    EXPECT_TRUE(inside(small));
    if (bytes <= large + sizeof(BuiltinHeap::Block)) {
      EXPECT_EQ(a.allocate(this->thread, large), nullptr);
    } else {
      void* block = a.allocate(this->thread, large);
      ASSERT_NE(block, nullptr);
      EXPECT_FALSE(inside(block));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % granule, 0u);
      std::memset(block, 1, large);
      a.deallocate(this->thread, block);
    }
    EXPECT_EQ(a.allocate(this->thread, ~std::size_t{0}), nullptr);
    a.deallocate(this->thread, small);
    for (const Region& region : regions_of(a, this->id))
      EXPECT_NE(region.state, Region::State::used);
  }
}

// The remaining blocks are freed by release(); AddressSanitizer reports them otherwise.
TYPED_TEST(Builtin, TheHeapIsBoundedAndReleased) {
  using A = typename TypeParam::WithBuiltin;
  simt::Memory memory(this->id, 64 << 10);
  const Pool pool{memory.data(), 64 << 10};
  A a = A::create(pool, {}, this->device);
  const ReleaseAtEnd<A, simt::Cpu> release(pool, this->device);
  std::vector<void*> blocks;
  while (void* block = a.allocate(this->thread, large)) blocks.push_back(block);
  EXPECT_GE(blocks.size(), 6u);
  EXPECT_LE(blocks.size(), 7u);
  a.deallocate(this->thread, blocks.back());
  EXPECT_NE(a.allocate(this->thread, large), nullptr);
  EXPECT_EQ(a.allocate(this->thread, large), nullptr);
}

TYPED_TEST(Builtin, StressTakesItWhereItIsAskedFor) {
  simt::Memory memory(this->id, 256 << 10);
  workloads::StressJob job;
  job.device = this->id;
  job.pool = {memory.data(), memory.bytes()};
  job.test = workloads::StressTest::each;
  job.threads = 8;
  job.payload = large;
  job.touch = true;
  for (const bool builtin : {false, true}) {
    job.options.large_backend = builtin ? LargeBackend::builtin : LargeBackend::buddy;
    job.inspect = true;
    const workloads::StressResult result = test::stress<TypeParam>(this->device, job);
    EXPECT_EQ(result.overlaps, 0u);
    ASSERT_TRUE(result.peak.has_value());
    EXPECT_EQ(result.peak->address_bytes > 0, !builtin);
    EXPECT_EQ(result.peak->fragmentation.measured, !builtin);
    job.inspect = false;
    EXPECT_EQ(test::stress<TypeParam>(this->device, job).damaged, 0u);
  }
}

}  // namespace
}  // namespace heapwood::alloc
