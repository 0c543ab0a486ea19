// SPDX-License-Identifier: MIT
#include "bench/reproduce/ablation.hpp"

#include <string>

#include "alloc/circular_list_published/ablation.hpp"

namespace heapwood::bench {

namespace {

// The ids of all steps, or "" if one of them is not compiled.
std::string compiled_steps() {
  std::string ids;
  for (const alloc::AblationStep& step : alloc::ablation_steps) {
    if (registry::find(step.allocator) == nullptr) return "";
    ids += (ids.empty() ? "" : ",") + std::string(step.allocator);
  }
  return ids;
}

}  // namespace

ReproduceItem ablation_item() {
  ReproduceItem item{.id = "own-ablation",
                     .paper = "Heapwood",
                     .figure = "Ablation",
                     .title = "From the published to the redesigned CFMMalloc, change by change",
                     .experiments = {}};
  static const std::string steps = compiled_steps();
  if (steps.empty()) {
    item.absent = "not all of its allocators are compiled: configure with -DHEAPWOOD_PUBLISHED=ON";
    return item;
  }
  const char* only = steps.c_str();
  const auto test = [only](const char* name, StressLists full, StressLists quick) {
    return generic_test(
        {.test = name, .full = std::move(full), .quick = std::move(quick), .only = only});
  };
  // One lane per warp in AD and ACD, as in RegEff; all lanes of a warp in `alloc`.
  item.experiments = {
      test("ad", {.payload = "16,64,256,1K,4K", .blocks = "120,fill"}, {.payload = "16,1K"}),
      test("acd", {.payload = "16,256", .iterations = "10,100", .blocks = "120"},
           {.payload = "16", .iterations = "10"}),
      test("alloc", {.payload = "16,256", .requests = "10K,100K"},
           {.payload = "16", .requests = "1K"}),
      builds({.full = {{"Sponza", "sponza", "atrium:76k"},
                       {"Conference", "conference", "pipes:283k"},
                       {"Armadillo", "armadillo", "statue:307k"}},
              .quick = {{"Sponza", "", "atrium:5k"}},
              .refs = kdtree::RefKind::ids,
              .pool = "200x",
              .only = only,
              .requests_of_all = false})};
  return item;
}

}  // namespace heapwood::bench
