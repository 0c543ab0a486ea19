// SPDX-License-Identifier: MIT
// Allocation and deallocation of refs by a warp of the builder: through the allocator's context, if
// it has one, or by one or two lanes of the warp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kdtree/build/worker.hpp"

namespace heapwood::kdtree {

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::free(std::byte* refs,
                                                 [[maybe_unused]] std::uint32_t n) {
  [[maybe_unused]] const auto in = probe_.in(Phase::free);
  if constexpr (has_context) {
    context_.deallocate(warp_, refs, granules_of(n));
  } else {
    warp_.sync();
    auto allocator = k_.allocator;
    if (warp_.lane() == 0) allocator.deallocate(warp_, refs);
  }
}

template <class Kernel, class Warp>
SIMT_INLINE std::byte* BuildWorker<Kernel, Warp>::allocate(std::uint32_t n) {
  [[maybe_unused]] const auto in = probe_.in(Phase::allocate);
  void* array = nullptr;
  if constexpr (has_context) {
    array = context_.allocate(warp_, granules_of(n));
  } else {
    auto allocator = k_.allocator;
    if (warp_.lane() == 0) array = allocator.allocate(warp_, std::size_t{n} * Refs::bytes);
    array = broadcast(array, 0);
  }
  if (array == nullptr) note_failure(*k_.counters, warp_, n);
  return static_cast<std::byte*>(array);
}

template <class Kernel, class Warp>
SIMT_INLINE alloc::BlockPair BuildWorker<Kernel, Warp>::allocate_children(std::uint32_t nl,
                                                                          std::uint32_t nr) {
  [[maybe_unused]] const auto in = probe_.in(Phase::allocate);
  alloc::BlockPair arrays;
  if constexpr (has_context) {
    arrays = context_.allocate_pair(warp_, granules_of(nl), granules_of(nr));
  } else {
    const std::size_t left_bytes = std::size_t{nl} * Refs::bytes,
                      right_bytes = std::size_t{nr} * Refs::bytes;
    auto allocator = k_.allocator;
    if constexpr (Warp::width == 1) {
      if (nl != 0) arrays.first = allocator.allocate(warp_, left_bytes);
      if (nr != 0) arrays.second = allocator.allocate(warp_, right_bytes);
    } else {
      // Two lanes allocate at once, so that both requests are in flight together.
      const std::size_t wanted = warp_.lane() == 0   ? left_bytes
                                 : warp_.lane() == 1 ? right_bytes
                                                     : 0;
      void* const mine = wanted != 0 ? allocator.allocate(warp_, wanted) : nullptr;
      warp_.sync();
      arrays = {broadcast(mine, 0), broadcast(mine, 1)};
    }
    void* const held = arrays.first == nullptr    ? arrays.second
                       : arrays.second == nullptr ? arrays.first
                                                  : nullptr;
    if (held != nullptr && nl != 0 && nr != 0) {
      if (warp_.lane() == 0) allocator.deallocate(warp_, held);
      arrays = {};
    }
  }
  return arrays;
}

template <class Kernel, class Warp>
SIMT_INLINE bool BuildWorker<Kernel, Warp>::try_exchange(const NodeTask& task, const Split& split,
                                                         alloc::BlockPair& arrays) {
  [[maybe_unused]] const auto in = probe_.in(Phase::allocate);
  return context_.try_exchange(warp_, task.refs, granules_of(task.n), granules_of(split.nl()),
                               granules_of(split.nr()), arrays);
}
template <class Kernel, class Warp>
SIMT_INLINE bool BuildWorker<Kernel, Warp>::try_free_early(const NodeTask& task) {
  [[maybe_unused]] const auto in = probe_.in(Phase::free);
  return context_.try_deallocate(warp_, task.refs, granules_of(task.n));
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::note_failure(BuildCounters& counters, Warp& warp,
                                                         std::uint32_t n) {
  if (warp.lane() != 0) return;
  // relaxed: read after the launch.
  simt::global_ref(counters.failed_splits).fetch_add(1, simt::relaxed);
  std::uint64_t none = 0;
  simt::atomic_ref<std::uint64_t>(counters.failed_bytes)
      .compare_exchange_strong(none, std::size_t{n} * Refs::bytes, simt::relaxed, simt::relaxed);
}

}  // namespace heapwood::kdtree
