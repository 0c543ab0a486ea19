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
// Cost: 144 bytes per block, 1.6% of the pool and 36 KB; a free writes the block. Limits: of the
// errors found in kernels the first 64 are kept, and 64 of those found by each check(); a write is
// found when the block is freed or checked, from 128 bytes before the block, where its head is, to
// 16 bytes after it; a freed block is checked until about a thousand more have been freed, if it
// is smaller than 1/64 of the pool; of a freed block of more than 2 KiB, the first and last 1 KiB.
// A write to the tables that the allocator keeps in the pool may still crash the program.
#pragma once

#include "simt/cxx20.hpp"  // first

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heapwood/checked_handle.hpp"
#include "heapwood/heap.hpp"
#include "simt/math.hpp"
#include "simt/stream_device.hpp"

namespace heapwood {

// The host's operations on a checked heap while no kernel uses it: loops over the bitmaps and the
// ring, and look-ups of blocks by address.
namespace detail {

// Calls `visit` with the addresses of the blocks whose bits are set in word i of a bitmap.
template <class Visit>
HEAPWOOD_INLINE void for_blocks(const CheckTables& tables, std::uint32_t bits, std::size_t i,
                                Visit visit) {
  HEAPWOOD_ROLLED
  for (; bits != 0; bits &= bits - 1) visit(tables.address_of(i * 32 + simt::lowest_bit(bits)));
}

template <class Handle>
struct CheckInUse {
  Handle handle;
  HEAPWOOD_FN void operator()(std::size_t i) const {
    const CheckTables& tables = handle.tables();
    for_blocks(tables, tables.in_use[i], i,
               [&](std::uint64_t block) { handle.check_in_use(reinterpret_cast<void*>(block)); });
  }
};
template <class Handle>
struct CheckFreed {
  Handle handle;
  HEAPWOOD_FN void operator()(std::size_t i) const {
    const std::uint64_t block = handle.tables().ring[i];
    if (block != 0) handle.check_freed(reinterpret_cast<void*>(block));
  }
};
// Sums the sizes of blocks in use, except for those whose head was overwritten.
struct CountInUse {
  CheckTables tables;
  HEAPWOOD_FN void operator()(std::size_t i) const {
    std::uint64_t bytes = 0;
    for_blocks(tables, tables.in_use[i], i, [&](std::uint64_t block) {
      BlockSizes sizes;
      if (tables.read_head(reinterpret_cast<const CheckHead*>(block)[-1], block, sizes))
        bytes += sizes.bytes;
    });
    // relaxed: the sum is read after the loop.
    if (bytes != 0)
      simt::atomic_ref<std::uint64_t>(*tables.bytes_in_use).fetch_add(bytes, simt::relaxed);
  }
};

inline std::vector<std::uint32_t> download_in_use(const simt::StreamDevice& device,
                                                  const CheckTables& tables) {
  std::vector<std::uint32_t> words(tables.words());
  device.download(words.data(), tables.in_use, words.size() * sizeof(words[0]));
  return words;
}

// Copies the head of the block at `block` to the host. Returns false if it was overwritten.
inline bool download_head(const simt::StreamDevice& device, const CheckTables& tables,
                          std::uint64_t block, CheckHead& head) {
  device.download(&head, reinterpret_cast<const CheckHead*>(block) - 1, sizeof(head));
  BlockSizes sizes;
  return tables.read_head(head, block, sizes);
}

// Finds the block before another one, because the other may have been damaged by a write past its
// end. That block is in use, or freed and still in the ring.
class Neighbours {
 public:
  Neighbours(const simt::StreamDevice& device, const CheckTables& tables)
      : device_(device),
        tables_(tables),
        in_use_(download_in_use(device, tables)),
        ring_(std::size_t{tables.ring_mask} + 1) {
    device.download(ring_.data(), tables.ring, ring_.size() * sizeof(ring_[0]));
  }

  Neighbour block_before(std::uint64_t block) const {
    const std::uint64_t start = start_before(block);
    CheckHead head;
    if (start == 0 || !download_head(device_, tables_, start, head)) return {};
    return {start, head.bytes, head.allocated};
  }

 private:
  // The address of the last block that starts before `block`; 0 if there is none.
  std::uint64_t start_before(std::uint64_t block) const {
    std::uint64_t last = 0;
    for (const std::uint64_t freed : ring_) {
      if (freed < block) last = std::max(last, freed);
    }
    for (std::size_t i = tables_.granule_of(block); i-- > 0;) {
      const std::uint64_t address = tables_.address_of(i);
      if (address <= last) break;
      if ((in_use_[i / 32] & CheckTables::bit_of(i)) != 0) return address;
    }
    return last;
  }

