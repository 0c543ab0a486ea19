// SPDX-License-Identifier: MIT
// The registers that an allocator's calls need on a GPU.
#include <gtest/gtest.h>

#include "registry/registry.hpp"
#include "tests/alloc/targets.hpp"

namespace heapwood::alloc::test {
namespace {

TEST(Registers, HeapwoodLeavesRoomForManyWarps) {
  const registry::RegisteredAllocator* heapwood = registry::find("heapwood");
  ASSERT_NE(heapwood, nullptr);
  const Target target = targets().front();
  const registry::CompiledAllocator* compiled =
      target.unusable.empty() ? heapwood->on(target.device.kind) : nullptr;
  if (compiled == nullptr || compiled->device == simt::DeviceKind::cpu)
    GTEST_SKIP() << "only GPUs have registers";
  const registry::CallUse use = compiled->call_use(target.device, false, LargeBackend::buddy);
  ASSERT_TRUE(use.own.has_value());
  EXPECT_LE(use.own->registers, 40u);
  EXPECT_EQ(use.own->local_bytes, 0u) << "spilled";
  EXPECT_LE(use.both.registers, 52u);
  EXPECT_EQ(use.both.local_bytes, 0u) << "spilled";
}

}  // namespace
}  // namespace heapwood::alloc::test
