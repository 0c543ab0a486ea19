// SPDX-License-Identifier: MIT
// Runs a StringsJob with allocator A on a Device.
//
// A row whose request is refused keeps its old string, and a refused piece of the split is left
// out; such rows are marked, and their contents are not compared with the host's.
#pragma once

#include <utility>

#include "alloc/allocator.hpp"
#include "simt/atomic_ref.hpp"
#include "simt/clock.hpp"
#include "simt/launch.hpp"
#include "workloads/strings/strings.hpp"

namespace heapwood::workloads::strings {

// Blocks in device memory.
struct Blocks {
  Byte** at;
  std::uint32_t* sizes;  // `absent`: no block

  HEAPWOOD_INLINE void set(std::uint64_t i, Byte* block, std::uint32_t bytes) const {
    at[i] = block;
    sizes[i] = block == nullptr ? absent : bytes;
  }
};

struct Counters {
  std::uint64_t refused;
  std::uint64_t pieces;  // after the split
};

// Contains one call of malloc and one of free, so that the allocator is inlined only once.
template <class A>
struct StringsKernel : StepKernel {
  A allocator;
  Step step;
  bool ends;  // frees `blocks`, nothing else
  std::uint64_t rows;
  Source input;
  Blocks blocks;  // one per row; with `ends` those to free
  // After the split: a row's pieces are counts[row] blocks from firsts[row] on.
  Blocks pieces;
  std::uint64_t* firsts;
  std::uint32_t* counts;
  std::uint64_t max_pieces;
  std::uint8_t* is_refused;
  Counters* counters;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    A a = allocator;
    const std::uint64_t row = thread_of(warp);
    const bool has_row = row < rows;
    const bool has_old = has_row && step != Step::load && blocks.sizes[row] != absent;
    Text old{};
    if (step == Step::load && has_row) old = input.text(row);
    if (has_old) old = {blocks.at[row], blocks.sizes[row]};
    const bool splits = step == Step::split && !ends, drops = step == Step::filter && !ends;
    std::uint32_t count = !ends && !drops && (has_old || (step == Step::load && has_row)) ? 1 : 0;
    std::uint64_t first = row;
    if (splits) {
      if (count != 0) count = count_pieces(old);
      first = reserve(warp, count);
      if (first + count > max_pieces) count = 0;  // cannot happen: the host has counted them
      if (has_row) {
        firsts[row] = first;
        counts[row] = count;
      }
    }
    // Makes the new strings.
    std::uint32_t refused = 0;
    Text rest = old;
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < count && !stopped(warp, i); ++i) {
      const Text second = step == Step::concatenate ? input.text(second_row(row, rows)) : Text{};
      Text from = rest;
      Sizes needs;
      if (splits) {
        from.bytes = needs.bytes = bytes_before_blank(rest);
        rest = {rest.at + from.bytes + 1, rest.bytes - from.bytes - 1};
      } else {
        put_row(step, from, second, needs);
      }
      auto* const block = static_cast<Byte*>(a.allocate(warp, alloc::padded(needs.bytes)));
      refused += block == nullptr;
      if (block != nullptr) {
        ByteWriter to(block);
        put_row(step, from, second, to);
        to.finish();
      }
      if (splits)
        pieces.set(first + i, block, needs.bytes);
      else if (block != nullptr || step == Step::load)
        blocks.set(row, block, needs.bytes);
    }
    if (refused != 0) {
      is_refused[row] = 1;
      simt::atomic_ref<std::uint64_t>(counters->refused).fetch_add(refused, simt::relaxed);
    }
    // Frees the old string, or the pieces that the filter drops.
    Blocks freed = drops ? pieces : blocks;
    std::uint32_t frees = has_old && (ends || splits || (count != 0 && refused == 0)) ? 1 : 0;
    if (drops) {
      frees = has_row ? counts[row] : 0;
      first = has_row ? firsts[row] : 0;
    } else {
      first = row;
    }
    HEAPWOOD_ROLLED
    for (std::uint32_t i = 0; i < frees && !stopped(warp, i); ++i) {
      if (drops && (is_kept(row, i) || freed.sizes[first + i] == absent)) continue;
      Byte* block = const_cast<Byte*>(old.at);
      if (drops) block = freed.at[first + i];
      a.deallocate(warp, block);
      if (drops || ends || splits) freed.set(first + i, nullptr, 0);
    }
  }

 private:
  // A row may have many pieces, and a call of an allocator may take long.
  template <class Warp>
  HEAPWOOD_INLINE static bool stopped(const Warp& warp, std::uint32_t turn) {
    return (turn & 3) == 3 && warp.aborted();
  }

  // Reserves `count` entries of `pieces`. All lanes of the warp call it.
  template <class Warp>
  HEAPWOOD_INLINE std::uint64_t reserve(Warp& warp, std::uint32_t count) const {
    const std::uint32_t end = warp.inclusive_add(count), total = warp.shfl(end, Warp::width - 1);
    std::uint64_t begin = 0;
    // relaxed: the host reads the count after the launch.
    if (warp.lane() == 0)
      begin = simt::atomic_ref<std::uint64_t>(counters->pieces).fetch_add(total, simt::relaxed);
    return warp.shfl(begin, 0) + end - count;
  }
};

