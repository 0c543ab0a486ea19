// SPDX-License-Identifier: MIT
// The checked heap survives writes to any bytes of its blocks, heads and guards included, and
// reports each head or guard that was written. Only the head of a block says how large it is and
// where the allocator's block starts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <heapwood/checked_heap.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/library/printed.hpp"

namespace heapwood {
namespace {

constexpr std::size_t mib = 1 << 20;
constexpr std::size_t head_bytes = sizeof(detail::CheckHead);
using Byte = unsigned char;

std::uint64_t address(const void* block) { return reinterpret_cast<std::uint64_t>(block); }
std::string hexadecimal(const void* block) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(address(block)));
  return text;
}
std::size_t count(const std::vector<check_report>& errors, check_kind kind, const void* block) {
  return static_cast<std::size_t>(std::count_if(
      errors.begin(), errors.end(),
      [&](const check_report& e) { return e.kind == kind && e.address == address(block); }));
}

std::string text_of_leaks(const checked_heap& heap, std::size_t max_lines = 20) {
  return printed([&](std::FILE* file) { heap.report_leaks(file, max_lines); });
}

// Eight blocks of 24 bytes in a row.
struct EightBlocks {
  checked_heap heap{4 * mib};
  checked_heap_handle h = heap.handle("planted");
  std::vector<Byte*> blocks;

  EightBlocks() {
    for (int i = 0; i < 8; ++i) blocks.push_back(static_cast<Byte*>(h.malloc(24, HEAPWOOD_HERE)));
  }
};

TEST(CheckedHeapHeads, LongOverrunsAreFound) {
  for (const int byte : {0x41, 0xff, 0}) {
    for (std::size_t over = 1; over <= 400; ++over) {
      EightBlocks t;
      Byte* const written = t.blocks[2];
      std::memset(written, byte, 24 + over);
      const std::size_t errors = t.heap.report(nullptr);
      // The guard is of 8 + 16 bytes; the next block's head, which ends where that block begins,
      // follows immediately or after what the allocator rounds up to.
      const auto reach =
          t.blocks[3] - written - static_cast<std::ptrdiff_t>(sizeof(detail::CheckHead));
      const bool has_head = static_cast<std::ptrdiff_t>(24 + over) > reach;
      EXPECT_GE(errors, has_head ? 2u : 1u) << over;
      EXPECT_EQ(count(t.heap.check(), check_kind::overwritten_head, t.blocks[3]), has_head) << over;
      t.heap.report_leaks(nullptr);
      for (Byte* const block : t.blocks) t.h.free(block, HEAPWOOD_HERE);
      EXPECT_EQ(t.heap.report(nullptr), errors) << over;
      EXPECT_EQ(count(t.heap.check(), check_kind::overrun, written), 1u) << over;
      // What was freed is not a leak, although the memory of damaged blocks stays allocated.
      EXPECT_EQ(text_of_leaks(t.heap), "") << over;
      EXPECT_GT(t.heap.stats().used, 0u);
    }
  }
}

TEST(CheckedHeapHeads, LongUnderrunsAreFound) {
  for (std::size_t under = 1; under <= head_bytes; ++under) {
    EightBlocks t;
    std::memset(t.blocks[2] - under, 0x41, under);
    const auto errors = t.heap.check();
    ASSERT_EQ(errors.size(), 1u) << under;
    EXPECT_EQ(errors[0].kind, under <= 16 ? check_kind::underrun : check_kind::overwritten_head);
    t.h.free(t.blocks[2]);
    EXPECT_EQ(t.heap.check().size(), 1u) << under;
  }
}

