// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "bench/stress_primitives.hpp"

namespace heapwood::bench {
namespace {

TEST(StressPrimitives, TablesHaveARowForEachNumberOfThreads) {
  const simt::DeviceInfo cpu = simt::find_device("cpu", 2);
  for (const char* test : {"semaphore", "rcu"}) {
    ASSERT_TRUE(is_primitive_test(test));
    const Table table = stress_primitives(test, cpu, 1, 60);
    ASSERT_GE(table.rows.size(), 4u);
    EXPECT_EQ(table.rows[0].cells[0].text, "4");
    EXPECT_EQ(table.rows[2].cells[0].text, "64");
    for (const Row& row : table.rows) {
      ASSERT_EQ(row.cells.size(), table.columns.size());
      for (const Cell& cell : row.cells) EXPECT_GT(std::stod(cell.text), 0);
    }
  }
  EXPECT_FALSE(is_primitive_test("ad"));
}

}  // namespace
}  // namespace heapwood::bench
