// SPDX-License-Identifier: MIT
// The headers for kernels under NVRTC, NVIDIA's compiler at run time, which has no headers of the
// host: CUDA's own folders and the installed headers are the only ones. Needs no GPU.
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <string>
#include <tuple>
#include <vector>

namespace {

const char* const handle_source = R"(
#include <heapwood/heap_handle.hpp>
struct Node { int value; Node* next; };
extern "C" __global__ void kernel(heapwood::heap_handle h, Node** lists) {
  Node* const node = h.make<Node>();
  if (node == nullptr || h.usable_size(node) < sizeof(Node)) return;
  *node = {static_cast<int>(threadIdx.x), lists[threadIdx.x]};
  lists[threadIdx.x] = node;
  h.destroy(node->next);
  h.free(h.realloc(h.malloc(12, HEAPWOOD_HERE), 100));
  h.warp_free(h.warp_malloc(100));
}
)";
const char* const malloc_source = R"(
#include <heapwood/malloc.hpp>
extern "C" __global__ void kernel(void** blocks) {
  blocks[0] = realloc(malloc(100), 200);
  free(calloc(10, 10));
}
)";

class Nvrtc : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(Nvrtc, CompilesWithoutWarnings) {
  const auto [source, standard] = GetParam();
  const std::string cuda = "-I" CUDA_INCLUDE_FOLDER, headers = "-I" HEAPWOOD_HEADERS;
  const std::string cccl = cuda + "/cccl";  // where the headers are in CUDA 13 and later
  const char* const options[] = {
      standard,     "-arch=compute_90", cuda.c_str(),
      cccl.c_str(), headers.c_str(),    "--device-debug"};  // does not optimize: half the time
  nvrtcProgram program{};
  ASSERT_EQ(nvrtcCreateProgram(&program, source, "kernel.cu", 0, nullptr, nullptr), NVRTC_SUCCESS);
  const nvrtcResult result = nvrtcCompileProgram(program, std::size(options), options);
  std::size_t size = 0;
  nvrtcGetProgramLogSize(program, &size);
  std::vector<char> log(size + 1);
  nvrtcGetProgramLog(program, log.data());
  EXPECT_EQ(result, NVRTC_SUCCESS);
  EXPECT_STREQ(log.data(), "");
  nvrtcDestroyProgram(&program);
}
INSTANTIATE_TEST_SUITE_P(Headers, Nvrtc,
                         testing::Combine(testing::Values(handle_source, malloc_source),
                                          testing::Values("-std=c++17", "-std=c++20")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param) == handle_source ? "handle"
                                                                                       : "malloc") +
                                  "_" + (std::get<1>(info.param) + 8);
                         });

}  // namespace
