// SPDX-License-Identifier: MIT
// Lack of host memory: one line and exit code 1, and memory to store the results so far.
#pragma once

namespace heapwood::bench {

// Holds memory back and releases it when an allocation fails for the first time. Where
// std::bad_alloc cannot be caught, that line ends the process; C++ would abort.
void prepare_for_lack_of_memory();

// Prints that line without allocating; returns the exit code.
int out_of_memory();

// In its scope lack of memory ends the process at once: for values of the JSON library, which
// crashes if an allocation fails while it makes one.
class LackOfMemoryEnds {
 public:
  LackOfMemoryEnds();
  ~LackOfMemoryEnds();
  LackOfMemoryEnds(const LackOfMemoryEnds&) = delete;
  LackOfMemoryEnds& operator=(const LackOfMemoryEnds&) = delete;
};

}  // namespace heapwood::bench
