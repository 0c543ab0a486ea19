// SPDX-License-Identifier: MIT
// A function of the warp as a kernel.
#pragma once

namespace heapwood::tests {

template <class F>
struct FunctionKernel {
  struct Scratch {};
  F f;
  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    f(warp);
  }
};
template <class F>
FunctionKernel(F) -> FunctionKernel<F>;

}  // namespace heapwood::tests
