// SPDX-License-Identifier: MIT
// Ouroboros with queues of pages: pages that were freed when the queue of their class had no slot.
// Threads that need them at the same time get all of them.
#include <gtest/gtest.h>

#include <vector>

#include "alloc/allocators/ouroboros.hpp"
#include "simt/memory.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {
namespace {

constexpr std::size_t bytes = 16;

// Each lane works on every lanes-th entry of `blocks`. allocate: an entry becomes a block, or null.
template <class A, class Device>
void refill(const Device& device, std::size_t pool_bytes, std::uint32_t lanes) {
  const simt::Memory memory({}, pool_bytes);
  const A allocator = A::create({memory.data(), pool_bytes}, {}, device);
  std::vector<void*> blocks;
  const auto launch = [&](bool allocates) {
    test::launch(device, 0, [&](auto& warp) {
      A a = allocator;
      const std::uint32_t lane = warp.worker() * Device::Warp::width + warp.lane();
      for (std::uint32_t i = lane; i < blocks.size() && !warp.aborted(); i += lanes) {
        if (allocates) {
          blocks[i] = a.allocate(warp, bytes);
          if (blocks[i] != nullptr) *static_cast<std::uint32_t*>(blocks[i]) = i;
        } else {
          a.deallocate(warp, blocks[i]);
        }
      }
    });
  };
  // As many as the pool serves.
  blocks.resize(pool_bytes / bytes);
  launch(true);
  std::erase(blocks, nullptr);
  ASSERT_GT(blocks.size(), pool_bytes / bytes / 2);
  std::size_t refused = 0;
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    launch(false);
    launch(true);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i] == nullptr) {
        ++refused;
      } else {
        ASSERT_EQ(*static_cast<std::uint32_t*>(blocks[i]), i);
      }
    }
  }
  // A thread that has been told that no page will come misses a list that another one holds at that
  // moment.
  EXPECT_LE(refused, blocks.size() * rounds / 200)
      << "requests were refused though pages were free";
}

template <class A>
class DirectSpill : public testing::Test {};
using PageVariants = testing::Types<OuroborosPS, OuroborosPVA, OuroborosPVL>;
TYPED_TEST_SUITE(DirectSpill, PageVariants);

TYPED_TEST(DirectSpill, ThreadsGetAllPages) {
  constexpr unsigned threads = 16;
  refill<TypeParam>(simt::Cpu({.kind = simt::DeviceKind::cpu, .index = 0, .threads = threads}),
                    64 << 10, threads);
}
TYPED_TEST(DirectSpill, LanesGetAllPages) { refill<TypeParam>(simt::Lockstep<4>(4), 16 << 10, 16); }

}  // namespace
}  // namespace heapwood::alloc
