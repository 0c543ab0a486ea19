// SPDX-License-Identifier: MIT
// Runs an operation of another thread at a chosen point of an operation, in tests of alloc_direct,
// whose atomic operations call back (yielding/simt/atomic_ref.hpp).
#pragma once

#include "simt/atomic_ref.hpp"

namespace heapwood::alloc::test {

// Calls first(), and second() from start to end before the k-th atomic operation of first(),
// counted from 0. Returns false if first() has no more than k operations; second() is not called
// then. second() must not wait for first().
template <class First, class Second>
bool interrupt(unsigned k, First first, Second second) {
  struct At final : simt::BeforeAtomic {
    unsigned left;
    Second& second;
    bool done = false;
    At(unsigned k, Second& other) : left(k), second(other) {}
    void operation() override {
      if (left-- != 0) return;
      simt::before_atomic = nullptr;
      done = true;
      second();
    }
  } at(k, second);
  simt::before_atomic = &at;
  first();
  simt::before_atomic = nullptr;
  return at.done;
}

}  // namespace heapwood::alloc::test
