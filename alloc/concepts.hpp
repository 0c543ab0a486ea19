// SPDX-License-Identifier: MIT
// What allocators and the code that calls them ask of each other, as concepts: a compiler's message
// then names the function that is missing.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "alloc/allocator.hpp"
#include "simt/config.hpp"

namespace heapwood::alloc {

// What an allocator may call on the thread that it is given (simt/warp.hpp says what it means).
template <class T>
concept AllocatorThread = requires(const T& thread, std::uint32_t& lanes, const void* key,
                                   std::uint64_t value) {
  { T::width } -> std::convertible_to<unsigned>;
  { thread.lane() } -> std::convertible_to<unsigned>;
  { thread.worker() } -> std::convertible_to<unsigned>;
  { thread.workers() } -> std::convertible_to<unsigned>;
  { thread.sm() } -> std::convertible_to<unsigned>;
  { thread.together() } -> std::convertible_to<std::uint32_t>;
  { thread.together(key) } -> std::convertible_to<std::uint32_t>;
  { thread.together(key, lanes) } -> std::convertible_to<std::uint32_t>;
  thread.sync(lanes);
  { thread.ballot(lanes, true) } -> std::convertible_to<std::uint32_t>;
  { thread.shfl(lanes, value, 0u) } -> std::convertible_to<std::uint64_t>;
  { thread.reduce_or(lanes, value) } -> std::convertible_to<std::uint64_t>;
  { thread.aborted() } -> std::convertible_to<bool>;
  thread.pause(0u);
};

// Threads that may call A.
template <class T, class A>
concept ThreadFor = AllocatorThread<T> &&
    requires(A& allocator, T& thread, std::size_t bytes, void* block) {
  { allocator.allocate(thread, bytes) } -> std::same_as<void*>;
  allocator.deallocate(thread, block);
};

// What `create` may call on the device that it is given, besides simt::device_fill, device_upload
// and device_download with its id.
struct EmptyLoopBody {
  HEAPWOOD_FN void operator()(std::size_t) const {}
};
template <class D>
concept AllocatorDevice = requires(const D& device, std::size_t n) {
  { device.id() } -> std::convertible_to<simt::DeviceId>;
  { device.multiprocessors() } -> std::convertible_to<unsigned>;
  device.for_each(n, EmptyLoopBody{});
};

// Devices whose memory A can manage.
template <class D, class A>
concept DeviceFor = AllocatorDevice<D> &&
    requires(const D& device, Pool pool, const AllocatorOptions& options) {
  { A::create(pool, options, device) } -> std::same_as<A>;
};

// Handles are copied to the GPU as kernel parameters.
template <class A>
concept AllocatorHandle = std::is_trivially_copyable_v<A> && requires {
  { A::traits } -> std::convertible_to<const AllocatorTraits&>;
};

}  // namespace heapwood::alloc
