// SPDX-License-Identifier: MIT
// A program without CUDA says so where it is asked to use a GPU.
#include <gtest/gtest.h>

#include "render/backend.hpp"
#include "workloads/stress_primitives.hpp"

namespace heapwood {
namespace {

template <class F>
void expect_absent(const std::string& message, F f) {
  if (simt::has_cuda) GTEST_SKIP() << "built with CUDA";
  try {
    f();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::device);
    EXPECT_EQ(error.what(), message);
  }
}

constexpr simt::DeviceId gpu{simt::DeviceKind::cuda, 0, 0};

TEST(WithoutCuda, NothingIsRendered) {
  expect_absent(
      "rendering on a GPU: this program was built without CUDA; use --device cpu, or rebuild with "
      "a "
      "CUDA compiler: make demo CUDA=on",
      [] { render::backend(gpu); });
}

TEST(WithoutCuda, NoPrimitiveIsMeasured) {
  expect_absent("stress: this program was built without CUDA", [] {
    workloads::PrimitiveJob job;
    job.device = gpu;
    workloads::run_primitive(job);
  });
}

}  // namespace
}  // namespace heapwood
