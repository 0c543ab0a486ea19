// SPDX-License-Identifier: MIT
// The text of a row and what the steps make of it, one thread per row. Nothing here allocates: the
// steps write to a sink with put(byte) and end_piece(), which counts bytes or stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "simt/config.hpp"
#include "workloads/mixed.hpp"

namespace heapwood::workloads::strings {

using Byte = unsigned char;

enum class Step : std::uint8_t {
  load,         // copies the row of the input
  upper,        // upper case; the character U+0149 becomes two
  concatenate,  // adds a blank and a row of the second column
  replace,      // the pattern by the longer replacement
  split,        // at each blank: a row becomes several pieces
  filter,       // drops half of the pieces
  compact       // pieces to a column of offsets and bytes
};
inline constexpr const char* step_names[] = {"load",  "upper",  "concatenate", "replace",
                                             "split", "filter", "compact"};
inline constexpr unsigned step_count = 7;

// The input's rows have at most this many bytes.
inline constexpr std::uint32_t max_input_bytes = 65536;

struct Text {
  const Byte* at = nullptr;
  std::uint32_t bytes = 0;
};

// Calls f(byte) for each byte; ends if it returns false. Reads whole words: blocks and columns have
// memory up to the end of their last word.
template <class F>
HEAPWOOD_INLINE void for_bytes(const Text& text, F f) {
  auto at = reinterpret_cast<std::uintptr_t>(text.at);
  const std::uintptr_t end = at + text.bytes;
  HEAPWOOD_ROLLED
  while (at < end) {
    const std::uint64_t word = *reinterpret_cast<const std::uint64_t*>(at & ~std::uintptr_t{7});
    do {
      const auto byte = static_cast<Byte>(word >> 8 * (at & 7));
      if constexpr (std::is_same_v<decltype(f(byte)), bool>) {
        if (!f(byte)) return;
      } else {
        f(byte);
      }
    } while ((++at & 7) != 0 && at < end);
  }
}

// Counts what a step would write.
struct Sizes {
  std::uint32_t bytes = 0, pieces = 0;
  HEAPWOOD_INLINE void put(Byte) { ++bytes; }
  HEAPWOOD_INLINE void end_piece() { ++pieces; }
};

// Stores bytes from an address on, in words where all 8 bytes are its own.
class ByteWriter {
 public:
  HEAPWOOD_INLINE explicit ByteWriter(Byte* to)
      : at_(reinterpret_cast<std::uintptr_t>(to)), first_(at_ & 7) {}

  HEAPWOOD_INLINE void put(Byte byte) {
    word_ |= std::uint64_t{byte} << 8 * (at_ & 7);
    if ((++at_ & 7) == 0) store(8);
  }
  HEAPWOOD_INLINE void end_piece() {}
  HEAPWOOD_INLINE void finish() {
    if ((at_ & 7) > first_) store(at_ & 7);
  }

 private:
  // Stores the bytes [first_, end) of the current word.
  HEAPWOOD_INLINE void store(std::uintptr_t end) {
    Byte* const word = reinterpret_cast<Byte*>((at_ - 1) & ~std::uintptr_t{7});
    if (first_ == 0 && end == 8) {
      *reinterpret_cast<std::uint64_t*>(word) = word_;
    } else {
      HEAPWOOD_ROLLED
      for (std::uintptr_t i = first_; i < end; ++i) word[i] = static_cast<Byte>(word_ >> 8 * i);
    }
    first_ = 0;
    word_ = 0;
  }

