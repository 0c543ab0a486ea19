// SPDX-License-Identifier: MIT
// SIMD vectors for CPU code: the vector types of GCC and Clang with the operators of the language,
// no intrinsics. They compile for every processor; each operation is split where registers are
// shorter. A comparison yields -1 or 0 per lane; `mask ? a : b` selects per lane. Host code only.
//
// Functions that use them are HEAPWOOD_CLONED or HEAPWOOD_AVX2 (config.hpp): x86-64 programs
// contain versions for AVX2 and AVX-512 and select one at start. Arithmetic is that of the scalar
// code, operation by operation, so results are identical.
#pragma once

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

// Whether a register of this processor holds 8 floats. Otherwise GCC splits comparisons and
// selections of 8 into scalar operations.
inline bool has_eight_lanes() {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

}  // namespace heapwood::simt
