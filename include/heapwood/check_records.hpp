// SPDX-License-Identifier: MIT
// What a checked heap writes in device memory, and its text on the host.
#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "heapwood/handle_operations.hpp"
#include "simt/math.hpp"

namespace heapwood {

enum class check_kind : std::uint32_t {
  overrun,           // a byte past the end of a block was written
  underrun,          // a byte before a block was written
  double_free,       // the block was freed already
  foreign_pointer,   // the address is not in the heap
  no_block,          // the address is in the heap, but no block starts there
  write_after_free,  // a byte of a freed block was written
  wrong_free,        // free of a block of aligned_alloc, or the reverse
  wrong_size,        // realloc with a size that the block does not have
  overwritten_head   // the bytes that describe a block were overwritten; it cannot be freed
};

namespace detail {

inline constexpr std::uint32_t found_by_check = ~0u;  // in place of a kernel

// A thread, and the call that it made.
struct Caller {
  simt::Index3 block, thread;
  std::uint32_t kernel = 0;  // index of the name given to handle(), + 1; 0 = none
  call_site where;
};

struct CheckRecord {
  check_kind kind{};
  Caller caller;     // the thread that found the error
  Caller allocated;  // the call that allocated the block; empty if there is no block
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // of the block
  std::int64_t offset = 0;  // of the first wrong byte, from the block's start
  std::uint64_t given = 0;  // wrong_size: the old size that was passed
};

// The block before one whose head was overwritten.
struct Neighbour {
  std::uint64_t address = 0;  // 0: none is known
  std::uint64_t bytes = 0;
  Caller allocated;
};

}  // namespace detail

// An error, or a block that was not freed.
struct check_report {
  check_kind kind{};
  std::uint64_t address = 0, bytes = 0;
  std::string text;  // one line
};

namespace detail {

// Names that handle() was given.
using KernelNames = std::span<const std::string>;

// The text in an array that need not have a 0.
template <std::size_t size>
std::string bounded_text(const char (&text)[size]) {
  return {text, std::find(text, text + size, '\0')};
}

inline std::string text_of(const Caller& caller, KernelNames kernels) {
  if (caller.kernel == found_by_check) return "by check()";
  std::string all;
  if (caller.where.line != 0) {
    all = "at " + bounded_text(caller.where.file) + ':' + std::to_string(caller.where.line) + ", ";
  }
  std::string kernel = bounded_text(caller.where.function);
  if (caller.kernel != 0)
    kernel = caller.kernel <= kernels.size() ? kernels[caller.kernel - 1] : "unknown";
  if (!kernel.empty()) all += "kernel " + kernel + ", ";
  char text[128];
  std::snprintf(text, sizeof(text), "block (%u,%u,%u), thread (%u,%u,%u)", caller.block.x,
                caller.block.y, caller.block.z, caller.thread.x, caller.thread.y, caller.thread.z);
  return all + text;
}

inline std::string block_text(std::uint64_t bytes, std::uint64_t address) {
  char text[80];
  std::snprintf(text, sizeof(text), "block of %" PRIu64 " bytes at 0x%" PRIx64, bytes, address);
  return text;
}

inline std::string text_of(const CheckRecord& record, KernelNames kernels,
                           const Neighbour& previous = {}) {
  char text[256];
  const auto print = [&](const char* format, auto... values) {
    std::snprintf(text, sizeof(text), format, values...);
    return std::string(text);
  };
  const std::string block = block_text(record.bytes, record.address);
  std::string what;
  switch (record.kind) {
    case check_kind::overrun:
      what = print("write at offset %" PRId64 ", past the end of a ", record.offset) + block;
      break;
    case check_kind::underrun:
      what = print("write at offset %" PRId64 ", before the start of a ", record.offset) + block;
      break;
    case check_kind::double_free:
      return print("0x%" PRIx64 " was freed twice, second ", record.address) +
             text_of(record.caller, kernels);
    case check_kind::foreign_pointer:
      return print("free of 0x%" PRIx64 ", which is not in this heap, ", record.address) +
             text_of(record.caller, kernels);
    case check_kind::no_block:
      return print("free of 0x%" PRIx64 ", where no block starts, ", record.address) +
             text_of(record.caller, kernels);
    case check_kind::write_after_free:
      what = print("write at offset %" PRId64 " of a freed ", record.offset) + block;
      break;
    case check_kind::wrong_free:
      what = "wrong function (free or aligned_free) called for a " + block;
      break;
    case check_kind::wrong_size:
      what = print("realloc with an old size of %" PRIu64 " bytes for a ", record.given) + block;
      break;
    case check_kind::overwritten_head:
      what =
          print("the head of the block at 0x%" PRIx64 " (the 128 bytes before it) was overwritten",
                record.address);
      if (previous.address != 0) {
        what += "; the block before it in memory is a " +
                block_text(previous.bytes, previous.address) + ", allocated " +
                text_of(previous.allocated, kernels);
      }
      return what + "; found " + text_of(record.caller, kernels);
  }
  return what + ", allocated " + text_of(record.allocated, kernels) + "; found " +
         text_of(record.caller, kernels);
}

}  // namespace detail
}  // namespace heapwood