  const simt::StreamDevice& device_;
  const CheckTables& tables_;
  std::vector<std::uint32_t> in_use_;
  std::vector<std::uint64_t> ring_;
};

}  // namespace detail

inline namespace HEAPWOOD_TARGET {

template <class A>
class basic_checked_heap {
  static_assert(A::traits.in_pool,
                "a checked heap needs an allocator whose blocks lie in the pool");
  static_assert(A::traits.frees == alloc::Frees::individually,
                "a checked heap needs an allocator that frees");

 public:
  using allocator_type = A;
  using handle_type = basic_checked_handle<A>;

  // Allocates `bytes` bytes of the current device and its own tables. Waits for the stream.
  explicit basic_checked_heap(std::size_t bytes, stream_handle stream = {},
                              heap_options options = {})
      : basic_checked_heap(basic_heap<A>(bytes, stream, options), stream) {}
  // Uses memory of the current device that outlives the heap; the tables are allocated.
  explicit basic_checked_heap(std::span<std::byte> memory, stream_handle stream = {},
                              heap_options options = {})
      : basic_checked_heap(basic_heap<A>(memory, stream, options), stream) {}

  // The handle for kernels. Copies are equivalent, and valid as long as the heap, even after
  // reset().
  handle_type handle() const { return {heap_.handle(), tables_, 0}; }
  // `kernel` appears in messages about calls through this handle.
  handle_type handle(const std::string& kernel) {
    if (kernel.empty()) return std::as_const(*this).handle();
    const auto found = std::find(kernels_.begin(), kernels_.end(), kernel);
    const auto number = static_cast<std::uint32_t>(found - kernels_.begin()) + 1;
    if (found == kernels_.end()) kernels_.push_back(kernel);
    return {heap_.handle(), tables_, number};
  }

  // Waits for the device and checks all blocks. Returns the errors found in kernels, in the order
  // in which they were found, then those found by this call. Each call reports a damaged block
  // again until it is freed; these repeats use up none of the records for errors found in kernels.
  std::vector<check_report> check() const { return find_errors().reports; }
  // Prints the errors, one line each. Returns their number, including those that were not kept.
  std::size_t report(std::FILE* to = stderr) const {
    const Errors errors = find_errors();
    if (to != nullptr) {
      for (const check_report& r : errors.reports)
        std::fprintf(to, "heapwood: error: %s\n", r.text.c_str());
      if (errors.lost > 0)
        std::fprintf(to, "heapwood: %zu more errors were not kept\n", errors.lost);
    }
    return errors.reports.size() + errors.lost;
  }

  // Waits for the device and prints the blocks that are still in use, one line each, at most
  // max_lines. Returns the bytes requested for all of them, except for those whose head was
  // overwritten.
  std::size_t report_leaks(std::FILE* to = stderr, std::size_t max_lines = 20) const {
    if (has_moved()) return 0;
    device_.synchronize_device();
    device_.fill(tables_.bytes_in_use, 0, sizeof(std::uint64_t));
    device_.for_each(tables_.words(), detail::CountInUse{tables_});
    std::uint64_t bytes = 0;
    device_.download(&bytes, tables_.bytes_in_use, sizeof(bytes));
    if (to != nullptr) print_leaks(to, max_lines, bytes);
    return bytes;
  }

  // Frees everything and forgets the errors, in the order of the stream.
  void reset(stream_handle stream = {}) {
    heap_.reset(stream);
    clear(simt::StreamDevice(device_.index, stream));
  }
  // Statistics as in basic_heap. The head and the guard of a block count as bytes of it, and freed
  // blocks in the ring count as used.
  heap_stats stats() const {
    heap_stats stats = heap_.stats();
    stats.max_request = max_request();
    return stats;
  }
  std::size_t bytes() const { return heap_.bytes(); }
  std::size_t max_request() const { return has_moved() ? 0 : handle().max_request(); }
  std::span<std::byte> memory() const { return heap_.memory(); }
  const A& allocator() const { return heap_.allocator(); }

 private:
  static constexpr std::uint32_t ring_size = 1024;
  static constexpr std::size_t counter_bytes = 64;
  static constexpr std::size_t records_bytes =
      alloc::round_up(detail::CheckTables::max_records * sizeof(detail::CheckRecord), 256);

  struct Errors {
    std::vector<check_report> reports;
    std::size_t lost = 0;  // number of errors that were found and not kept
  };

  basic_checked_heap(basic_heap<A>&& heap_of_blocks, stream_handle stream)
      : heap_(std::move(heap_of_blocks)), device_(simt::StreamDevice::current()) {
    const std::size_t map_bytes = alloc::round_up(heap_.bytes() / alloc::granule / 8, 256);
    memory_ = simt::StreamMemory(device_, 4 * counter_bytes + 2 * records_bytes +
                                              ring_size * sizeof(std::uint64_t) + 2 * map_bytes);
    std::byte* next = memory_.data();
    const auto take = [&next]<class T>(T*& table, std::size_t n) {
      table = reinterpret_cast<T*>(std::exchange(next, next + n));
    };
    tables_.pool = heap_.memory().data();
    tables_.pool_bytes = heap_.bytes();
    tables_.ring_mask = ring_size - 1;
    take(tables_.ring_next, counter_bytes);
    take(tables_.bytes_in_use, counter_bytes);
    take(tables_.ring, ring_size * sizeof(std::uint64_t));
    take(tables_.in_use, map_bytes);
    take(tables_.freed, map_bytes);
    scan_tables_ = tables_;
    for (detail::CheckTables* const tables : {&tables_, &scan_tables_}) {
      take(tables->record_count, counter_bytes);
      take(tables->records, records_bytes);
    }
    const simt::StreamDevice device(device_.index, stream);
    clear(device);
    device.synchronize();
  }

  // Whether this heap was moved from, so that another one has its memory and tables.
  bool has_moved() const { return memory_.data() == nullptr; }

  void clear(const simt::StreamDevice& device) {
    if (!has_moved()) device.fill(memory_.data(), 0, memory_.bytes());
  }

  Errors find_errors() const {
    if (has_moved()) return {};
    device_.synchronize_device();
    device_.fill(scan_tables_.record_count, 0, counter_bytes);
    device_.fill(scan_tables_.records, 0, records_bytes);
    const handle_type scan{heap_.handle(), scan_tables_, detail::found_by_check};
    device_.for_each(tables_.words(), detail::CheckInUse<handle_type>{scan});
    device_.for_each(ring_size, detail::CheckFreed<handle_type>{scan});
    Errors errors;
    append_errors(tables_, errors);
    append_errors(scan_tables_, errors);
    return errors;
  }
  void append_errors(const detail::CheckTables& from, Errors& to) const {
    std::uint64_t count = 0;
    device_.download(&count, from.record_count, sizeof(count));
    std::vector<detail::CheckRecord> records(
        std::min<std::uint64_t>(count, detail::CheckTables::max_records));
    if (records.empty()) return;
    device_.download(records.data(), from.records, records.size() * sizeof(detail::CheckRecord));
    to.lost += count - records.size();
    std::optional<detail::Neighbours> neighbours;
    for (const detail::CheckRecord& r : records) {
      detail::Neighbour previous;
      if (r.kind == check_kind::overwritten_head) {
        if (!neighbours) neighbours.emplace(device_, tables_);
        previous = neighbours->block_before(r.address);
      }
      to.reports.push_back({r.kind, r.address, r.bytes, detail::text_of(r, kernels_, previous)});
    }
  }

  void print_leaks(std::FILE* to, std::size_t max_lines, std::size_t bytes) const {
    const std::vector<std::uint32_t> in_use = detail::download_in_use(device_, tables_);
    std::size_t blocks = 0;
    for (std::size_t i = 0; i < in_use.size(); ++i) {
      for (std::uint32_t bits = in_use[i]; bits != 0; bits &= bits - 1) {
        if (++blocks > max_lines) continue;
        print_leak(to, tables_.address_of(i * 32 + simt::lowest_bit(bits)));
      }
    }
    if (blocks > max_lines) {
      std::fprintf(to, "heapwood: leak: %zu more blocks; all leaks together have %zu bytes\n",
                   blocks - max_lines, bytes);
    }
  }
  void print_leak(std::FILE* to, std::uint64_t block) const {
    detail::CheckHead head;
    if (detail::download_head(device_, tables_, block, head)) {
      std::fprintf(to, "heapwood: leak: %s, allocated %s\n",
                   detail::block_text(head.bytes, block).c_str(),
                   detail::text_of(head.allocated, kernels_).c_str());
    } else {
      std::fprintf(to, "heapwood: leak: block at 0x%llx, whose head was overwritten\n",
                   static_cast<unsigned long long>(block));
    }
  }

  basic_heap<A> heap_;
  simt::StreamDevice device_;
  simt::StreamMemory memory_;
  detail::CheckTables tables_;
  // The heap's tables, but with records of their own, for check().
  detail::CheckTables scan_tables_;
  std::vector<std::string> kernels_;
};

using checked_heap = basic_checked_heap<alloc::Heapwood>;
using checked_heap_handle = basic_checked_handle<alloc::Heapwood>;

}  // namespace HEAPWOOD_TARGET
}  // namespace heapwood
