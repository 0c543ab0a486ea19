// SPDX-License-Identifier: MIT
// The library tests/simt/nvml/fake_nvml.cpp in a test.
#pragma once

#include <cstdlib>
#include <string>

#include "simt/nvml.hpp"

namespace heapwood::tests {

// Answers as `settings` say for the lifetime of this object.
class FakeNvml {
 public:
  explicit FakeNvml(const std::string& settings = "") { answer(settings); }
  ~FakeNvml() { unsetenv("FAKE_NVML"); }
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  void answer(const std::string& settings) { setenv("FAKE_NVML", settings.c_str(), 1); }
  static constexpr const char* library = FAKE_NVML_LIBRARY;
  static constexpr const char* bus_id = "0000:1b:00.0";
};

}  // namespace heapwood::tests
