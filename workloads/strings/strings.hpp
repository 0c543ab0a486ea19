// SPDX-License-Identifier: MIT
// Strings of a data frame, changed step by step (text.hpp). The method without an allocator is that
// of libraries for data frames: a kernel computes the size of each row, a prefix sum gives its
// place, another kernel writes a new column. It is compiled once per device. In a run with an
// allocator every string has its own block (strings_run.hpp, called through
// registry::CompiledAllocator::strings).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "simt/memory.hpp"
#include "workloads/steps.hpp"
#include "workloads/strings/text.hpp"

namespace heapwood::workloads::strings {

// A column in host memory. Row i has the pieces from begins[i] to begins[i + 1], or only piece i if
// `begins` is empty; piece p has the bytes from offsets[p] to offsets[p + 1].
struct HostColumn {
  std::vector<std::uint64_t> begins, offsets{0};
  std::vector<Byte> bytes;

  std::uint64_t rows() const { return (begins.empty() ? offsets : begins).size() - 1; }
};

// A text file's lines; those longer than 64 KiB become several rows. Sets `digest`. Throws
// Error{Exit::scene} for a file without lines.
HostColumn read_lines(const std::string& path, std::string& digest);
// Random text; the lengths are log-normal from 1 byte to 64 KiB, with a median of 16 bytes. Uses
// integers only, so the text depends on nothing but its arguments.
HostColumn generate_strings(std::uint64_t rows, std::uint64_t seed);

// A column in device memory.
struct Column {
  simt::Buffer<std::uint64_t> begins, offsets;
  simt::Buffer<Byte> bytes;
  std::uint64_t rows = 0;

  Column() = default;
  Column(const simt::DeviceId& device, const HostColumn& host);
  Source source() const {
    return {
        .rows = rows, .firsts = begins.data(), .offsets = offsets.data(), .bytes = bytes.data()};
  }
  HostColumn download() const { return {begins.download(), offsets.download(), bytes.download()}; }
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

// The input on a device, and what the steps make of it, computed by CPU threads.
struct StringsData {
  simt::DeviceId device;
  Column input;
  HostColumn result;             // after all steps
  std::uint64_t peak_bytes = 0;  // max bytes of one block per string, after any step
  std::uint64_t pieces = 0;      // after the split
};
StringsData prepare_strings(const simt::DeviceId& device, const HostColumn& input);

// All steps by two_pass_step(). With `inspects`, checks the result.
StepsResult run_two_pass(const StringsData& data, bool inspects, double seconds);

struct StringsJob : StepsJob {
  const StringsData* data = nullptr;  // on the job's device
};

// Compares the result of all steps with the expected one, except rows in `is_refused` (empty: none
// are). Throws Error{Exit::failed} that names the first row that differs.
void check_strings(const HostColumn& result, const HostColumn& expected,
                   const std::vector<std::uint8_t>& is_refused);

}  // namespace heapwood::workloads::strings
