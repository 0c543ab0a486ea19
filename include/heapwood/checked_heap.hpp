// SPDX-License-Identifier: MIT
// A heap that finds errors: for debugging, in the place of heapwood::heap.
//
//   heapwood::checked_heap heap(1ull << 28);
//   kernel<<<blocks, threads>>>(heap.handle("kernel"));    // takes a heapwood::checked_heap_handle
//   heap.report();         // one line per error on standard error
//   heap.report_leaks();   // one line per block that is still in use
//
// Finds writes past either end of a block, double frees, frees of other addresses, writes to freed
// blocks, and leaks. The place of a call is named by HEAPWOOD_HERE: h.malloc(n, HEAPWOOD_HERE), or
// h.at(HEAPWOOD_HERE).make<T>(). Works under compute-sanitizer.
//
// Cost: 144 bytes per block, 1.6% of the pool and 22 KB; a free writes the block. Limits: the first
// 64 errors are kept; writes are found when the block is freed or checked, up to 16 bytes before
// and after it; a freed block is checked until about a thousand more have been freed, if it is
// smaller than 1/64 of the pool; of a freed block of more than 2 KiB, the first and last 1 KiB.
#pragma once

#include "heapwood/cxx20.hpp"  // first

#include <cstdio>
#include <string>
#include <vector>

#include "heapwood/checked_handle.hpp"
#include "heapwood/heap.hpp"

