// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <vector>

#include "tests/alloc/exercise_erased_impl.hpp"

namespace heapwood::alloc::test {

template workloads::ExerciseResult exercise_erased(const ErasedFunctions<simt::Cpu>&,
                                                   const workloads::ExerciseJob&);
template workloads::StressResult stress_erased(const ErasedFunctions<simt::Cpu>&, const simt::Cpu&,
                                               const workloads::StressJob&);

// A change of the first word, the last whole word or the last byte is noticed.
TEST(ExercisePattern, HasBothEndsOfABlock) {
  for (std::uint64_t bytes = 1; bytes < 100'000; bytes += bytes < 5000 ? 1 : 97) {
    std::vector<std::uint32_t> block(bytes / 4 + 2);
    auto* const bytes_of_block = reinterpret_cast<unsigned char*>(block.data());
    const workloads::exercise_detail::Pattern pattern{7, bytes};
    pattern.write(bytes_of_block);
    ASSERT_EQ(pattern.differences(bytes_of_block), 0u) << bytes;
    for (const std::uint64_t i : {std::uint64_t{0}, bytes < 4 ? 0 : bytes / 4 * 4 - 1, bytes - 1}) {
      bytes_of_block[i] ^= 0xff;
      EXPECT_EQ(pattern.differences(bytes_of_block), 1u) << "byte " << i << " of " << bytes;
      bytes_of_block[i] ^= 0xff;
    }
    EXPECT_EQ(block.back(), 0u) << bytes;
  }
}

}  // namespace heapwood::alloc::test
