// SPDX-License-Identifier: MIT
// Strings of a data frame, changed step by step. Here is the method of libraries for data frames,
// without an allocator: one kernel computes the size of each row, a prefix sum gives its place,
// another kernel writes a new column. It is compiled once per device.
#pragma once

#include <cstdint>
#include <vector>

#include "simt/memory.hpp"
#include "workloads/steps.hpp"
#include "workloads/strings/input.hpp"
#include "workloads/strings/text.hpp"

namespace heapwood::workloads::strings {

// A column in device memory (HostColumn).
struct Column {
  simt::Buffer<std::uint64_t> begins, offsets;
  simt::Buffer<Byte> bytes;
  std::uint64_t rows = 0;

  Column() = default;
  Column(const simt::DeviceId& device, const HostColumn& host);
  Source source() const;
  HostColumn download() const;
  std::uint64_t memory_bytes() const { return begins.bytes() + offsets.bytes() + bytes.bytes(); }
};

// Makes a new column of `from`; `second` is the second column. Adds the milliseconds of the kernels
// to `ms`. Throws Error{Exit::device} for a GPU in a program without CUDA.
Column two_pass_step(const simt::DeviceId& device, Step step, const Source& from,
                     const Source& second, double seconds, double& ms);

namespace two_pass_cuda {
Column step(const simt::DeviceId& device, Step step, const Source& from, const Source& second,
            double seconds, double& ms);
}

// The input and what the steps make of it, on a device.
struct StringsData {
  simt::DeviceId device;
  Column input;
  HostColumn result;                      // after all steps, computed by CPU threads
  std::vector<std::uint64_t> live_bytes;  // of one block per string, after each step
  std::uint64_t pieces = 0;               // after the split

  std::uint64_t peak_bytes() const;
  std::uint64_t rows() const { return input.rows; }
};
StringsData prepare_strings(const simt::DeviceId& device, const StringsInput& input);

// All steps by two_pass_step(). With `inspects`, checks the result.
StepsResult run_two_pass(const StringsData& data, bool inspects, double seconds);

// A run with one block per string: each step is a kernel in which a thread makes the new string of
// its row, with one malloc, and frees the old one. The kernel is in strings_run.hpp, called through
// registry::CompiledAllocator::strings.
struct StringsJob : StepsJob {
  const StringsData* data = nullptr;  // on the job's device
};

// Compares the result of all steps with the expected one, except rows in `is_refused` (empty: none
// are). Throws Error{Exit::failed} that names the first row that differs.
void check_strings(const HostColumn& result, const HostColumn& expected,
                   const std::vector<std::uint8_t>& is_refused);

}  // namespace heapwood::workloads::strings
