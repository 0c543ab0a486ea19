// SPDX-License-Identifier: MIT
// heapwood reproduce: repeats the measurements of the papers' tables and figures
// (docs/reproduction.md).
//
// An item is a table or figure. It lists experiments, each with the paper's parameters and with
// quick ones. An experiment consists of cases; a case is one measurement with all allocators
// interleaved. The key of a case contains all its parameters, so that a case shared by two items is
// measured once and a case already in the results file is not repeated.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/graph_bench.hpp"
#include "bench/results/json_report.hpp"
#include "bench/stress.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

// The parameters shared by all cases of a run.
struct ReproduceSetup {
  bool full = false;  // the papers' parameters; else small ones: minutes on two CPU threads
  simt::DeviceInfo device;
  std::vector<const registry::RegisteredAllocator*> allocators;
  // Folder with the papers' meshes and graphs; "" = generated ones of the same sizes.
  std::string scenes;
  double seconds = 10;  // limit of a kernel, and of one allocator in a case
};

struct ReproduceCase {
  std::string key;
  std::vector<const registry::RegisteredAllocator*> allocators{};  // empty: not per allocator
  Json about = Json::object();  // context that the results do not contain
  // Announces each step, measures, and returns an array of results (schemas heapwood.bench/1 and
  // heapwood.stress/1, or docs/reproduction.md). A failure is a result with a reason. The array is
  // incomplete after an interruption.
  std::function<Json(const std::function<void(const std::string&)>&)> measure{};
};

using Experiment = std::function<std::vector<ReproduceCase>(const ReproduceSetup&)>;

struct ReproduceItem {
  const char* id;  // group and number: regeff-3a
  const char* paper;
  const char* figure;
  const char* title;
  std::vector<Experiment> experiments;
  const char* absent = "";  // why this build cannot measure it
};

// In the papers' order.
const std::vector<ReproduceItem>& reproduce_items();
// "all", ids and groups (regeff, ouroboros, bulk, host, own) separated by commas. Throws
// Error{Exit::usage}.
std::vector<const ReproduceItem*> find_items(const std::string& list);
// The items' cases without duplicates.
std::vector<ReproduceCase> reproduce_cases(const std::vector<const ReproduceItem*>& items,
                                           const ReproduceSetup& setup);
// A stress test at every point of the lists; the quick run uses the paper's lists where it has
// none.
struct StressPlan {
  const char* test;
  StressLists full{}, quick{};
  const char* only = "";  // ids; restricts the requested allocators
  int runs = 5;
  bool memory = false;     // inspect addresses and fragmentation (slow in large pools)
  double time_factor = 1;  // times the setup's seconds
  unsigned rounds = 1;     // of both kernels in one pool: the last reuses freed blocks
  double probability = 0.75;
  bool coalesced = false;
  // Large requests are passed to the platform's malloc, by the allocators that can.
  bool builtin = false;
  Presplit presplit = Presplit::heap;  // of the published circular lists
};
Experiment generic_test(const StressPlan& plan);

// A scene of a paper: a file in the folder of scenes, or else a procedural scene of the same size.
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
  bool per_level = false;       // also the per-level builder
  bool requests_of_all = true;  // false: of one allocator, as requests depend on the tree only
  double time_factor = 1;       // of the setup's seconds
  std::size_t page_bytes = 0;   // ScatterAlloc's; 0 = chosen by it
};
// `pool` may be a list: each scene is then one case, with all allocators in each pool in turn.
Experiment builds(const BuildPlan& plan);

struct RecordPlan {
  std::vector<PaperScene> full, quick;
  kdtree::RefKind refs = kdtree::RefKind::clipped;
  const char* pool = "auto";
  const char* only = "";
};
// The pool during a build: bytes in use and fragmentation.
Experiment recorded_builds(const RecordPlan& plan);

// Rays per second, as measured by `heapwood trace`.
Experiment traces(const std::vector<PaperScene>& full, const std::vector<PaperScene>& quick);

// `heapwood build --profile`, for the allocators that support it.
Experiment profiles(const std::vector<PaperScene>& full, const std::vector<PaperScene>& quick);

// A graph of Ouroboros' table 1: a file in the folder of scenes, or else a generated graph of the
// same size.
struct PaperGraph {
  const char* name;
  const char* stand_in;
};
// `heapwood graph`: each graph is a case, with 100,000 edges per batch (quick: 1,000).
struct GraphPlan {
  std::vector<PaperGraph> full, quick;
  const char* phases;
  GraphUpdates updates = GraphUpdates::random;
  GraphInit init = GraphInit::each;
  const char* layouts = "all";
  const char* only = "";
};
Experiment graphs(const GraphPlan& plan);

enum class Primitive { semaphore, rcu };
Experiment primitive_test(Primitive primitive);
// `heapwood host-bench`: all host allocators and the platform's own.
Experiment host_managed();
// Fixes the size of the platform's malloc heap on a GPU, which its first use determines
// (alloc/primitives/builtin_heap.hpp), at that of the stress tests' pools: figures do not depend on
// the order of cases.
void open_platform_heap(const ReproduceSetup& setup);
// Registers of kernels with one malloc, one free, and both (RegEff table 1).
Experiment registers();

}  // namespace heapwood::bench
