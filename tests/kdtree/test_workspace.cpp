// SPDX-License-Identifier: MIT
// The arrays of a workspace: limits, and an array that cannot grow.
#include "kdtree/build/workspace.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "tests/kdtree/build_support.hpp"

namespace heapwood::kdtree {
namespace {

using namespace test;

// Limits the address space of the process to `more` bytes more than it has.
class AddressSpaceLimit {
 public:
  explicit AddressSpaceLimit(rlim_t more) {
    getrlimit(RLIMIT_AS, &before_);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + more;
    setrlimit(RLIMIT_AS, &limit);
  }
  ~AddressSpaceLimit() { setrlimit(RLIMIT_AS, &before_); }
  AddressSpaceLimit(const AddressSpaceLimit&) = delete;
  AddressSpaceLimit& operator=(const AddressSpaceLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(Workspace, KeepsAnArrayThatCannotGrow) {
  if (sanitized) GTEST_SKIP() << "sanitizers need more address space than they use";
  const Soup soup = random_soup(100, 1, 0.1f);
  const DeviceMesh mesh(simt::DeviceId{.kind = simt::DeviceKind::cpu, .index = 0, .threads = 1},
                        soup.view());
  constexpr std::size_t nodes = (std::size_t{64} << 20) / sizeof(Node);
  Workspace workspace(mesh, RefKind::clipped, std::size_t{1} << 20, {.nodes = nodes});
  {
    const AddressSpaceLimit limit(rlim_t{16} << 20);
    EXPECT_THROW(workspace.parts().grow(nodes_overflow), Error);
  }
  EXPECT_EQ(workspace.parts().nodes.size(), nodes);
  workspace.parts().grow(nodes_overflow);
  EXPECT_EQ(workspace.parts().nodes.size(), 2 * nodes);
  workspace.parts().nodes = {};
  workspace.parts().grow(nodes_overflow);
  EXPECT_GT(workspace.parts().nodes.size(), 0u);
}

TEST(Workspace, RefusesScenesBeyondItsRange) {
  EXPECT_NO_THROW(require_buildable(max_triangles));
  try {
    require_buildable(max_triangles + 1);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the scene has 268435456 triangles, but a builder takes at most 268435455; use a "
                 "smaller scene");
  }
}

}  // namespace
}  // namespace heapwood::kdtree
