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
#include <map>
#include <string>
#include <vector>

#include "bench/program/output_file.hpp"
#include "bench/results/json_report.hpp"
#include "bench/row_bench.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

// The parameters shared by all cases of a run.
struct ReproduceSetup {
  bool full = false;  // the papers' parameters; else small ones: minutes on two CPU threads
  simt::DeviceInfo device;
  Allocators allocators;
  // Folder with the papers' meshes and graphs; "" = generated ones of the same sizes.
  std::string scenes;
  double seconds = 10;  // limit of a kernel, and of one allocator in a case
};

struct ReproduceCase {
  std::string key;
  Allocators allocators{};      // empty: not per allocator
  Json about = Json::object();  // context that the results do not contain
  // Announces each step, measures, and returns an array of results (schemas heapwood.bench/1 and
  // heapwood.stress/1, or docs/reproduction.md). A failure is a result with a reason. The array is
  // incomplete after an interruption.
  std::function<Json(const std::function<void(const std::string&)>&)> measure{};
};

// One kind of measurement and its parameters, in the words of the commands (docs/reproduction.md):
//
//   stress TEST   payload= pool= iterations= blocks= page= requests=: lists; rounds=, probability=,
//                 coalesced, builtin (large requests to the platform's malloc), presplit=uniform;
//                 memory: inspects addresses and fragmentation (slow in large pools)
//   build         scenes=, refs=, pool= (of a list, each scene is one case in all pools), page=;
//                 per_level: also that builder; one: requests of one allocator, as they depend on
//                 the tree only
//   recorded      scenes=, refs=, pool=: the pool during a build
//   trace, profile   scenes=
//   graph         graphs=, phases=, updates=, init=, layouts=
//   registers, semaphore, rcu, host
//
// All: only=IDS restricts the requested allocators; runs= (5); time=: times the setup's seconds.
class Experiment {
 public:
  // `quick` has the lists of the quick run.
  Experiment(const std::string& papers, const std::string& quick);

  bool has(const char* key) const { return papers_.contains(key); }
  std::string text(const char* key, const std::string& otherwise = "") const;
  double number(const char* key, double otherwise) const;
  // A list of this run, full or quick; "" if it is absent.
  std::string list(const char* key, const ReproduceSetup& setup) const;
  // At most 3 in the quick run.
  int runs(const ReproduceSetup& setup) const;
  // Those of the setup that `only` does not exclude.
  Allocators allocators(const ReproduceSetup& setup) const;

  std::string kind, test;

 private:
  std::map<std::string, std::string> papers_, quick_;
};

struct ReproduceItem {
  std::string id;  // group and number: regeff-3a
  std::string paper, figure, title;
  std::vector<Experiment> experiments{};
  std::string absent{};  // why this build cannot measure it
};

// In the papers' order.
const std::vector<ReproduceItem>& reproduce_items();
// "all", ids and groups (regeff, ouroboros, bulk, host, own) separated by commas. Throws
// Error{Exit::usage}.
std::vector<const ReproduceItem*> find_items(const std::string& list);
// The items' cases without duplicates.
std::vector<ReproduceCase> reproduce_cases(const std::vector<const ReproduceItem*>& items,
                                           const ReproduceSetup& setup);

// The cases of each kind of experiment.
using ReproduceCases = std::vector<ReproduceCase>;
ReproduceCases stress_cases(const Experiment& experiment, const ReproduceSetup& setup);
// The cases of builds, recorded builds, rays and profiles.
ReproduceCases scene_cases(const Experiment& experiment, const ReproduceSetup& setup);
ReproduceCases graph_cases(const Experiment& experiment, const ReproduceSetup& setup);
ReproduceCases primitive_cases(const Experiment& experiment, const ReproduceSetup& setup);
ReproduceCases host_cases(const Experiment& experiment, const ReproduceSetup& setup);
// Registers of kernels with one malloc, one free, and both (RegEff table 1).
ReproduceCases register_cases(const Experiment& experiment, const ReproduceSetup& setup);

// Fixes the size of the platform's malloc heap on a GPU, which its first use determines
// (alloc/primitives/builtin_heap.hpp), at that of the stress tests' pools: figures do not depend on
// the order of cases.
void open_platform_heap(const ReproduceSetup& setup);

using Announce = std::function<void(const std::string&)>;

// Announces the next step only.
inline OnStep on_step(const Announce& announce) {
  return [&](std::size_t, std::size_t, const std::string& what) { announce(what); };
}

inline void set_status(Json& result, Status status, const std::string& reason) {
  result["status"] = name(status);
  if (!reason.empty()) result["reason"] = reason;
}

// The file in the folder of the papers' meshes and graphs with one of these extensions, or "".
std::string find_file(const std::string& folder, const std::string& stem,
                      const std::vector<std::string>& extensions);

inline constexpr const char* reproduce_schema = "heapwood.reproduce/1";

std::string results_path(const std::string& folder);

class ReproduceResults {
 public:
  // Creates the folder and reads its results.json. Throws Error{Exit::failed} if that has another
  // schema, and Error{Exit::usage} if it is of another device or scale.
  ReproduceResults(const std::string& folder, const ReproduceSetup& setup,
                   const std::vector<std::string>& argv);

  // Whether the case has a result for each of its allocators.
  bool has(const ReproduceCase& one) const;
  void add(const ReproduceCase& one, double seconds, Json results);
  // Writes the items, measured or not, with their cases.
  void describe(const std::vector<ReproduceItem>& items, const ReproduceSetup& setup);
  void write();

  // The results of a case, or nullptr.
  const Json* results(const std::string& key) const;
  double seconds(const std::string& key) const;  // duration of a case
  const std::string& path() const { return file_.path(); }

 private:
  const Json* find(const std::string& key) const;

  OutputFile file_;
  simt::DeviceInfo device_;
  Json json_, run_;  // run_: this run's entry, stored with its first case
};

}  // namespace heapwood::bench
