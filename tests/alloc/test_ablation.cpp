// SPDX-License-Identifier: MIT
// The steps from the published to the redesigned list are lines of alloc/registry.def, under the
// ids that they have there.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "alloc/circular_list_published/ablation.hpp"

namespace heapwood::alloc {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(HEAPWOOD_SOURCE_DIR "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Ablation, StepsAreLinesOfTheRegistry) {
  const std::string registry = "\n" + text_of("alloc/registry.def");
  std::set<std::string> ids;
  for (const AblationStep& step : ablation_steps) {
    const std::string id = step.allocator;
    EXPECT_TRUE(ids.insert(id).second) << id;
    std::string header = id;
    std::replace(header.begin(), header.end(), '-', '_');
    EXPECT_NE(registry.find("\n" + header + " "), std::string::npos) << id;
    EXPECT_NE(text_of("alloc/allocators/" + header + ".hpp").find(".id = \"" + id + "\""),
              std::string::npos)
        << id;
  }
  EXPECT_TRUE(ids.contains("cfmmalloc-published"));
  EXPECT_EQ(std::rbegin(ablation_steps)->allocator, std::string("cfmmalloc"));
}

}  // namespace
}  // namespace heapwood::alloc
