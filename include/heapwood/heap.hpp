// SPDX-License-Identifier: MIT
// A heap for the threads of kernels. On the host:
//
//   heapwood::heap heap(1ull << 30);                   // owns 1 GiB of the current GPU's memory
//   kernel<<<blocks, threads>>>(heap.handle());
//   heap.stats(); heap.report_leaks(); heap.reset();
//   heapwood::heap growing(heapwood::heap_size{64 << 20, 8ull << 30});   // 64 MiB, at most 8 GiB
//   growing.make_room(bytes);                         // between kernels
//
// On the device, in any kernel, from any subset of a warp's threads:
//
//   __global__ void kernel(heapwood::heap_handle h) { void* p = h.malloc(n); ... h.free(p); }
//
// With a host compiler instead of nvcc the same code uses CPU threads and the memory of the
// process. basic_heap<A> is a heap with another allocator of heapwood/alloc/allocators/. Needs
// C++17 and libcu++ (part of CUDA); functions with std::span are for C++20.
//
// Limits: a block is aligned to 16 bytes. Host functions throw heapwood::Error. Device functions
// do not throw; they return nullptr.
#pragma once

#include "simt/config.hpp"  // first

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#if __cplusplus >= 202002L
#include <span>
#endif

#include "alloc/allocators/heapwood.hpp"
#include "heapwood/full_report.hpp"
#include "heapwood/growing_memory.hpp"
#include "heapwood/heap_handle.hpp"
#include "simt/stream_device.hpp"

namespace heapwood {

// Statistics of a heap, for the host.
struct heap_stats {
  std::size_t bytes = 0;        // bytes with memory: used + free + held + metadata
  std::size_t max_request = 0;  // larger requests are never served, not even by an empty heap

  // Refused requests since the heap was created or reset, and the size of the first of them, which
  // for aligned_alloc includes the alignment + 16 bytes.
  std::uint64_t full = 0;       // refused because there was no free region of that size
  std::uint64_t too_large = 0;  // refused because they were larger than max_request
  std::size_t first_refused_bytes = 0;

  // Whether the following is known: not if blocks lie outside the pool (CudaMalloc).
  bool has_regions = true;
  std::size_t used = 0;  // bytes in blocks, including padding
  std::size_t used_regions = 0;
  union {
    std::size_t free = 0;
    std::size_t heapwood_free;  // `free`, where malloc.hpp renames it by a macro
  };
  std::size_t held = 0;      // freed, but not reusable until neighbouring blocks are freed
  std::size_t metadata = 0;  // the allocator's tables
  std::size_t largest_hole = 0;

  // 1 - largest hole / all free bytes; 0 if nothing is free.
  double external_fragmentation() const {
    return free == 0 ? 0 : 1 - static_cast<double>(largest_hole) / static_cast<double>(free);
  }

