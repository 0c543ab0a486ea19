// SPDX-License-Identifier: MIT
// Counted<Base>: counts requests and logs the requested size of each live block. For instrumented
// runs.
//
// The log is one u32 per granule of the pool (0: no block starts there; requests of 4 GiB or more
// are logged as 2^32-1). If Base's blocks lie outside the pool (traits.in_pool), each gets a header
// of 16 bytes for its size instead.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "alloc/allocator.hpp"
#include "alloc/primitives/word.hpp"
#include "alloc/statistics.hpp"

namespace heapwood::alloc {

// Entries first to last of the log, which one thread adds up, and the region they belong to.
struct LogPiece {
  std::uint64_t first, last;
  std::uint64_t region;
};

struct SumLog {
  const std::uint32_t* log;
  const LogPiece* pieces;
  std::uint64_t* sums;  // by region
  HEAPWOOD_FN void operator()(std::size_t i) const {
    const LogPiece piece = pieces[i];
    std::uint64_t sum = 0;
    for (std::uint64_t k = piece.first; k < piece.last; ++k) sum += log[k];
    // relaxed: the sum orders no other memory; the host reads it after the launch.
    if (sum != 0) Word64(sums[piece.region]).fetch_add(sum, simt::relaxed);
  }
};

// The counters and the log of an adaptor, in device memory. The host owns them; they must outlive
// the adaptor.
class CountedMemory {
 public:
  CountedMemory(const simt::DeviceId& device, std::size_t pool_bytes)
      : words_(device, 1), log_(device, pool_bytes / granule) {
    reset();
  }
  void reset() {
    words_.fill(0);
    log_.fill(0);
  }
  RequestStats result() const { return request_stats(words_.download().front()); }
  // The logged sizes, indexed by granule of the pool.
  std::vector<std::uint32_t> requested() const { return log_.download(); }
  // Bytes requested by the blocks in each region; 0 for regions that are not in use. Summed on the
  // device, because the log of a large pool takes seconds to download.
  template <class Device>
  std::vector<std::uint64_t> requested(std::span<const Region> regions,
                                       const Device& device) const {
    constexpr std::uint64_t max_granules = 1024;  // granules per piece
    std::vector<LogPiece> pieces;
    for (std::size_t r = 0; r < regions.size(); ++r) {
      if (regions[r].state != Region::State::used) continue;
      const std::uint64_t end =
          std::min<std::uint64_t>((regions[r].offset + regions[r].bytes) / granule, log_.size());
      for (std::uint64_t first = regions[r].offset / granule; first < end; first += max_granules) {
        pieces.push_back({first, std::min(end, first + max_granules), r});
      }
    }
    if (pieces.empty()) return std::vector<std::uint64_t>(regions.size());
    const simt::Buffer<LogPiece> on_device(log_.device(), std::span<const LogPiece>(pieces));
    simt::Buffer<std::uint64_t> sums(log_.device(), regions.size());
    sums.fill(0);
    device.for_each(pieces.size(), SumLog{log_.data(), on_device.data(), sums.data()});
    return sums.download();
  }

  CounterWords* words() const { return words_.data(); }
  std::uint32_t* log() const { return log_.data(); }
  std::size_t log_size() const { return log_.size(); }

 private:
  simt::Buffer<CounterWords> words_;
  simt::Buffer<std::uint32_t> log_;
};

template <class Base>
struct Counted : AdaptorTraits<Base> {
  Base base;
  const std::byte* pool = nullptr;
  CounterWords* words = nullptr;
  std::uint32_t* log = nullptr;
  std::size_t log_size = 0;

  static Counted create(const Base& base, Pool pool, const CountedMemory& memory) {
    return {{}, base, pool.base, memory.words(), memory.log(), memory.log_size()};
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    const std::size_t header = is_in_pool(base) ? 0 : granule;
    void* block = nullptr;
    // A size near 2^64 would overflow when the header is added.
    if (bytes <= ~std::size_t{0} - header) block = base.allocate(thread, bytes + header);
    if (block == nullptr) {
      add(words->failures, 1);
      return nullptr;
    }
    const std::uint64_t square = bytes * std::uint64_t{bytes};
    const bool large = bytes >> 32 != 0;  // its square exceeds 64 bits
    add(words->allocations, 1);
    add(words->sum, bytes);
    if (!large) add(words->square_low, square & 0xffffffffu);
    add(words->square_high,
        large ? (std::uint64_t{bytes} >> 16) * (std::uint64_t{bytes} >> 16) : square >> 32);
    unsigned k = 0;
    while (k < 47 && (std::uint64_t{1} << k) < bytes) ++k;
    add(words->histogram[k], 1);
    const std::uint64_t live = add(words->live, bytes) + bytes;
    Word64(words->high_water).fetch_max(live, simt::relaxed);
    // Plain stores: the caller owns the block; the allocator's release and acquire order them.
    if (is_in_pool(base)) {
      const auto end =
          static_cast<std::uint64_t>(static_cast<const std::byte*>(block) - pool) + padded(bytes);
      Word64(words->address_high_water).fetch_max(end, simt::relaxed);
      log[index(block)] = large ? 0xffffffffu : static_cast<std::uint32_t>(bytes);
      return block;
    } else {
      *static_cast<std::uint64_t*>(block) = bytes;
      return static_cast<std::byte*>(block) + granule;
    }
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread& thread, void* block) {
    if (block != nullptr) {
      std::uint64_t bytes = 0;
      if (is_in_pool(base)) {
        const std::size_t i = index(block);
        if (i < log_size) {  // else the pointer was never allocated
          bytes = log[i];
          log[i] = 0;
        }
      } else {
        block = static_cast<std::byte*>(block) - granule;
        bytes = *static_cast<std::uint64_t*>(block);
      }
      add(words->deallocations, 1);
      add(words->live, ~bytes + 1);
    }
    base.deallocate(thread, block);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    base.walk(host, visit);
  }

 private:
  HEAPWOOD_INLINE std::size_t index(const void* block) const {
    return static_cast<std::size_t>(static_cast<const std::byte*>(block) - pool) / granule;
  }
  // relaxed: statistics order no other memory; the host reads them after the launch.
  HEAPWOOD_INLINE static std::uint64_t add(std::uint64_t& word, std::uint64_t value) {
    return Word64(word).fetch_add(value, simt::relaxed);
  }
};

}  // namespace heapwood::alloc
