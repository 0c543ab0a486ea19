// SPDX-License-Identifier: MIT
// Programs with one error each, which a checked heap must find: on CPU threads
// (test_checked_heap.cpp) and in kernels (gpu/checked_heap.cu).
#pragma once

#include <heapwood/checked_heap.hpp>

namespace heapwood_test {

struct Planted {
  heapwood::check_kind kind;
  const char* text;  // a part of the message
};
inline constexpr Planted planted[] = {
    {heapwood::check_kind::overrun, "write at offset 40, past the end of a block of 40 bytes"},
    {heapwood::check_kind::overrun, "offset 55"},
    {heapwood::check_kind::overrun, "offset 44"},
    {heapwood::check_kind::underrun, "offset -1, before the start of"},
    {heapwood::check_kind::double_free, "freed twice, second at planted.hpp:"},
    {heapwood::check_kind::foreign_pointer, "not in this heap"},
    {heapwood::check_kind::foreign_pointer, "not in this heap"},
    {heapwood::check_kind::no_block, "where no block starts"},
    {heapwood::check_kind::no_block, "where no block starts"},
    {heapwood::check_kind::write_after_free, "offset 5 of a freed block of 40 bytes"},
    {heapwood::check_kind::write_after_free, "offset 4999 of a freed block of 5000 bytes"},
    {heapwood::check_kind::wrong_free,
     "wrong function (free or aligned_free) called for a block of 40 bytes"},
    {heapwood::check_kind::wrong_free, "called for a block of 24 bytes"},
    {heapwood::check_kind::wrong_size, "an old size of 41 bytes for a block of 40 bytes"},
    {heapwood::check_kind::overwritten_head, "was overwritten"},
};
inline constexpr int planted_errors = sizeof(planted) / sizeof(planted[0]);

// The program with planted[which]. `foreign`: a block of another heap.
HEAPWOOD_FN inline void plant(const heapwood::checked_heap_handle& h, int which, void* foreign) {
  int local = 0;
  auto* const p = static_cast<unsigned char*>(h.malloc(40, HEAPWOOD_HERE));
  auto* const q = static_cast<unsigned char*>(h.malloc(5000, HEAPWOOD_HERE));
  if (which == 0) p[40] = 1;
  if (which == 1) p[55] = 1;
  if (which == 2) p[44] = 1;
  if (which == 3) p[-1] = 1;
  if (which == 4) h.free(p);
  if (which == 5) h.free(foreign, HEAPWOOD_HERE);
  if (which == 6) h.free(&local, HEAPWOOD_HERE);
  if (which == 7) h.free(p + 16, HEAPWOOD_HERE);
  if (which == 8) h.free(p + 3, HEAPWOOD_HERE);
  if (which == 11) h.free(h.aligned_alloc(256, 40), HEAPWOOD_HERE);
  if (which == 12) h.aligned_free(h.malloc(24));
  if (which == 14) {
    for (int i = -100; i < -50; ++i) p[i] = 0x41;
  }
  if (which == 13) {
    h.free(h.at(HEAPWOOD_HERE).realloc(p, 41, 100));
  } else if (which != 2) {  // check() finds errors of blocks in use
    h.free(p, HEAPWOOD_HERE);
  }
  h.free(q);
  if (which == 9) p[5] = 1;
  if (which == 10) q[4999] = 3;
}

}  // namespace heapwood_test