template <class A, class Device>
StepsResult run_strings(const Device& device, const StringsJob& job) {
  const StringsData& data = *job.data;
  const std::uint64_t rows = data.input.rows;
  const alloc::AllocatorTraits& traits = alloc::traits_on<A>(device);
  const simt::Buffer<Byte*> blocks(job.device, rows), pieces(job.device, data.pieces);
  const simt::Buffer<std::uint64_t> firsts(job.device, rows);
  simt::Buffer<std::uint32_t> sizes(job.device, rows), piece_sizes(job.device, data.pieces),
      counts(job.device, rows);
  simt::Buffer<std::uint8_t> is_refused(job.device, rows);
  simt::Buffer<Counters> counters(job.device, 1);
  sizes.fill(0xff);  // absent
  piece_sizes.fill(0xff);
  counts.fill(0);
  is_refused.fill(0);
  counters.fill(0);
  StringsKernel<A> kernel{};
  kernel.rows = rows;
  kernel.input = data.input.source();
  kernel.blocks = {blocks.data(), sizes.data()};
  kernel.pieces = {pieces.data(), piece_sizes.data()};
  kernel.firsts = firsts.data();
  kernel.counts = counts.data();
  kernel.max_pieces = pieces.size();
  kernel.is_refused = is_refused.data();
  kernel.counters = counters.data();
  StepsResult result;
  result.reset_ms =
      simt::measure_ms([&] { kernel.allocator = A::create(job.pool, job.options, device); });
  const alloc::ReleaseAtEnd<A, Device> release(job.pool, device);

  const auto launch = [&](const StringsKernel<A>& launched, double seconds) {
    return device.launch_independent(launched, warps_for<Device>(launched.rows),
                                     {.seconds = seconds, .what = traits.id});
  };
  const auto free_all = [&](double seconds) {
    StringsKernel<A> frees = kernel;
    frees.step = Step::filter;
    frees.ends = true;
    const double ms = launch(frees, seconds);
    frees.blocks = frees.pieces;
    frees.rows = pieces.size();
    return ms + launch(frees, seconds);
  };
  const auto compact = [&](double& ms) {
    const Source from{.rows = rows,
                      .firsts = firsts.data(),
                      .counts = counts.data(),
                      .blocks = pieces.data(),
                      .sizes = piece_sizes.data()};
    return two_pass_step(job.device, Step::compact, from, kernel.input, job.seconds, ms);
  };
  const auto live_bytes = [&] {
    std::uint64_t live = 0;
    for (const simt::Buffer<std::uint32_t>* of : {&sizes, &piece_sizes}) {
      for (const std::uint32_t bytes : of->download())
        live += bytes == absent ? 0 : alloc::padded(bytes);
    }
    return live;
  };

  std::uint64_t refused = 0;  // in all steps so far
  try {
    for (unsigned i = 0; i < step_count; ++i) {
      kernel.step = static_cast<Step>(i);
      StepResult& done = result.steps.emplace_back();
      if (kernel.step == Step::compact) {
        const Column column = compact(done.ms);
        done.ms += free_all(traits.in_pool ? job.seconds : max_free_seconds);
        if (job.inspects) check_strings(column.download(), data.result, is_refused.download());
      } else {
        done.ms = launch(kernel, job.seconds);
      }
      const Counters seen = counters.download().front();
      done.refused = seen.refused - std::exchange(refused, seen.refused);
      if (kernel.step == Step::split)
        done.requests = seen.pieces;
      else if (kernel.step < Step::split)
        done.requests = rows - (kernel.step == Step::load ? 0 : result.steps.front().refused);
      if (job.inspects && traits.in_pool)
        inspect_pool(kernel.allocator, job.device, i, live_bytes, result);
    }
  } catch (const simt::Stopped&) {
    if (!traits.in_pool) free_all(max_free_seconds);
    throw;
  }
  return result;
}

}  // namespace heapwood::workloads::strings
