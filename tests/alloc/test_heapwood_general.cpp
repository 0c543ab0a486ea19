// SPDX-License-Identifier: MIT
// Heapwood's general form: the builder must not find a context, the pool is laid out as for a
// program without persistent warps, and a thread that frees a large block is served again.
#include <gtest/gtest.h>

#include <vector>

#include "alloc/allocators/heapwood_general.hpp"
#include "simt/memory.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {
namespace {

template <class A>
constexpr bool has_context = requires {
  typename A::WarpState;
};
static_assert(has_context<Heapwood> && !has_context<HeapwoodGeneral>);
static_assert(HeapwoodGeneral::traits.cache_bytes_per_warp == 0);

template <class A>
std::vector<std::size_t> layout(const AllocatorOptions& options) {
  const simt::Cpu device({.kind = simt::DeviceKind::cpu, .index = 0, .threads = 2});
  const simt::Memory memory(device.id(), std::size_t{512} << 20);
  const A heap = A::create({memory.data(), memory.bytes()}, options, device);
  std::vector<std::size_t> edges;
  heap.walk(HostView(device.id()), [&](const Region& region) { edges.push_back(region.offset); });
  return edges;
}

TEST(HeapwoodGeneral, HasTheLayoutWithoutPersistentWarps) {
  const AllocatorOptions of_builds{.has_persistent_warps = true,
                                   .spare_bytes_for_warps = std::size_t{500} << 20};
  EXPECT_EQ(layout<HeapwoodGeneral>(of_builds), layout<Heapwood>({}));
  EXPECT_NE(layout<HeapwoodGeneral>(of_builds), layout<Heapwood>(of_builds));
}

// A thread is refused a large block, frees others and requests it again.
template <class A>
void serves_again(std::size_t each, std::size_t wanted) {
  SCOPED_TRACE(each);
  const simt::Cpu device({.kind = simt::DeviceKind::cpu, .index = 0, .threads = 1});
  const simt::Memory memory(device.id(), std::size_t{16} << 20);
  const A heap = A::create({memory.data(), memory.bytes()}, {}, device);
  bool was_refused = false, is_served = false;
  test::launch(device, 1, [&](auto& warp) {
    std::vector<void*> blocks;
    while (void* block = heap.allocate(warp, each)) blocks.push_back(block);
    was_refused = heap.allocate(warp, wanted) == nullptr;
    for (void* block : blocks) heap.deallocate(warp, block);
    is_served = heap.allocate(warp, wanted) != nullptr;
  });
  EXPECT_TRUE(was_refused);
  EXPECT_TRUE(is_served);
}
TEST(HeapwoodGeneral, AThreadThatFreesLargeBlocksIsServedAgain) {
  constexpr std::size_t KiB = 1024;
  serves_again<Heapwood>(11'000 * KiB, 6'000 * KiB);
  serves_again<Heapwood>(300 * KiB, 6'000 * KiB);
  serves_again<Heapwood>(300 * KiB, 300 * KiB);
}

}  // namespace
}  // namespace heapwood::alloc
