// SPDX-License-Identifier: MIT
// Failing<Base>: allocation number `fail_at` (counted from 1 over all threads) and all later ones
// return nullptr; 0 = none. For tests of exhaustion.
#pragma once

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"

namespace heapwood::alloc {

// The counter of an adaptor, in device memory. The host owns it; it must outlive the adaptor.
class FailingMemory {
 public:
  explicit FailingMemory(const simt::DeviceId& device, std::uint64_t fail_at = 0)
      : words_(device, 1), fail_at_(fail_at) {
    reset();
  }
  void reset() { words_.fill(0); }
  std::uint64_t* word() const { return words_.data(); }
  std::uint64_t fail_at() const { return fail_at_; }

 private:
  simt::Buffer<std::uint64_t> words_;
  std::uint64_t fail_at_;
};

template <class Base>
struct Failing : AdaptorTraits<Base> {
  Base base;
  std::uint64_t* calls = nullptr;
  std::uint64_t fail_at = 0;

  static Failing create(const Base& base, const FailingMemory& memory) {
    return {{}, base, memory.word(), memory.fail_at()};
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    // relaxed: the count orders no other memory.
    if (fail_at != 0 && Word64(*calls).fetch_add(1, simt::relaxed) + 1 >= fail_at) return nullptr;
    return base.allocate(thread, bytes);
  }
  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    base.deallocate(thread, block);
  }
  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    base.walk(host, visit);
  }
};

}  // namespace heapwood::alloc