TEST(CheckedHeapHeads, NamesTheBlockInFront) {
  EightBlocks t;
  std::memset(t.blocks[2], 0x41, 24 + 100);
  t.h.free(t.blocks[3], HEAPWOOD_HERE);
  const auto errors = t.heap.check();
  ASSERT_EQ(errors.size(), 2u);
  const std::string expected =
      "the head of the block at " + hexadecimal(t.blocks[3]) +
      " (the 128 bytes before it) was overwritten; the block before it in memory is a block "
      "of 24 bytes at " +
      hexadecimal(t.blocks[2]) + ", allocated at test_checked_heap_heads.cpp:";
  EXPECT_EQ(errors[0].text.substr(0, expected.size()), expected);
  expect_part(errors[0].text, "; found at test_checked_heap_heads.cpp:");
  // The next block's head is found damaged also if that block was freed already.
  EightBlocks u;
  u.h.free(u.blocks[2]);
  std::memset(u.blocks[3] - 50, 0x41, 20);
  ASSERT_EQ(u.heap.check().size(), 1u);
  expect_part(u.heap.check()[0].text, hexadecimal(u.blocks[2]));
}

TEST(CheckedHeapHeads, ReportsLeaksWithoutAHead) {
  EightBlocks t;
  std::memset(t.blocks[2] - 112, 0x41, 96);  // overwrites the kernel's number too
  const std::string text = text_of_leaks(t.heap);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8) << text;
  expect_part(text, "heapwood: leak: block at " + hexadecimal(t.blocks[2]) +
                        ", whose head was overwritten\n");
  EXPECT_EQ(t.heap.report_leaks(nullptr), 7u * 24);
  const std::string some = text_of_leaks(t.heap, 1);
  expect_part(some, "heapwood: leak: 7 more blocks; all leaks together have 168 bytes\n");
}

TEST(CheckedHeapHeads, CallsWithADamagedBlock) {
  EightBlocks t;
  Byte* const damaged = t.blocks[2];
  for (Byte i = 0; i < 24; ++i) damaged[i] = i;
  std::memset(damaged - head_bytes, 0xff, 64);
  EXPECT_EQ(t.h.usable_size(damaged), 0u);
  EXPECT_EQ(t.h.usable_size(t.blocks[1]), 24u);
  for (const std::size_t old_bytes : {std::size_t{24}, ~std::size_t{0}}) {
    auto* const moved = static_cast<Byte*>(t.h.realloc(t.blocks[2], old_bytes, 64));
    ASSERT_NE(moved, nullptr);
    for (Byte i = 0; i < 24; ++i) EXPECT_EQ(moved[i], i);
  }
  EXPECT_EQ(count(t.heap.check(), check_kind::overwritten_head, damaged), 1u);
  // The second round of the loop has freed the block a second time.
  EXPECT_EQ(count(t.heap.check(), check_kind::double_free, damaged), 1u);

  Byte* const other = t.blocks[4];
  std::memset(other - head_bytes, 0xff, 64);
  EXPECT_NE(t.h.realloc(other, 2000), nullptr);
  EXPECT_EQ(count(t.heap.check(), check_kind::overwritten_head, other), 1u);
}

TEST(CheckedHeapHeads, WritesToFreedBlocksAreFound) {
  for (std::ptrdiff_t offset = -std::ptrdiff_t{head_bytes}; offset < 24 + 8 + 16; ++offset) {
    EightBlocks t;
    t.h.free(t.blocks[2]);
    t.blocks[2][offset] ^= 0x40;
    auto errors = t.heap.check();
    ASSERT_EQ(errors.size(), 1u) << offset;
    const bool is_head = offset < -16;
    EXPECT_EQ(errors[0].kind, is_head ? check_kind::overwritten_head : check_kind::write_after_free)
        << offset;
    if (!is_head) {
      expect_part(errors[0].text, "write at offset " + std::to_string(offset) + " of a freed");
    }
    // The damage is also found when the block leaves the ring.
    for (int i = 0; i < 1100; ++i) t.h.free(t.h.malloc(16));
    errors = t.heap.check();
    ASSERT_EQ(errors.size(), 1u) << offset;
  }
}

// ---- random writes ----------------------------------------------------------------------------

struct Block {
  Byte* start;
  std::size_t bytes;
  bool is_aligned, is_freed;

