// SPDX-License-Identifier: MIT
// What an allocator's calls need of a GPU's registers.
#include <gtest/gtest.h>

#include "engine/engine.hpp"
#include "tests/alloc/targets.hpp"

namespace heapwood::alloc::test {
namespace {

TEST(Registers, HeapwoodLeavesRoomForManyWarps) {
  const engine::Entry* heapwood = engine::find("heapwood");
  ASSERT_NE(heapwood, nullptr);
  const Target target = targets().front();
  const engine::Engine* engine = target.unusable.empty() ? heapwood->on(target.device.kind) : nullptr;
  if (engine == nullptr || engine->device == simt::DeviceKind::cpu) GTEST_SKIP() << "only GPUs have registers";
  const engine::CallUse use = engine->call_use(target.device, false, LargeBackend::buddy);
  ASSERT_TRUE(use.own.has_value());
  EXPECT_LE(use.own->registers, 40u);
  EXPECT_EQ(use.own->local_bytes, 0u) << "spilled";
  EXPECT_LE(use.both.registers, 52u);
  EXPECT_EQ(use.both.local_bytes, 0u) << "spilled";
}

}  // namespace
}  // namespace heapwood::alloc::test
