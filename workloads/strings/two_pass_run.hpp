// SPDX-License-Identifier: MIT
// two_pass_step() on a Device; Scan has its prefix sum. Included once per device.
#pragma once

#include <utility>

#include "simt/launch.hpp"
#include "workloads/strings/strings.hpp"

namespace heapwood::workloads::strings::two_pass_detail {

struct RowKernel : StepKernel {
  Source from, second;
  Step step;
};

// What each row needs; 0 for the one after the last.
struct SizeKernel : RowKernel {
  std::uint64_t* bytes;
  std::uint64_t* pieces;  // nullptr: every row has one piece

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t row = thread_of(warp);
    if (row > from.rows) return;
    Sizes needs;
    if (row < from.rows) put_pieces(step, from, second, row, needs);
    bytes[row] = needs.bytes;
    if (pieces != nullptr) pieces[row] = needs.pieces;
  }
};

// Writes the pieces of one row to a column.
struct ColumnWriter {
  ByteWriter writer;
  std::uint64_t* offset;  // the end of the next piece
  std::uint64_t position;

  HEAPWOOD_INLINE void put(Byte byte) {
    writer.put(byte);
    ++position;
  }
  HEAPWOOD_INLINE void end_piece() { *offset++ = position; }
};

struct WriteKernel : RowKernel {
  const std::uint64_t* positions;
  const std::uint64_t* pieces;
  std::uint64_t* offsets;
  Byte* bytes;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t row = thread_of(warp);
    if (row >= from.rows) return;
    if (row == 0) offsets[0] = 0;
    const std::uint64_t at = positions[row], piece = pieces == nullptr ? row : pieces[row];
    ColumnWriter to{ByteWriter(bytes + at), offsets + piece + 1, at};
    put_pieces(step, from, second, row, to);
    to.writer.finish();
  }
};

template <class Scan, class Device>
Column step_on(const Device& device, Step step, const Source& from, const Source& second,
               double seconds, double& ms) {
  const simt::DeviceId id = device.id();
  const simt::LaunchLimits limits{.seconds = seconds, .what = "the method of two passes"};
  const std::uint64_t count = from.rows + 1;
  const bool has_pieces = step == Step::split || from.firsts != nullptr;
  simt::Buffer<std::uint64_t> positions(id, count), pieces(id, has_pieces ? count : 0);
  Scan scanner;
  const auto scan = [&](simt::Buffer<std::uint64_t>& values) {
    ms += scanner.exclusive_sum(device, values.data(), count);
    return values.download(from.rows, 1).front();
  };
  const RowKernel rows{{}, from, second, step};
  const SizeKernel size{rows, positions.data(), pieces.data()};
  ms += device.launch_independent(size, warps_for<Device>(count), limits);
  const std::uint64_t bytes = scan(positions), all = has_pieces ? scan(pieces) : from.rows;
  Column column;
  column.rows = from.rows;
  column.offsets = simt::Buffer<std::uint64_t>(id, all + 1);
  // For the last word, which is read as a whole.
  column.bytes = simt::Buffer<Byte>(id, bytes / 8 * 8 + 8);
  const WriteKernel write{rows, positions.data(), pieces.data(), column.offsets.data(),
                          column.bytes.data()};
  ms += device.launch_independent(write, warps_for<Device>(from.rows), limits);
  column.begins = std::move(pieces);
  column.bytes.set_size(bytes);
  return column;
}

}  // namespace heapwood::workloads::strings::two_pass_detail
