// SPDX-License-Identifier: MIT
// Toy: the smallest allocator that satisfies the concept. The tests register it to show that an
// allocator needs only a header and a line in the table. Own design: 64 cells, one bit each in one
// word; a block is a run of cells, first fit. Limits: at most 64 blocks; a request occupies whole
// cells of 1/64 of the pool.
#pragma once

#include "alloc/allocator.hpp"
#include "simt/atomic_ref.hpp"

namespace heapwood::alloc {

struct Toy {
  static constexpr AllocatorTraits traits{
      .id = "toy", .label = "Toy", .paper = "none", .note = "64 cells, for tests"};

  struct Header {
    std::uint64_t used;  // bit i: cell i is in use
    // Cells of the block that starts here, or 0; only its owner accesses it.
    std::uint32_t length[64];
  };
  static constexpr std::size_t header = 512;

  Header* head = nullptr;
  std::byte* memory = nullptr;
  std::size_t cell = 0;
  std::size_t slack = 0;
  bool wait = false;

  template <class Device>
  static Toy create(Pool pool, const AllocatorOptions& options, const Device& device) {
    check_pool(traits, pool);
    Toy t;
    t.head = reinterpret_cast<Header*>(pool.base);
    t.memory = pool.base + header;
    t.cell = (pool.bytes - header) / 64 / granule * granule;
    t.slack = pool.bytes - header - 64 * t.cell;
    t.wait = options.wait_when_full;
    simt::device_fill(device.id(), pool.base, 0, header);
    return t;
  }

  template <class Thread>
  HEAPWOOD_INLINE void* allocate(Thread& thread, std::size_t bytes) {
    if (bytes > 64 * cell) return nullptr;
    const auto cells = static_cast<unsigned>((padded(bytes) + cell - 1) / cell);
    return attempt_until(thread, wait, [&]() -> void* {
      simt::atomic_ref<std::uint64_t> used(head->used);
      const std::uint64_t run = cells == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << cells) - 1;
      std::uint64_t seen = used.load(simt::relaxed);
      for (unsigned i = 0; i + cells <= 64;) {
        if ((seen & run << i) != 0) {
          ++i;
        } else if (used.compare_exchange_strong(seen, seen | run << i, simt::acquire,
                                                simt::relaxed)) {
          // acquire: synchronizes with the free by the previous owner of these cells.
          head->length[i] = cells;
          return memory + i * cell;
        } else {
          i = 0;
        }
      }
      return nullptr;
    });
  }

  template <class Thread>
  HEAPWOOD_INLINE void deallocate(Thread&, void* block) {
    if (block == nullptr) return;
    const auto i = static_cast<unsigned>(
        static_cast<std::size_t>(static_cast<std::byte*>(block) - memory) / cell);
    const unsigned cells = head->length[i];
    head->length[i] = 0;
    const std::uint64_t run = cells == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << cells) - 1;
    // release: publishes the previous owner's accesses to the next owner.
    simt::atomic_ref<std::uint64_t>(head->used).fetch_and(~(run << i), simt::release);
  }

  template <class Visitor>
  void walk(const HostView& host, Visitor visit) const {
    const Header h = host.read(head);
    visit(Region{0, header, Region::State::metadata});
    for (unsigned i = 0, end = 0; i < 64; i = end) {
      if (h.length[i] > 0) {
        end = i + h.length[i];
      } else {
        for (end = i + 1; end < 64 && h.length[end] == 0;) ++end;
      }
      visit(Region{header + i * cell, (end - i) * cell,
                   h.length[i] > 0 ? Region::State::used : Region::State::free});
    }
    if (slack > 0) visit(Region{header + 64 * cell, slack, Region::State::metadata});
  }
};

}  // namespace heapwood::alloc
