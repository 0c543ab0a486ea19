// SPDX-License-Identifier: MIT
// What host and kernel tell each other while a kernel runs: "stop" in one direction, "this went wrong" in the other.
// Lives where the kernel runs; the host raises the flag while the kernel spins.
#pragma once

#include <cstdint>

#include "simt/atomic_ref.hpp"
#include "simt/config.hpp"

namespace heapwood::simt {

// First error of a launch wins; the operands are for the message.
struct Control {
  std::uint32_t abort = 0;  // raised by the host (time limit, Ctrl-C) or by fail()
  std::uint32_t code = 0;   // 0 = no error; else a code of the kernel's own
  std::uint64_t operand[3] = {};

  // Called by any thread of a kernel: records the error (the first one wins) and asks every thread to stop.
  SIMT_FN void fail(std::uint32_t error, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) {
    std::uint32_t none = 0;
    if (system_atomic_ref<std::uint32_t>(code).compare_exchange_strong(none, error, relaxed, relaxed)) {
      // Plain stores: the host reads them after the launch has ended.
      operand[0] = a;
      operand[1] = b;
      operand[2] = c;
    }
    system_atomic_ref<std::uint32_t>(abort).store(1, relaxed);
  }

  SIMT_FN bool aborted() { return system_atomic_ref<std::uint32_t>(abort).load(relaxed) != 0; }
};

}  // namespace heapwood::simt
