// SPDX-License-Identifier: MIT
// The experiments on primitives do all their work, on the device in HEAPWOOD_TEST_DEVICE.
#include "workloads/stress_primitives.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace heapwood::workloads {
namespace {

simt::DeviceInfo test_device() {
  const char* wanted = std::getenv("HEAPWOOD_TEST_DEVICE");
  return simt::find_device(wanted != nullptr ? wanted : "cpu", wanted != nullptr ? 0 : 4);
}

TEST(StressPrimitives, DoWhatTheyMeasure) {
  const simt::DeviceInfo device = test_device();
  if (!device.usable) GTEST_SKIP() << device.reason;
  for (const PrimitiveTest test :
       {PrimitiveTest::counting_semaphore, PrimitiveTest::bulk_semaphore, PrimitiveTest::plain_rcu,
        PrimitiveTest::delegated_rcu, PrimitiveTest::published_semaphore}) {
    for (const std::uint32_t threads : {1u, 7u, 64u, 1000u}) {
      for (const std::uint32_t readers : {1u, 3u, 10000u}) {
        PrimitiveJob job;
        job.device = device.id;
        job.test = test;
        job.threads = threads;
        job.readers = readers;
        job.batch = 8;
        PrimitiveResult result;
        try {
          result = run_primitive(job);
        } catch (const Error& error) {
          FAIL() << "test " << static_cast<int>(test) << ", " << threads << " threads, " << readers
                 << " readers: " << error.what();
        }
        const bool semaphore =
            test <= PrimitiveTest::bulk_semaphore || test == PrimitiveTest::published_semaphore;
        EXPECT_EQ(result.wanted, semaphore ? threads : (threads + readers - 1) / readers);
        EXPECT_EQ(result.done, result.wanted)
            << static_cast<int>(test) << ' ' << threads << ' ' << readers;
      }
    }
  }
}

}  // namespace
}  // namespace heapwood::workloads
