// SPDX-License-Identifier: MIT
// Request k of a build and all later ones are refused, for every k: the tree is valid, marked
// incomplete, and all memory is freed.
//
// HEAPWOOD_REFUSED_REQUESTS=FIRST-LAST tests these requests of a larger mesh, on a GPU in several
// processes (tests/gpu.sh).
#include <cstdio>

#include "tests/kdtree/build_support.hpp"

namespace heapwood::kdtree {
namespace {

using namespace test;

struct Requests {
  std::size_t triangles = 60;
  std::uint64_t first = 1, last = 1000;  // or that of the complete build
};

Requests chosen_requests() {
  Requests requests;
  unsigned long long first = 0, last = 0;
  const char* const text = std::getenv("HEAPWOOD_REFUSED_REQUESTS");
  if (text != nullptr && std::sscanf(text, "%llu-%llu", &first, &last) == 2 && first > 0) {
    requests.first = first;
    requests.last = last;
    requests.triangles += last;  // requests of a random soup: 1.4 to 2 per triangle
  }
  return requests;
}

class BuildEveryRequest : public PerAllocator {};

TEST_P(BuildEveryRequest, RefusedInTurn) {
  const Subject& subject = GetParam();
  const Requests requests = chosen_requests();
  const Soup soup = random_soup(requests.triangles, 91, 0.02f);
  const DeviceMesh mesh(subject.device, soup.view());
  const RefKind kind = RefKind::clipped;
  const Expected want = expected(soup.view(), kind);
  ASSERT_GE(want.allocations, std::min<std::uint64_t>(requests.last, requests.triangles));
  Workspace workspace(mesh, kind, ample_pool(subject, want));
  const std::uint64_t last = std::min(requests.last, want.allocations);
  for (std::uint64_t k = requests.first; k <= last; k += sanitized ? 7 : 1) {
    SCOPED_TRACE("request " + std::to_string(k));
    BuildOptions options;
    options.fail_at = k;
    const InstrumentedRun instrumented = subject.compiled->build_instrumented(workspace, options);
    EXPECT_TRUE(instrumented.run.incomplete);
    EXPECT_EQ(instrumented.requests.allocations, k - 1);
    EXPECT_EQ(instrumented.requests.deallocations, k - 1);
    if (subject.frees() && instrumented.at_end.measured) {
      EXPECT_EQ(instrumented.at_end.used_bytes, 0u);
    }
    // Validation takes much longer than the build of a large mesh.
    if (last <= 1000 || k % 64 == 0) {
      const Built built = finish(workspace, instrumented.run);
      expect_sound(built, soup.view());
      EXPECT_LE(arrays_of(built.stats), k);
    }
    if (HasFailure()) return;  // one request is enough to see why
  }
}

INSTANTIATE_TEST_SUITE_P(Allocators, BuildEveryRequest, ::testing::ValuesIn(few_subjects()),
                         name_of);

}  // namespace
}  // namespace heapwood::kdtree