  void add(const alloc::Region& region) {
    using State = alloc::Region::State;
    switch (region.state) {
      case State::used:
        used += region.bytes;
        ++used_regions;
        break;
      case State::free:
        free += region.bytes;
        largest_hole = std::max(largest_hole, region.bytes);
        break;
      case State::held:
        held += region.bytes;
        break;
      case State::metadata:
        metadata += region.bytes;
        break;
    }
  }
};

inline namespace HEAPWOOD_TARGET {

// cudaStream_t with nvcc; an empty type with a host compiler.
using stream_handle = simt::StreamHandle;

struct heap_options {
  alloc::AllocatorOptions allocator{};
  // If requests were refused, the destructor prints one line, even after a fault in a kernel; so
  // does the end of the program by exit(). The number of refused requests is then copied to host
  // memory, which makes refused requests slower. On by default in debug builds.
#if defined(NDEBUG)
  bool report_full = false;
#else
  bool report_full = true;
#endif
};

template <class A>
class basic_heap {
  static_assert(std::is_trivially_copyable_v<A>, "a handle is passed to kernels by value");

 public:
  using allocator_type = A;
  using handle_type = basic_heap_handle<A>;

  // Allocates `bytes` bytes of the current device. Waits for the stream.
  explicit basic_heap(std::size_t bytes, stream_handle stream = {}, heap_options options = {})
      : device_(simt::StreamDevice::current()),
        options_(options),
        memory_(device_, detail::add_sizes(round_down(bytes), state_bytes)),
        pool_{memory_.data() + state_bytes, round_down(bytes)} {
    initialize(stream);
  }
  // Reserves size.max bytes of the current device's addresses and maps memory for the tables and
  // size.initial bytes of blocks. make_room() maps more.
  explicit basic_heap(heap_size size, stream_handle stream = {}, heap_options options = {})
      : device_(simt::StreamDevice::current()),
        options_(options),
        growing_(std::make_unique<Growing>(device_, size, state_bytes)),
        pool_(growing_->pool()) {
    options_.allocator.initial_bytes = growing_->initial_bytes();
    initialize(stream);
    max_request_ = growing_->max_request();
  }
#if defined(__cpp_lib_span)
  // Uses memory of the current device that outlives the heap. Of it, 512 bytes are for the heap's
  // state and up to 510 for alignment to 256 bytes; the rest is the pool.
  explicit basic_heap(std::span<std::byte> memory, stream_handle stream = {},
                      heap_options options = {})
      : device_(simt::StreamDevice::current()), options_(options) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::size_t lost = static_cast<std::size_t>(-address & (unit - 1)) + state_bytes;
    if (memory.data() == nullptr || memory.size() < lost + A::traits.smallest_pool) {
      throw Error(Exit::usage, "heapwood: a heap in " + std::to_string(memory.size()) +
                                   " bytes of memory: give at least " +
                                   std::to_string(A::traits.smallest_pool + state_bytes + unit));
    }
    pool_ = {memory.data() + lost, round_down(memory.size() - lost)};
    initialize(stream);
  }
#endif
  // A moved-from heap has no memory: sizes and stats() are 0, handle() throws. It may be assigned
  // to.
  basic_heap(basic_heap&& other) noexcept { swap(other); }
  basic_heap& operator=(basic_heap&& other) noexcept {
    basic_heap(std::move(other)).swap(*this);
    return *this;
  }
  // Waits for the device, whose kernels may still use the memory.
  ~basic_heap() {
    if (pool_.base == nullptr) return;
    try {
      device_.synchronize_device();
      if (report_ != nullptr && report_->is_current()) report_->set(read_counts());
      alloc::release_pool<A>(pool_, device_);
    } catch (const Error&) {  // the device has failed, so there is nothing to wait for
    }
  }

  // The handle for kernels. Copies are equivalent, and valid as long as the heap, even after
  // reset().
  handle_type handle() const {
    if (pool_.base == nullptr)
      throw Error(Exit::usage, "heapwood: handle() of a heap that was moved from");
    return {allocator_, pool_, counts(), max_request_};
  }
  // The address of a copy of the handle, for kernels and containers that have little space for it.
  basic_heap_ref<A> ref() const { return basic_heap_ref<A>(handle_on_device()); }

  // Frees everything, in the order of the stream; may be captured into a CUDA graph. No kernel may
  // use the heap at the same time.
  void reset(stream_handle stream = {}) {
    if (pool_.base == nullptr) return;
    const simt::StreamDevice device(device_.index, stream);
    alloc::release_pool<A>(pool_, device);
    lay_out(device);
    copy_handle(device);
  }

  // For a heap that grows, between kernels: maps memory until blocks of `bytes` bytes in all fit
  // into unused arenas, plus up to as much again for pages that multiprocessors keep open. Blocks
  // and handles stay valid. Returns false if the heap's largest size or the end of the device's
  // memory is reached. For another heap, returns whether it has that much free. Waits for the
  // device.
  bool make_room(std::size_t bytes, stream_handle stream = {}) {
    device_.synchronize_device();
    if constexpr (detail::can_grow<A>) {
      if (growing_ != nullptr) {
        const simt::StreamDevice device(device_.index, stream);
        const bool fits = growing_->make_room(bytes, device);
        allocator_.resize(growing_->shared());
        copy_handle(device);
        return fits;
      }
    }
    return stats().free >= bytes;
  }
  // For a heap that grows, between kernels: returns memory behind the last block in use, except the
  // initial memory. Waits for the device.
  void shrink(stream_handle stream = {}) {
    device_.synchronize_device();
    if constexpr (detail::can_grow<A>) {
      if (growing_ != nullptr) {
        const simt::StreamDevice device(device_.index, stream);
        growing_->shrink(device);
        allocator_.resize(growing_->shared());
        copy_handle(device);
      }
    }
  }

  // Waits for the device and reads the state of the pool. After a fault in a kernel it throws
  // Error; if heap_options::report_full is set, the message says whether the heap was full.
  heap_stats stats() const {
    heap_stats stats;
    stats.has_regions = A::traits.in_pool;
    if (pool_.base == nullptr) return stats;
    const detail::HeapState counts = read_counts();
    stats.max_request = max_request_;
    stats.full = counts.full;
    stats.too_large = counts.too_large;
    stats.first_refused_bytes = counts.first_refused;
    allocator_.walk(alloc::HostView(device_), [&](const alloc::Region& r) { stats.add(r); });
    stats.bytes = pool_.bytes;
    if constexpr (detail::can_grow<A>) {
      if (growing_ != nullptr) {
        stats.metadata -= growing_->bytes_without_memory();
        stats.bytes -= growing_->bytes_without_memory();
      }
    }
    return stats;
  }

  // Waits for the device and prints one line if memory is still in use. Returns the bytes in use,
  // including padding; 0 if the allocator's blocks lie outside the pool (CudaMalloc). A checked
  // heap lists the blocks.
  std::size_t report_leaks(std::FILE* to = stderr) const {
    const heap_stats now = stats();
    if (now.used > 0 && to != nullptr) {
      std::fprintf(to, "heapwood: %zu bytes in %zu regions are still in use\n", now.used,
                   now.used_regions);
    }
    return now.used;
  }

  // Bytes of the pool; of a heap that grows, its largest size.
  std::size_t bytes() const { return pool_.bytes; }
  // Larger requests are never served, not even by an empty heap. If blocks lie outside the pool
  // (CudaMalloc), this is the pool's size, and the allocator serves a little less.
  std::size_t max_request() const { return max_request_; }
#if defined(__cpp_lib_span)
  std::span<std::byte> memory() const { return {pool_.base, pool_.bytes}; }
#endif
  const A& allocator() const { return allocator_; }

 private:
  struct Fixed {};
  using Growing = std::conditional_t<detail::can_grow<A>, detail::GrowingMemory<A>, Fixed>;
  // Before the pool: HeapState, then a copy of the handle.
  static constexpr std::size_t unit = 256, state_bytes = 512, counts_bytes = 64;
  static_assert(sizeof(detail::HeapState) <= counts_bytes);
  static_assert(sizeof(handle_type) <= state_bytes - counts_bytes);

  static std::size_t round_down(std::size_t bytes) { return bytes / unit * unit; }
  detail::HeapState* counts() const {
    return reinterpret_cast<detail::HeapState*>(pool_.base - state_bytes);
  }
  handle_type* handle_on_device() const {
    return reinterpret_cast<handle_type*>(pool_.base - state_bytes + counts_bytes);
  }
  detail::HeapState read_counts() const {
    try {
      device_.synchronize_device();
    } catch (const Error& error) {
      if (report_ == nullptr) throw;
      const std::string text = detail::full_text(report_->counts(), pool_.bytes);
      throw Error(error.exit(), error.what() + (text.empty() ? text : "; " + text));
    }
    detail::HeapState counts;
    device_.download(&counts, this->counts(), sizeof(counts));
    return counts;
  }

  void initialize(stream_handle stream) {
    const simt::StreamDevice device(device_.index, stream);
    if (options_.report_full) report_ = std::make_unique<detail::FullReport>(device_, pool_.bytes);
    if (report_ != nullptr && report_->on_device() == nullptr) report_ = nullptr;
    lay_out(device);
    // The largest free region of the empty pool is the largest request it can serve.
    max_request_ = A::traits.in_pool ? 0 : pool_.bytes;
    allocator_.walk(alloc::HostView(device), [&](const alloc::Region& r) {
      if (r.state == alloc::Region::State::free) max_request_ = std::max(max_request_, r.bytes);
    });
    copy_handle(device);
    device.synchronize();
  }
  void copy_handle(const simt::StreamDevice& device) {
    const handle_type copy = handle();
    simt::device_upload(device, handle_on_device(), &copy, sizeof(copy));
  }
  void lay_out(const simt::StreamDevice& device) {
    detail::HeapState none;
    if (report_ != nullptr) {
      none.on_host = report_->on_device();
      simt::device_fill(device, none.on_host, 0, sizeof(none));
    }
    simt::device_upload(device, counts(), &none, sizeof(none));
    allocator_ = A::create(pool_, options_.allocator, device);
    if constexpr (detail::can_grow<A>) {
      if (growing_ != nullptr) {
        growing_->restore(device);
        allocator_.resize(growing_->shared());
      }
    }
  }
  void swap(basic_heap& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(options_, other.options_);
    std::swap(memory_, other.memory_);
    std::swap(growing_, other.growing_);
    std::swap(report_, other.report_);
    std::swap(pool_, other.pool_);
    std::swap(allocator_, other.allocator_);
    std::swap(max_request_, other.max_request_);
  }

  simt::StreamDevice device_{0};
  heap_options options_{};
  simt::StreamMemory memory_;         // empty if the memory is the user's
  std::unique_ptr<Growing> growing_;  // empty if the size is fixed
  std::unique_ptr<detail::FullReport> report_;
  alloc::Pool pool_{};
  A allocator_{};
  std::size_t max_request_ = 0;
};

using heap = basic_heap<alloc::Heapwood>;

}  // namespace HEAPWOOD_TARGET
}  // namespace heapwood
