// SPDX-License-Identifier: MIT
// Heapwood without a context: the builder must not find one, and the pool is laid out as for a
// program without persistent warps.
#include <gtest/gtest.h>

#include "alloc/allocators/heapwood_general.hpp"
#include "simt/cpu.hpp"
#include "simt/memory.hpp"

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

}  // namespace
}  // namespace heapwood::alloc
