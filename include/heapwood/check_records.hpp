// SPDX-License-Identifier: MIT
// What a checked heap writes in device memory, and its text on the host.
#pragma once

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

#include "heapwood/call_site.hpp"
#include "simt/linear_index.hpp"

namespace heapwood {

enum class check_kind : std::uint32_t {
  overrun,           // a byte past the end of a block was written
  underrun,          // a byte in front of a block was written
  double_free,       // the block was freed already
  foreign_pointer,   // the address is not in the heap
  no_block,          // the address is in the heap, but no block starts there
  write_after_free,  // a byte of a freed block was written
  wrong_free,        // free of a block of aligned_alloc, or the reverse
  wrong_size         // realloc with a size that the block does not have
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

}  // namespace detail

// An error, or a block that was not freed.
struct check_report {
  check_kind kind{};
  std::uint64_t address = 0, bytes = 0;
  std::string text;  // one line
};

namespace detail {

inline std::string text_of(const Caller& caller, const char* const* kernels) {
  if (caller.kernel == found_by_check) return "by check()";
  char text[256];
  std::string all;
  if (caller.where.line != 0) {
    std::snprintf(text, sizeof(text), "at %s:%" PRIu32 ", ", caller.where.file, caller.where.line);
    all += text;
  }
  const char* const kernel =
      caller.kernel != 0 ? kernels[caller.kernel - 1] : caller.where.function;
  if (kernel[0] != 0) all += std::string("kernel ") + kernel + ", ";
  std::snprintf(text, sizeof(text), "block (%u,%u,%u), thread (%u,%u,%u)", caller.block.x,
                caller.block.y, caller.block.z, caller.thread.x, caller.thread.y, caller.thread.z);
  return all + text;
}

inline std::string text_of(const CheckRecord& record, const char* const* kernels) {
  char text[256];
  const auto print = [&](const char* format, auto... values) {
    std::snprintf(text, sizeof(text), format, values...);
    return std::string(text);
  };
  const std::string block =
      print("block of %" PRIu64 " bytes at 0x%" PRIx64, record.bytes, record.address);
  std::string what;
  switch (record.kind) {
    case check_kind::overrun:
      what = print("write at offset %" PRId64 ", past the end of a ", record.offset) + block;
      break;
    case check_kind::underrun:
      what = print("write at offset %" PRId64 ", in front of a ", record.offset) + block;
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
      what = "free by the wrong function (free or aligned_free) of a " + block;
      break;
    case check_kind::wrong_size:
      what = print("realloc with an old size of %" PRIu64 " bytes of a ", record.given) + block;
      break;
  }
  return what + ", allocated " + text_of(record.allocated, kernels) + "; found " +
         text_of(record.caller, kernels);
}

}  // namespace detail
}  // namespace heapwood
