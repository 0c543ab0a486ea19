// SPDX-License-Identifier: MIT
// What a launch is told and tells, on every device.
//
// A kernel is a trivially copyable functor with
//   struct Scratch;                                                  the warp's own fast memory
//   static constexpr unsigned block_threads, blocks_per_multiprocessor;  shape on the GPU
//   template <class Warp> void operator()(Warp&, Scratch&) const;
// Launchers: Cpu (cpu.hpp), Cuda (cuda.hpp, only in .cu files), Lockstep<W> (lockstep.hpp, tests). All have
//   double launch(const Kernel&, unsigned warps, const LaunchLimits&) const;     milliseconds; warps 0 = as many as fit
//   double launch_independent(const Kernel&, unsigned warps, const LaunchLimits&) const;   any number of warps, not all
//                                                                                at once: none may wait for another
//     With Kernel::independent, warps that have not begun at the time limit do not.
//   Stream stream(const LaunchLimits&) const;                                    launches one after another (stream.hpp)
//   void for_each(std::size_t n, F) const;                                       F(i) for all i, in parallel
//   unsigned resident_warps<Kernel>() const;
// and throw KernelFailure when the kernel called fail(), Stopped when the time limit passed or interrupt() was called.
#pragma once

#include <cstdint>
#include <string>

#include "simt/error.hpp"

namespace heapwood::simt {

struct LaunchLimits {
  double seconds = 60;              // then the abort flag is raised
  const char* what = "the kernel";  // named in the message: "cfmmalloc: build of atrium"
};

// A kernel called fail(code, a, b, c).
class KernelFailure : public Error {
 public:
  KernelFailure(std::uint32_t code, std::uint64_t a, std::uint64_t b, std::uint64_t c, const std::string& what)
      : Error(Exit::failed, what), code(code), operand{a, b, c} {}
  std::uint32_t code;
  std::uint64_t operand[3];
};

// Throws what a finished launch's control block calls for; returns quietly if all is well.
void check_outcome(std::uint32_t code, const std::uint64_t (&operand)[3], bool stopped, bool interrupted,
                   const LaunchLimits& limits);

// Throws Stopped after an interruption: many short launches would each be over before they look for one.
void check_interruption(const LaunchLimits& limits);

}  // namespace heapwood::simt
