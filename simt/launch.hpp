// SPDX-License-Identifier: MIT
// Kernels and launchers: their interface, limits and errors, on every device.
//
// A kernel is a trivially copyable functor with
//   struct Scratch;                       the warp's fast memory: shared memory on the GPU
//   static constexpr unsigned block_threads, blocks_per_multiprocessor;   launch bounds on the GPU
//   template <class Warp> void operator()(Warp&, Scratch&) const;
// Launchers are Cpu (cpu.hpp), Cuda (cuda.hpp, in .cu files only) and, in tests,
// Lockstep<W> (tests/simt/lockstep.hpp). Each has
//   double launch(const Kernel&, unsigned warps, const LaunchLimits&) const;
//     Returns milliseconds. All warps are resident; 0 warps = as many as fit.
//   double launch_independent(const Kernel&, unsigned warps, const LaunchLimits&) const;
//     Any number of warps, not all resident: none may wait for another. A GPU launches whole
//     blocks, so the kernel must do nothing in warps beyond this number. With
//     Kernel::independent, warps that have not started at the time limit do not start.
//   void for_each(std::size_t n, F) const;
//     Calls F(i) for all i < n, in parallel.
//   unsigned resident_warps<Kernel>() const;
// Launches throw KernelFailure if the kernel called fail(), Stopped after the time limit or
// interrupt().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "simt/error.hpp"

namespace heapwood::simt {

// Whether this program was built with CUDA (CMakeLists.txt defines the macro). Without CUDA the
// functions of .cu files are declared but not defined: they may be called only in
// `if constexpr (simt::has_cuda)`.
#ifdef HEAPWOOD_HAS_CUDA
inline constexpr bool has_cuda = true;
#else
inline constexpr bool has_cuda = false;
#endif

[[noreturn]] inline void throw_without_cuda(const std::string& what) {
  throw Error(Exit::device, what + ": this program was built without CUDA");
}

// Resources of a kernel on a GPU, from the driver; zeros on the CPU.
struct KernelUse {
  int registers = 0;
  std::size_t local_bytes = 0;   // stack frame per thread
  std::size_t shared_bytes = 0;  // shared memory per block
  unsigned warps_per_multiprocessor = 0;
};

struct LaunchLimits {
  double seconds = 60;              // time until the abort flag is raised
  const char* what = "the kernel";  // subject of messages: "cfmmalloc: build of atrium"
  // The limit stated in messages, if this launch gets only the rest of it; 0: states `seconds`.
  double stated_seconds = 0;
};

// Thrown when a kernel called fail(code, a, b, c).
class KernelFailure : public Error {
 public:
  KernelFailure(std::uint32_t code, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                const std::string& what)
      : Error(Exit::failed, what), code(code), operand{a, b, c} {}
  std::uint32_t code;
  std::uint64_t operand[3];
};

// Throws KernelFailure or Stopped if the outcome of a finished launch is not success.
void check_outcome(std::uint32_t code, const std::uint64_t (&operand)[3], bool stopped,
                   bool interrupted, const LaunchLimits& limits);

// Throws Stopped after an interruption. Called at the beginning of each launch, because a short
// launch would end before its first test for an interruption.
void check_interruption(const LaunchLimits& limits);

}  // namespace heapwood::simt
