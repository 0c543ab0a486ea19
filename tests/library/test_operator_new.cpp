// SPDX-License-Identifier: MIT
// The library's replacement of `new`, on the host.
#include <gtest/gtest.h>

#include <cstdlib>
#include <heapwood/operator_new.hpp>

namespace heapwood {
namespace {

TEST(OperatorNew, RefusesSizesThatWrapWhenTheyAreAligned) {
  for (const std::size_t alignment : {std::size_t{32}, std::size_t{64}, std::size_t{4096}}) {
    for (std::size_t less = 0; less <= alignment; less += 7)
      EXPECT_EQ(operator_new::new_block_on_host(~std::size_t{0} - less, alignment), nullptr);
    void* const block = operator_new::new_block_on_host(1, alignment);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::size_t>(block) % alignment, 0u);
    std::free(block);
  }
}

}  // namespace
}  // namespace heapwood
