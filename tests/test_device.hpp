// SPDX-License-Identifier: MIT
// The device that tests run on: HEAPWOOD_TEST_DEVICE ("cuda:0" runs the same tests on a GPU), else
// CPU threads.
#pragma once

#include <cstdlib>
#include <string>

#include "simt/device.hpp"

namespace heapwood::tests {

inline std::string test_device_key() {
  const char* wanted = std::getenv("HEAPWOOD_TEST_DEVICE");
  return wanted != nullptr ? wanted : "cpu";
}
inline simt::DeviceInfo test_device(int threads = 4) {
  const std::string key = test_device_key();
  return simt::find_device(key, key == "cpu" ? threads : 0);
}

}  // namespace heapwood::tests
