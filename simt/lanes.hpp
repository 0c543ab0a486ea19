// SPDX-License-Identifier: MIT
// Short vectors for CPU code that works on several numbers at once: GCC's and Clang's vector types, which every processor
// has (two or four operations where its registers are shorter), with the operators of the language and no intrinsics.
// A comparison gives -1 or 0 in each lane; `mask ? a : b` selects lane by lane. Host code only.
//
// Functions that use these are SIMT_CLONED or SIMT_CLONED_512: x86-64 programs then hold them again for processors with AVX2, or
// with AVX2 and AVX-512, and choose when they start. Arithmetic is that of the scalar code, operation by operation, so the results
// are the same.
#pragma once

#include <cstring>

namespace heapwood::simt {

template <unsigned width>
struct Lanes {
  using Floats [[gnu::vector_size(4 * width)]] = float;
  using Ints [[gnu::vector_size(4 * width)]] = int;
};
using Floats8 = Lanes<8>::Floats;
using Ints8 = Lanes<8>::Ints;
using Floats4 = Lanes<4>::Floats;
using Ints4 = Lanes<4>::Ints;

// Whether this processor has eight of them in a register. Without, GCC takes comparisons and selections of eight apart, one by one.
inline bool has_eight_lanes() {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

}  // namespace heapwood::simt
