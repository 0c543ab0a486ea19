// SPDX-License-Identifier: MIT
// Communication between host and a running kernel: an abort flag from the host, an error code from
// the kernel. The block is in the device's memory; the host raises the flag while the kernel runs.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::simt {

// Holds the first error of a launch; the operands are for the message.
struct Control {
  std::uint32_t abort = 0;  // raised by the host (time limit, Ctrl-C) or by fail()
  std::uint32_t code = 0;   // 0 = no error; else defined by the kernel
  std::uint64_t operand[3] = {};

  // Records the error, unless there is one, and requests every thread to stop; for any thread.
  HEAPWOOD_FN void fail(std::uint32_t error, std::uint64_t a = 0, std::uint64_t b = 0,
                        std::uint64_t c = 0) {
    std::uint32_t none = 0;
    if (system_atomic_ref<std::uint32_t>(code).compare_exchange_strong(none, error, relaxed,
                                                                       relaxed)) {
      // Plain stores: the host reads them only after the launch has ended.
      operand[0] = a;
      operand[1] = b;
      operand[2] = c;
    }
    system_atomic_ref<std::uint32_t>(abort).store(1, relaxed);
  }

  HEAPWOOD_FN bool aborted() { return system_atomic_ref<std::uint32_t>(abort).load(relaxed) != 0; }
};

}  // namespace heapwood::simt