  // From the head to the end of the guard. Of the block itself only poison is checked.
  std::vector<Byte> checked_bytes() const {
    const std::size_t end = bytes + detail::guard_bytes(bytes);
    std::vector<Byte> all(start - head_bytes, start + end);
    if (!is_freed) all.erase(all.begin() + head_bytes, all.begin() + head_bytes + bytes);
    return all;
  }
};

class RandomWrites {
 public:
  explicit RandomWrites(unsigned seed) : random_(seed) {}

  void run_once() {
    heap_.reset();
    blocks_.clear();
    allocate_some();
    std::vector<std::vector<Byte>> before;
    for (const Block& b : blocks_) before.push_back(b.checked_bytes());
    for (std::size_t i = up_to(3) + 1; i > 0; --i) write();

    const auto errors = heap_.check();
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const bool is_damaged = blocks_[i].checked_bytes() != before[i];
      const auto is_of_block = [&](const check_report& e) {
        return e.address == address(blocks_[i].start);
      };
      EXPECT_EQ(std::any_of(errors.begin(), errors.end(), is_of_block), is_damaged) << i;
    }
    heap_.report_leaks(nullptr);
    text_of_leaks(heap_);
    for (const Block& b : blocks_) {
      if (!b.is_freed) b.is_aligned ? h_.aligned_free(b.start) : h_.free(b.start);
    }
    EXPECT_EQ(heap_.report_leaks(nullptr), 0u);
    // Empties the ring.
    while (h_.malloc(5000) != nullptr) {
    }
    EXPECT_GE(heap_.report(nullptr), errors.size());
  }

 private:
  std::size_t up_to(std::size_t last) {
    return std::uniform_int_distribution<std::size_t>(0, last)(random_);
  }

  void allocate_some() {
    for (std::size_t i = 4 + up_to(12); i > 0; --i) {
      const std::size_t bytes = up_to(up_to(3) == 0 ? 2000 : 100);
      const bool is_aligned = up_to(3) == 0;
      void* const block =
          is_aligned ? h_.aligned_alloc(std::size_t{16} << up_to(4), bytes) : h_.malloc(bytes);
      ASSERT_NE(block, nullptr);
      blocks_.push_back({static_cast<Byte*>(block), bytes, is_aligned, false});
    }
    for (Block& b : blocks_) {
      b.is_freed = up_to(3) == 0;
      if (b.is_freed) b.is_aligned ? h_.aligned_free(b.start) : h_.free(b.start);
    }
  }
  // Writes 1 to 400 bytes around a block, but none before the first head, where the allocator
  // has its tables.
  void write() {
    Byte* first = blocks_[0].start;
    for (const Block& b : blocks_) first = std::min(first, b.start);
    first -= head_bytes;
    Byte* const end = reinterpret_cast<Byte*>(heap_.memory().data() + heap_.bytes());
    const Block& b = blocks_[up_to(blocks_.size() - 1)];
    Byte* const target = std::max(first, b.start - 200 + up_to(b.bytes + 300));
    const std::size_t bytes =
        std::min<std::size_t>(1 + up_to(up_to(1) == 0 ? 399 : 7), end - target);
    switch (up_to(3)) {
      case 0: {  // copies bytes of other heads
        const Byte* const from = blocks_[up_to(blocks_.size() - 1)].start - head_bytes;
        std::memmove(target, from, std::min<std::size_t>(bytes, end - from));
        break;
      }
      case 1:
        std::generate(target, target + bytes, [&] { return static_cast<Byte>(up_to(255)); });
        break;
      default:
        std::memset(target, std::array{0, 0xff, 0x41, 0xa5, 0xdb, 1}[up_to(5)], bytes);
    }
  }

  std::mt19937 random_;
  checked_heap heap_{mib};
  checked_heap_handle h_ = heap_.handle("random");
  std::vector<Block> blocks_;
};

TEST(CheckedHeapHeads, RandomWritesAreFound) {
  RandomWrites test(1);
  for (int i = 0; i < 3000 && !testing::Test::HasFailure(); ++i) test.run_once();
}

}  // namespace
}  // namespace heapwood
