// SPDX-License-Identifier: MIT
// The builder on simulated warps and on threads gives the same tree, also if requests are refused
// for a while. Here ThreadSanitizer checks the accesses of a GPU's lanes.
#include "alloc/allocators/circular_lists.hpp"
#include "tests/kdtree/families.hpp"
#include "tests/kdtree/warps.hpp"

namespace heapwood::kdtree {
namespace {

using namespace test;

TEST(BuildWarps, SimulatedWarpsBuildTheSameTree) {
  Case clipped(RefKind::clipped), ids(RefKind::ids);
  expect_the_tree<alloc::CfMalloc, RefKind::clipped>(simt::Lockstep<4>(3), clipped);
  expect_the_tree<alloc::CfMalloc, RefKind::ids>(simt::Lockstep<4>(2), ids);
}

// The queue is full, and no shared nodes are free.
TEST(BuildWarps, AFullQueueChangesNoTree) {
  Case c(RefKind::clipped, 43, {.ring = 8, .shared_nodes = 1});
  expect_the_tree<alloc::CfMalloc, RefKind::clipped>(simt::Lockstep<4>(2), c);
}

// Refuses some requests of a build, by number.
template <class Base>
struct Refusing {
  static constexpr alloc::AllocatorTraits traits = Base::traits;
  Base base;
  std::uint64_t *calls, *refused;
  std::uint64_t first, end;  // refuses requests [first, end)
  bool half;                 // refuses every second other request too

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const std::uint64_t call =
        simt::atomic_ref<std::uint64_t>(*calls).fetch_add(1, simt::relaxed) + 1;
    if ((call >= first && call < end) || (half && call % 2 == 0 && call > 3)) {
      simt::atomic_ref<std::uint64_t>(*refused).fetch_add(1, simt::relaxed);
      return nullptr;
    }
    return base.allocate(thread, bytes);
  }
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    base.deallocate(thread, block);
  }
};

template <class Device>
BuildRun build_refusing(const Device& device, Case& c, std::uint64_t first, std::uint64_t end,
                        bool half, std::uint64_t& refused) {
  simt::Buffer<std::uint64_t> counters({}, 2);
  counters.fill(0);
  const auto make = [&] {
    return Refusing<alloc::CfMalloc>{alloc::CfMalloc::create(c.workspace.pool(), {}, device),
                                     counters.data(),
                                     counters.data() + 1,
                                     first,
                                     end,
                                     half};
  };
  const BuildRun run =
      build_with<alloc::CfMalloc, RefKind::clipped>(device, c.workspace, unlimited(), make);
  refused = counters.download()[1];
  return run;
}

// A node whose request is refused while other warps have work is split later.
TEST(BuildWarpsRefusals, OfAWhileChangeNothing) {
  Case c(RefKind::clipped);
  const auto check = [&](const auto& device, std::uint64_t first, std::uint64_t count) {
    SCOPED_TRACE(first);
    std::uint64_t refused = 0;
    const BuildRun run = build_refusing(device, c, first, first + count, false, refused);
    EXPECT_EQ(refused, count);
    EXPECT_FALSE(run.incomplete);
    EXPECT_EQ(c.hash(), c.want);
  };
  for (const std::uint64_t first : {100, 300, 1000}) {
    for (const std::uint64_t count : {1, 2}) {
      check(threads(1), first, count);
      check(threads(4), first, count);
      if (is_long || count == 1) check(simt::Lockstep<4>(3), first, count);
    }
  }
}

// A node that is split in its middle, and whose request is refused, is split there later.
TEST(BuildWarpsRefusals, OfSplitsInTheMiddleChangeNothing) {
  for (const test::Family& family : test::nasty_families) {
    Case c(family.make(1000), RefKind::clipped);
    for (std::uint64_t first = 2; first < 40; first += 2) {
      SCOPED_TRACE(family.name + std::string(", request ") + std::to_string(first));
      std::uint64_t refused = 0;
      const BuildRun run = build_refusing(threads(2), c, first, first + 1, false, refused);
      EXPECT_FALSE(run.incomplete);
      EXPECT_EQ(c.hash(), c.want);
    }
  }
}

// So many requests are refused that other work cannot free enough memory.
TEST(BuildWarpsRefusals, EndTheBuildAllTheSame) {
  Case c(RefKind::clipped);
  const auto check = [&](const auto& device, std::uint64_t first, std::uint64_t end, bool half) {
    std::uint64_t refused = 0;
    const BuildRun run = build_refusing(device, c, first, end, half, refused);
    const Tree tree = c.workspace.download();
    EXPECT_TRUE(validate(tree, c.soup.view()).empty());
    EXPECT_GT(refused, run.failed_splits);
    return run.failed_splits;
  };
  // The two requests of the first split, and their repetition.
  EXPECT_EQ(check(threads(1), 2, 6, false), 1u);
  EXPECT_EQ(check(threads(4), 2, 6, false), 1u);
  for (const int count : {1, 4, 7}) EXPECT_GT(check(threads(count), 0, 0, true), 0u);
  EXPECT_GT(check(threads(4), 50, ~std::uint64_t{0}, false), 0u);
  check(simt::Lockstep<4>(3), 0, 0, true);
}

}  // namespace
}  // namespace heapwood::kdtree
