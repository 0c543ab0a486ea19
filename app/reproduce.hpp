// SPDX-License-Identifier: MIT
// heapwood reproduce: the tables and figures of the papers, measured again (docs/reproduction.md).
//
// An item is a table or figure. It names experiments: what to measure, with the paper's parameters and with quick ones. An
// experiment gives cases: what is measured at one go, with all allocators interleaved. A case's key says all that decides it, so
// a case that two items share is measured once, and one that a results file has already is not measured again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/json_report.hpp"
#include "app/stress.hpp"
#include "simt/device.hpp"

namespace heapwood::app {

// What all cases of a run have in common.
struct ReproduceSetup {
  bool full = false;  // the papers' parameters; else what takes minutes on two CPU threads
  simt::DeviceInfo device;
  std::vector<const engine::Entry*> allocators;
  std::string scenes;   // a folder with meshes of the papers' scenes; "" = procedural scenes of their size instead
  double seconds = 10;  // limit of a kernel, and an allocator's share of a case
};

struct ReproduceCase {
  std::string key;
  std::vector<const engine::Entry*> allocators{};  // one result each; empty: the results are of something else
  Json about = Json::object();                     // what the results themselves do not say
  // Told what comes next, measures, and returns an array of results (schemas heapwood.bench/1 and heapwood.stress/1, or
  // docs/reproduction.md). Whoever fails is a result with a reason. Worthless once interrupted.
  std::function<Json(const std::function<void(const std::string&)>&)> measure{};
};

using Experiment = std::function<std::vector<ReproduceCase>(const ReproduceSetup&)>;

struct ReproduceItem {
  const char* id;  // its group and its number: regeff-3a
  const char* paper;
  const char* figure;
  const char* title;
  std::vector<Experiment> experiments;
  const char* absent = "";  // why this build cannot measure it
};

// In the order of the papers.
const std::vector<ReproduceItem>& reproduce_items();
// "all", ids and groups (regeff, ouroboros, bulk, host, own) separated by commas. Throws Error{Exit::usage}.
std::vector<const ReproduceItem*> find_items(const std::string& list);
// The items' cases, each once.
std::vector<ReproduceCase> reproduce_cases(const std::vector<const ReproduceItem*>& items, const ReproduceSetup& setup);
// One of several parts that together are all of them: each case that is `count` behind the last one. Neighbours take about as
// long, so that the parts do, too.
struct Part {
  std::size_t number = 1, count = 1;
};
// "2/4". Throws Error{Exit::usage}.
Part parse_part(const std::string& text);
std::vector<ReproduceCase> part_of(std::vector<ReproduceCase> cases, const Part& part);

// A generic test at every point of the lists; `lists` of the quick run are the paper's unless given.
struct StressPlan {
  const char* test;
  StressLists full{}, quick{};
  const char* only = "";  // ids: of the allocators asked for, these
  int runs = 5;
  bool memory = false;     // look at addresses and fragmentation, which takes longer than the runs in a large pool
  double time_factor = 1;  // of the setup's seconds
};
Experiment generic_test(const StressPlan& plan);

// A scene of a paper: a file of this name in the folder of scenes, or else a procedural scene of its number of triangles.
struct PaperScene {
  const char* name;
  const char* file;
  const char* stand_in;
};
struct BuildPlan {
  std::vector<PaperScene> full, quick;
  kdtree::RefKind refs;
  const char* pool;
  int runs = 5;
  const char* only = "";
  bool per_level = false;       // the per-level builder, too
  bool requests_of_all = true;  // false: of one allocator; they depend on the tree alone, fragmentation does not
  double time_factor = 1;       // of the setup's seconds
};
Experiment builds(const BuildPlan& plan);
// The pool over a build: what is in use and how the rest is cut up.
Experiment recorded_builds(const std::vector<PaperScene>& full, const std::vector<PaperScene>& quick);

// Rays a second through the trees: the measurement of `heapwood trace`.
Experiment traces(const std::vector<PaperScene>& full, const std::vector<PaperScene>& quick);

// `heapwood build --profile`, for those allocators that it is there for.
Experiment profiles(const std::vector<PaperScene>& full, const std::vector<PaperScene>& quick);

enum class Primitive { semaphore, rcu };
Experiment primitive_test(Primitive primitive);
// `heapwood host-bench`: the platform's own and all host allocators.
Experiment host_managed();
// The heap of the platform's malloc on a GPU keeps the size that its first use gives it (alloc/primitives/builtin_heap.hpp):
// uses it, as large as the generic tests' pools, so that figures do not depend on which case comes first.
void open_platform_heap(const ReproduceSetup& setup);
// Of kernels with one malloc, one free and one of each (RegEff table 1).
Experiment registers();

}  // namespace heapwood::app