  std::uintptr_t at_, first_;
  std::uint64_t word_ = 0;
};

// Upper case of ASCII, Latin-1 and U+0149, whose upper case is longer, in UTF-8. Other bytes stay.
template <class Sink>
HEAPWOOD_INLINE void put_upper(const Text& text, Sink& sink) {
  Byte lead = 0;  // the first byte of a character of two
  for_bytes(text, [&](Byte byte) {
    if (lead == 0xc3 && byte == 0x9f) {  // sharp s: SS
      sink.put('S');
      byte = 'S';
    } else if (lead == 0xc3 && byte >= 0xa0 && byte <= 0xbe && byte != 0xb7) {
      sink.put(lead);
      byte = static_cast<Byte>(byte - 0x20);
    } else if (lead == 0xc5 && byte == 0x89) {  // U+0149: U+02BC and N
      sink.put(0xca);
      sink.put(0xbc);
      byte = 'N';
    } else {
      if (lead != 0) sink.put(lead);
      if (byte >= 'a' && byte <= 'z') byte = static_cast<Byte>(byte - 0x20);
      lead = byte == 0xc3 || byte == 0xc5 ? byte : 0;
      if (lead == 0) sink.put(byte);
      return;
    }
    lead = 0;
    sink.put(byte);
  });
  if (lead != 0) sink.put(lead);
}

inline constexpr std::uint32_t replacement_bytes = 7;
// Replaces "ER" by "[error]".
template <class Sink>
HEAPWOOD_INLINE void put_replaced(const Text& text, Sink& sink) {
  bool has_first = false;
  for_bytes(text, [&](Byte byte) {
    if (has_first && byte == 'R') {
      constexpr std::uint64_t replacement = 0x5d726f7272655b;  // "[error]", first byte lowest
      HEAPWOOD_ROLLED
      for (unsigned i = 0; i < replacement_bytes; ++i)
        sink.put(static_cast<Byte>(replacement >> 8 * i));
      has_first = false;
      return;
    }
    if (has_first) sink.put('E');
    has_first = byte == 'E';
    if (!has_first) sink.put(byte);
  });
  if (has_first) sink.put('E');
}

// The steps with one piece per row. `second`: the row of the second column.
template <class Sink>
HEAPWOOD_INLINE void put_row(Step step, const Text& text, const Text& second, Sink& sink) {
  const auto copy = [&](const Text& from) { for_bytes(from, [&](Byte byte) { sink.put(byte); }); };
  if (step == Step::upper) {
    put_upper(text, sink);
  } else if (step == Step::replace) {
    put_replaced(text, sink);
  } else {
    copy(text);
    if (step != Step::concatenate) return;
    sink.put(' ');
    copy(second);
  }
}

// The bytes before the first blank.
HEAPWOOD_INLINE std::uint32_t bytes_before_blank(const Text& text) {
  std::uint32_t bytes = 0;
  for_bytes(text, [&](Byte byte) {
    bytes += byte != ' ';
    return byte != ' ';
  });
  return bytes;
}
HEAPWOOD_INLINE std::uint32_t count_pieces(const Text& text) {
  std::uint32_t pieces = 1;
  for_bytes(text, [&](Byte byte) { pieces += byte == ' '; });
  return pieces;
}

// Whether the filter keeps a piece: half of them, at random.
HEAPWOOD_INLINE bool is_kept(std::uint64_t row, std::uint32_t piece) {
  return (mixed(row, piece) & 1) != 0;
}
// The row of the second column that is added to a row.
HEAPWOOD_INLINE std::uint64_t second_row(std::uint64_t row, std::uint64_t rows) {
  return rows - 1 - row;
}

inline constexpr std::uint32_t absent = ~std::uint32_t{0};

// Rows of pieces in device memory: in a column of offsets and bytes or, if `blocks` is set, one
// block per piece. Before the split a row is one piece.
struct Source {
  std::uint64_t rows = 0;
  const std::uint64_t* firsts = nullptr;  // first piece of each row; nullptr: its number
  const std::uint32_t* counts = nullptr;  // pieces of each row; nullptr: up to the next row's first
  const std::uint64_t* offsets = nullptr;
  const Byte* bytes = nullptr;
  Byte* const* blocks = nullptr;
  const std::uint32_t* sizes = nullptr;  // `absent`: there is no block

  HEAPWOOD_INLINE std::uint64_t first(std::uint64_t row) const {
    return firsts == nullptr ? row : firsts[row];
  }
  HEAPWOOD_INLINE std::uint32_t count(std::uint64_t row) const {
    if (counts != nullptr) return counts[row];
    return firsts == nullptr ? 1 : static_cast<std::uint32_t>(firsts[row + 1] - firsts[row]);
  }
  HEAPWOOD_INLINE bool has(std::uint64_t piece) const {
    return blocks == nullptr || sizes[piece] != absent;
  }
  HEAPWOOD_INLINE Text text(std::uint64_t piece) const {
    if (blocks == nullptr)
      return {bytes + offsets[piece],
              static_cast<std::uint32_t>(offsets[piece + 1] - offsets[piece])};
    return {blocks[piece], has(piece) ? sizes[piece] : 0};
  }
};

// What a step makes of a row, piece by piece.
template <class Sink>
HEAPWOOD_INLINE void put_pieces(Step step, const Source& from, const Source& second,
                                std::uint64_t row, Sink& sink) {
  const std::uint64_t first = from.first(row);
  const std::uint32_t count = from.count(row);
  HEAPWOOD_ROLLED
  for (std::uint32_t piece = 0; piece < count; ++piece) {
    if (!from.has(first + piece) || (step == Step::filter && !is_kept(row, piece))) continue;
    const Text text = from.text(first + piece);
    if (step == Step::split) {
      for_bytes(text, [&](Byte byte) {
        if (byte == ' ')
          sink.end_piece();
        else
          sink.put(byte);
      });
    } else {
      put_row(step, text,
              step == Step::concatenate ? second.text(second_row(row, second.rows)) : Text{}, sink);
    }
    sink.end_piece();
  }
}

}  // namespace heapwood::workloads::strings
