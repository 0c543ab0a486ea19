// SPDX-License-Identifier: MIT
// Whether this program was built with CUDA (CMakeLists.txt defines the macro). Without CUDA the
// functions of .cu files are declared but not defined: they may be called only in
// `if constexpr (simt::has_cuda)`.
#pragma once

namespace heapwood::simt {

#ifdef HEAPWOOD_HAS_CUDA
inline constexpr bool has_cuda = true;
#else
inline constexpr bool has_cuda = false;
#endif

}  // namespace heapwood::simt
