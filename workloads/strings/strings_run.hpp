// SPDX-License-Identifier: MIT
// Runs a StringsJob with allocator A on a Device.
//
// A row whose request is refused keeps its old string, and a refused piece of the split is left
// out; such rows are marked, and their contents are not compared with the host's.
#pragma once

#include <vector>

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
    const std::uint64_t row = item_of(warp);
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
class StringsRun {
  using Kernel = StringsKernel<A>;

 public:
  StringsRun(const Device& device, const StringsJob& job)
      : device_(device),
        job_(job),
        data_(*job.data),
        rows_(data_.input.rows),
        blocks_(job.device, rows_),
        pieces_(job.device, data_.pieces),
        firsts_(job.device, rows_),
        sizes_(job.device, rows_),
        piece_sizes_(job.device, data_.pieces),
        counts_(job.device, rows_),
        is_refused_(job.device, rows_),
        counters_(job.device, 1) {
    sizes_.fill(0xff);  // absent
    piece_sizes_.fill(0xff);
    counts_.fill(0);
    is_refused_.fill(0);
    counters_.fill(0);
  }

  StepsResult run() {
    result_.reset_ms =
        simt::measure_ms([&] { allocator_ = A::create(job_.pool, job_.options, device_); });
    const alloc::ReleaseAtEnd<A, Device> release(job_.pool, device_);
    try {
      for (unsigned i = 0; i < step_count; ++i) run_step(i);
    } catch (const simt::Stopped&) {
      if (!traits().in_pool) free_all(max_free_seconds);
      throw;
    }
    return result_;
  }

 private:
  void run_step(unsigned number) {
    const auto step = static_cast<Step>(number);
    StepResult done;
    const Counters before = counters();
    if (step == Step::compact) {
      const Column column = compact(done.ms);
      done.ms += free_all(traits().in_pool ? job_.seconds : max_free_seconds);
      if (job_.inspects) check_strings(column.download(), data_.result, is_refused_.download());
    } else {
      done.ms = device_.launch_independent(kernel(step), warps_for<Device>(rows_), limits());
    }
    const Counters after = counters();
    done.refused = after.refused - before.refused;
    if (step == Step::split)
      done.requests = after.pieces;
    else if (step < Step::split)
      done.requests = rows_ - (step == Step::load ? 0 : result_.steps.front().refused);
    result_.steps.push_back(done);
    if (job_.inspects && traits().in_pool)
      inspect_pool(
          allocator_, job_.device, number, [this] { return live_bytes(); }, result_);
  }

  Kernel kernel(Step step) const {
    Kernel kernel{};
    kernel.allocator = allocator_;
    kernel.step = step;
    kernel.rows = rows_;
    kernel.input = data_.input.source();
    kernel.blocks = {blocks_.data(), sizes_.data()};
    kernel.pieces = {pieces_.data(), piece_sizes_.data()};
    kernel.firsts = firsts_.data();
    kernel.counts = counts_.data();
    kernel.max_pieces = pieces_.size();
    kernel.is_refused = is_refused_.data();
    kernel.counters = counters_.data();
    return kernel;
  }

  Column compact(double& ms) const {
    const Source from{.rows = rows_,
                      .firsts = firsts_.data(),
                      .counts = counts_.data(),
                      .blocks = pieces_.data(),
                      .sizes = piece_sizes_.data()};
    return two_pass_step(job_.device, Step::compact, from, data_.input.source(), job_.seconds, ms);
  }

  // Frees all blocks. Returns milliseconds.
  double free_all(double seconds) const {
    double ms = 0;
    for (const bool is_split : {false, true}) {
      Kernel kernel = this->kernel(Step::filter);
      kernel.ends = true;
      if (is_split) kernel.blocks = kernel.pieces;
      kernel.rows = is_split ? pieces_.size() : rows_;
      ms += device_.launch_independent(kernel, warps_for<Device>(kernel.rows),
                                       {.seconds = seconds, .what = traits().id});
    }
    return ms;
  }

  std::uint64_t live_bytes() const {
    std::uint64_t live = 0;
    for (const simt::Buffer<std::uint32_t>* sizes : {&sizes_, &piece_sizes_}) {
      for (const std::uint32_t bytes : sizes->download())
        live += bytes == absent ? 0 : alloc::padded(bytes);
    }
    return live;
  }

  Counters counters() const { return counters_.download().front(); }
  simt::LaunchLimits limits() const { return {.seconds = job_.seconds, .what = traits().id}; }
  const alloc::AllocatorTraits& traits() const { return alloc::traits_on<A>(device_); }

  const Device& device_;
  const StringsJob& job_;
  const StringsData& data_;
  const std::uint64_t rows_;
  A allocator_{};
  simt::Buffer<Byte*> blocks_, pieces_;
  simt::Buffer<std::uint64_t> firsts_;
  simt::Buffer<std::uint32_t> sizes_, piece_sizes_, counts_;
  simt::Buffer<std::uint8_t> is_refused_;
  simt::Buffer<Counters> counters_;
  StepsResult result_;
};

template <class A, class Device>
StepsResult run_strings(const Device& device, const StringsJob& job) {
  return StringsRun<A, Device>(device, job).run();
}

}  // namespace heapwood::workloads::strings