namespace heapwood {

namespace detail {

// Calls `visit` for the blocks whose bits are set in word i of a bitmap.
template <class Visit>
SIMT_INLINE void for_blocks(const CheckTables& tables, std::uint32_t bits, std::size_t i,
                            Visit visit) {
  SIMT_ROLLED
  for (; bits != 0; bits &= bits - 1) {
    const std::uint64_t address = tables.address_of(i * 32 + simt::lowest_bit(bits));
    visit(reinterpret_cast<void*>(address));
  }
}

template <class Handle>
struct CheckInUse {
  Handle handle;
  SIMT_FN void operator()(std::size_t i) const {
    const CheckTables& tables = handle.tables();
    for_blocks(tables, tables.in_use[i], i, [&](void* block) { handle.check_guards(block); });
  }
};
template <class Handle>
struct CheckFreed {
  Handle handle;
  SIMT_FN void operator()(std::size_t i) const {
    const std::uint64_t address = handle.tables().ring[i];
    if (address != 0) handle.check_poison(reinterpret_cast<void*>(address));
  }
};
struct CountInUse {
  CheckTables tables;
  SIMT_FN void operator()(std::size_t i) const {
    std::uint64_t bytes = 0;
    for_blocks(tables, tables.in_use[i], i,
               [&](void* block) { bytes += (static_cast<CheckHead*>(block) - 1)->bytes; });
    // relaxed: a sum, read after the loop.
    if (bytes != 0)
      simt::atomic_ref<std::uint64_t>(*tables.bytes_in_use).fetch_add(bytes, simt::relaxed);
  }
};

}  // namespace detail

inline namespace SIMT_TARGET {

template <class A>
class basic_checked_heap {
  static_assert(A::traits.in_pool,
                "a checked heap needs an allocator whose blocks lie in the pool");
  static_assert(A::traits.frees == alloc::Frees::individually,
                "a checked heap needs an allocator that frees");

 public:
  using handle_type = basic_checked_handle<A>;

  explicit basic_checked_heap(std::size_t bytes, stream_handle stream = {},
                              heap_options options = {})
      : heap_(bytes, stream, options), device_(simt::StreamDevice::current()) {
    const std::size_t map_bytes = alloc::round_up(heap_.bytes() / alloc::granule / 8, 256);
    table_bytes_ = head_bytes + records_bytes + ring_size * sizeof(std::uint64_t) + 2 * map_bytes;
    memory_ = device_.allocate(table_bytes_);
    std::byte* at = memory_;
    const auto take = [&at](std::size_t n) { return std::exchange(at, at + n); };
    tables_.pool = heap_.memory().data();
    tables_.pool_bytes = heap_.bytes();
    tables_.record_count = reinterpret_cast<std::uint32_t*>(take(64));
    tables_.ring_next = reinterpret_cast<std::uint64_t*>(take(64));
    tables_.bytes_in_use = reinterpret_cast<std::uint64_t*>(take(head_bytes - 128));
    tables_.records = reinterpret_cast<detail::CheckRecord*>(take(records_bytes));
    tables_.ring = reinterpret_cast<std::uint64_t*>(take(ring_size * sizeof(std::uint64_t)));
    tables_.ring_mask = ring_size - 1;
    tables_.in_use = reinterpret_cast<std::uint32_t*>(take(map_bytes));
    tables_.freed = reinterpret_cast<std::uint32_t*>(take(map_bytes));
    clear(stream);
  }
  basic_checked_heap(const basic_checked_heap&) = delete;
  basic_checked_heap& operator=(const basic_checked_heap&) = delete;
  ~basic_checked_heap() { device_.free(memory_, table_bytes_); }

  // `kernel` appears in messages about calls through this handle.
  handle_type handle(const std::string& kernel = {}) {
    std::uint32_t number = 0;
    if (!kernel.empty()) {
      while (number < kernels_.size() && kernels_[number] != kernel) ++number;
      if (number == kernels_.size()) kernels_.push_back(kernel);
      ++number;
    }
    return {heap_.handle(), tables_, number};
  }

  // Waits for the device, checks all blocks, and returns the errors found so far, the first ones in
  // front. A damaged block that is still in use is found again by each call.
  std::vector<check_report> check() {
    device_.synchronize_device();
    const handle_type handle{heap_.handle(), tables_, detail::found_by_check};
    device_.for_each(tables_.words(), detail::CheckInUse<handle_type>{handle});
    device_.for_each(ring_size, detail::CheckFreed<handle_type>{handle});
    std::uint32_t count = 0;
    device_.download(&count, tables_.record_count, sizeof(count));
    std::vector<detail::CheckRecord> records(std::min(count, detail::CheckTables::max_records));
    if (!records.empty()) {
      device_.download(records.data(), tables_.records,
                       records.size() * sizeof(detail::CheckRecord));
    }
    const auto names = kernel_names();
    std::vector<check_report> reports;
    for (const detail::CheckRecord& r : records)
      reports.push_back({r.kind, r.address, r.bytes, detail::text_of(r, names.data())});
    return reports;
  }
  // Prints the errors, one line each; returns their number.
  std::size_t report(std::FILE* to = stderr) {
    const std::vector<check_report> reports = check();
    for (const check_report& r : reports) std::fprintf(to, "heapwood: error: %s\n", r.text.c_str());
    return reports.size();
  }

  // Waits for the device and prints the blocks that are still in use, one line each, at most
  // max_lines. Returns the bytes requested for all of them.
  std::size_t report_leaks(std::FILE* to = stderr, std::size_t max_lines = 20) {
    device_.synchronize_device();
    device_.fill(tables_.bytes_in_use, 0, sizeof(std::uint64_t));
    device_.for_each(tables_.words(), detail::CountInUse{tables_});
    std::uint64_t bytes = 0;
    device_.download(&bytes, tables_.bytes_in_use, sizeof(bytes));
    std::vector<std::uint32_t> in_use(tables_.words());
    device_.download(in_use.data(), tables_.in_use, in_use.size() * sizeof(in_use[0]));
    const auto names = kernel_names();
    std::size_t blocks = 0;
    for (std::size_t i = 0; i < in_use.size(); ++i) {
      for (std::uint32_t bits = in_use[i]; bits != 0; bits &= bits - 1) {
        if (++blocks > max_lines) continue;
        const std::uint64_t block = tables_.address_of(i * 32 + simt::lowest_bit(bits));
        detail::CheckHead head;
        device_.download(&head, reinterpret_cast<detail::CheckHead*>(block) - 1, sizeof(head));
        std::fprintf(to, "heapwood: leak: block of %llu bytes at 0x%llx, allocated %s\n",
                     static_cast<unsigned long long>(head.bytes),
                     static_cast<unsigned long long>(block),
                     detail::text_of(head.allocated, names.data()).c_str());
      }
    }
    if (blocks > max_lines) {
      std::fprintf(to, "heapwood: leak: %zu blocks more, %llu bytes in all\n", blocks - max_lines,
                   static_cast<unsigned long long>(bytes));
    }
    return bytes;
  }

  // Frees everything and forgets the errors, in the order of the stream.
  void reset(stream_handle stream = {}) {
    heap_.reset(stream);
    clear(stream);
  }
  heap_stats stats() const { return heap_.stats(); }  // with the heads and guards of blocks
  std::size_t bytes() const { return heap_.bytes(); }

 private:
  static constexpr std::uint32_t ring_size = 1024;
  static constexpr std::size_t head_bytes = 256,
                               records_bytes = alloc::round_up(
                                   detail::CheckTables::max_records * sizeof(detail::CheckRecord),
                                   256);

  void clear(stream_handle stream) {
    const simt::StreamDevice device(device_.index, stream);
    device.fill(memory_, 0, table_bytes_);
  }
  std::vector<const char*> kernel_names() const {
    std::vector<const char*> names;
    for (const std::string& name : kernels_) names.push_back(name.c_str());
    return names;
  }

  basic_heap<A> heap_;
  simt::StreamDevice device_;
  std::size_t table_bytes_ = 0;
  std::byte* memory_ = nullptr;
  detail::CheckTables tables_;
  std::vector<std::string> kernels_;
};

using checked_heap = basic_checked_heap<alloc::Heapwood>;
using checked_heap_handle = basic_checked_handle<alloc::Heapwood>;

}  // namespace SIMT_TARGET
}  // namespace heapwood
