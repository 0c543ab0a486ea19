// SPDX-License-Identifier: MIT
// The rows of `heapwood strings`: the lines of a text file, or random ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/strings/text.hpp"

namespace heapwood::workloads::strings {

// A column in host memory. Row i has the pieces from begins[i] to begins[i + 1], or only piece i if
// `begins` is empty; piece p has the bytes from offsets[p] to offsets[p + 1].
struct HostColumn {
  std::vector<std::uint64_t> begins, offsets{0};
  std::vector<Byte> bytes;

  std::uint64_t pieces() const { return offsets.size() - 1; }
  std::uint64_t rows() const { return begins.empty() ? pieces() : begins.size() - 1; }
  std::uint64_t begin(std::uint64_t row) const { return begins.empty() ? row : begins[row]; }
};

struct StringsInput {
  std::string name;    // as given
  std::string digest;  // of a file's content
  HostColumn column;
  std::vector<std::string> notes;
};

// Reads "lognormal:ROWS[:SEED]" or a file. Longer lines than 64 KiB become several rows. Throws
// Error{Exit::usage} for a wrong generator and Error{Exit::scene} for a file without lines.
StringsInput load_strings(const std::string& name);

// Random text; the lengths are log-normal from 1 byte to 64 KiB, with a median of 16 bytes. Uses
// integers only, so the text depends on nothing but its arguments.
HostColumn generate_strings(std::uint64_t rows, std::uint64_t seed);

}  // namespace heapwood::workloads::strings
