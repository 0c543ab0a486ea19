// SPDX-License-Identifier: MIT
// The steps from the published to the redesigned list, and the item of heapwood reproduce that
// measures them.
#include <filesystem>
#include <fstream>
#include <set>

#include "alloc/circular_list_published/ablation.hpp"
#include "bench/bench_runner.hpp"
#include "bench/reproduce/ablation.hpp"
#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

TEST(Ablation, StepsAreLinesOfTheRegistry) {
  std::ifstream file(HEAPWOOD_SOURCE_DIR "/alloc/registry.def");
  std::set<std::string> headers;
  for (std::string line; std::getline(file, line);) headers.insert(line.substr(0, line.find(' ')));
  std::set<std::string> ids;
  for (const alloc::AblationStep& step : alloc::ablation_steps) {
    std::string header = step.allocator;
    std::replace(header.begin(), header.end(), '-', '_');
    EXPECT_TRUE(headers.contains(header)) << step.allocator;
    EXPECT_TRUE(ids.insert(step.allocator).second) << step.allocator;
    EXPECT_NE(*step.change, 0);
  }
  EXPECT_STREQ(std::rbegin(alloc::ablation_steps)->allocator, "cfmmalloc");
}

TEST(Ablation, HasCasesOfAllStepsOrSaysWhatToConfigure) {
  const bench::ReproduceItem item = bench::ablation_item();
  bench::ReproduceSetup setup;
  setup.device = simt::find_device("cpu", 2);
  setup.allocators = bench::find_allocators("all");
  std::size_t cases = 0;
  for (const bench::Experiment& experiment : item.experiments) {
    for (const bench::ReproduceCase& one : experiment(setup)) {
      EXPECT_EQ(one.allocators.size(), std::size(alloc::ablation_steps)) << one.key;
      ++cases;
    }
  }
  if (registry::find("cfmmalloc-published") == nullptr) {
    EXPECT_EQ(cases, 0u);
    EXPECT_NE(std::string(item.absent).find("HEAPWOOD_PUBLISHED"), std::string::npos);
  } else {
    EXPECT_GE(cases, 4u);
    EXPECT_EQ(*item.absent, 0);
  }
}

}  // namespace
}  // namespace heapwood::tests
