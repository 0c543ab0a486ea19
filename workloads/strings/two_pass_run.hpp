// SPDX-License-Identifier: MIT
// two_pass_step() on a Device. The kernels work on chunks of rows: the first counts what each row
// needs and adds that up per chunk, the second adds up the chunks before each, and the third writes
// the rows. Included once per device.
#pragma once

#include <algorithm>

#include "simt/launch.hpp"
#include "workloads/strings/strings.hpp"

namespace heapwood::workloads::strings::two_pass_detail {

constexpr std::uint64_t chunk_rows = 128;
constexpr unsigned scan_warps = 64;

struct Total {
  std::uint64_t bytes, pieces;
};

struct SizeKernel : StepKernel {
  Source from, second;
  Step step;
  Sizes* sizes;   // of each row
  Total* chunks;  // of each chunk

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t chunk = warp.worker(), begin = chunk * chunk_rows,
                        limit = begin + chunk_rows, end = limit < from.rows ? limit : from.rows;
    if (begin >= from.rows) return;
    Sizes sum;
    HEAPWOOD_ROLLED
    for (std::uint64_t row = begin + warp.lane(); row < end; row += Warp::width) {
      Sizes needs;
      put_pieces(step, from, second, row, needs);
      sizes[row] = needs;
      sum.bytes += needs.bytes;
      sum.pieces += needs.pieces;
    }
    const Total total{add_up(warp, sum.bytes), add_up(warp, sum.pieces)};
    if (warp.lane() == 0) chunks[chunk] = total;
  }
};

// starts[i] = the sum of the chunks before i, for i up to `count`. Each warp adds up all chunks
// before its share.
struct ScanKernel : StepKernel {
  const Total* chunks;
  Total* starts;
  std::uint64_t count;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t share = count / warp.workers() + 1, begin = share * warp.worker();
    if (begin > count) return;
    Total sum{};
    HEAPWOOD_UNROLLED_4
    for (std::uint64_t i = warp.lane(); i < begin; i += Warp::width) add(sum, chunks[i]);
    sum = {add_up(warp, sum.bytes), add_up(warp, sum.pieces)};
    HEAPWOOD_ROLLED
    for (std::uint64_t first = begin; first < begin + share && first <= count;
         first += Warp::width) {
      const std::uint64_t i = first + warp.lane();
      const bool has = i < count && i < begin + share;
      const Total own = has ? chunks[i] : Total{};
      Total before = sum;
      HEAPWOOD_ROLLED
      for (unsigned lane = 0; lane < Warp::width; ++lane) {
        const Total other{warp.shfl(own.bytes, lane), warp.shfl(own.pieces, lane)};
        if (lane < warp.lane()) add(before, other);
        add(sum, other);
      }
      if (i <= count && i < begin + share) starts[i] = before;
    }
  }

 private:
  HEAPWOOD_INLINE static void add(Total& sum, const Total& more) {
    sum.bytes += more.bytes;
    sum.pieces += more.pieces;
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

struct WriteKernel : StepKernel {
  Source from, second;
  Step step;
  const Sizes* sizes;
  const Total* starts;
  std::uint64_t* begins;  // nullptr: every row has one piece
  std::uint64_t* offsets;
  Byte* bytes;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t chunk = warp.worker(), begin = chunk * chunk_rows;
    if (begin >= from.rows) return;
    Total at = starts[chunk];
    HEAPWOOD_ROLLED
    for (std::uint64_t first = begin; first < begin + chunk_rows && first < from.rows;
         first += Warp::width) {
      const std::uint64_t row = first + warp.lane();
      const bool has = row < from.rows && row < begin + chunk_rows;
      const Sizes needs = has ? sizes[row] : Sizes{};
      const std::uint32_t byte_end = warp.inclusive_add(needs.bytes),
                          piece_end = warp.inclusive_add(needs.pieces);
      if (has) {
        const std::uint64_t position = at.bytes + byte_end - needs.bytes,
                            piece = at.pieces + piece_end - needs.pieces;
        ColumnWriter to{ByteWriter(bytes + position), offsets + piece + 1, position};
        put_pieces(step, from, second, row, to);
        to.writer.finish();
        if (row == 0) offsets[0] = 0;
        if (begins != nullptr) {
          begins[row] = piece;
          if (row + 1 == from.rows) begins[from.rows] = piece + needs.pieces;
        }
      }
      at.bytes += warp.shfl(byte_end, Warp::width - 1);
      at.pieces += warp.shfl(piece_end, Warp::width - 1);
    }
  }
};

template <class Device>
Column step_on(const Device& device, Step step, const Source& from, const Source& second,
               double seconds, double& ms) {
  const std::uint64_t chunks = (from.rows + chunk_rows - 1) / chunk_rows;
  const simt::DeviceId id = device.id();
  simt::Buffer<Sizes> sizes(id, from.rows);
  simt::Buffer<Total> totals(id, chunks), starts(id, chunks + 1);
  const simt::LaunchLimits limits{.seconds = seconds, .what = "the method of two passes"};
  SizeKernel size{};
  size.from = from;
  size.second = second;
  size.step = step;
  size.sizes = sizes.data();
  size.chunks = totals.data();
  ms += device.launch_independent(size, static_cast<unsigned>(chunks), limits);
  ScanKernel scan{};
  scan.chunks = totals.data();
  scan.starts = starts.data();
  scan.count = chunks;
  ms += device.launch_independent(scan, scan_warps, limits);
  const Total total = starts.download(chunks, 1).front();
  Column column;
  column.rows = from.rows;
  const bool has_pieces = step == Step::split || from.firsts != nullptr;
  if (has_pieces) column.begins = simt::Buffer<std::uint64_t>(id, from.rows + 1);
  column.offsets = simt::Buffer<std::uint64_t>(id, total.pieces + 1);
  // For the last word, which is read as a whole.
  column.bytes = simt::Buffer<Byte>(id, total.bytes / 8 * 8 + 8);
  WriteKernel write{};
  write.from = from;
  write.second = second;
  write.step = step;
  write.sizes = sizes.data();
  write.starts = starts.data();
  write.begins = column.begins.data();
  write.offsets = column.offsets.data();
  write.bytes = column.bytes.data();
  ms += device.launch_independent(write, static_cast<unsigned>(chunks), limits);
  column.bytes.set_size(total.bytes);
  return column;
}

}  // namespace heapwood::workloads::strings::two_pass_detail
