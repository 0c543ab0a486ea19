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

#include "bench/program/command_files.hpp"
#include "bench/results/json_report.hpp"
#include "bench/row_bench.hpp"
#include "simt/device.hpp"

namespace heapwood::bench {

// The parameters shared by all cases of a run.
struct ReproduceSetup {
  // The papers' parameters; otherwise small ones that take minutes on two CPU threads.
  bool full = false;
  simt::DeviceInfo device;
  Allocators allocators;
  // Folder with the papers' meshes and graphs; "" = generates ones of the same sizes.
  std::string scenes;
  double seconds = 10;  // limit of a kernel, and of all runs of one allocator in a case
};

// What a case needs from its process. With any member set, it is measured by a process of its own.
struct ProcessNeeds {
  std::size_t heap_bytes = 0;    // exact size of a fresh heap of device malloc()
  unsigned multiprocessors = 0;  // kernels run on this many of them
  bool any() const { return heap_bytes != 0 || multiprocessors != 0; }
};

struct ReproduceCase {
  std::string key;
  Allocators allocators{};      // empty: the case does not depend on the allocator
  Json about = Json::object();  // what the results do not say about the case
  ProcessNeeds needs{};
  // Announces each step, measures, and returns an array of results, whose form is that of
  // heapwood.bench/1, heapwood.stress/1 or of docs/reproduction.md. A failure is a result with a
  // reason. After an interruption the array is incomplete.
  std::function<Json(const std::function<void(const std::string&)>&)> measure{};
};

// One kind of measurement and its parameters, in the words of the commands (docs/reproduction.md):
//
// stress TEST   payload= pool= iterations= blocks= page= requests=: lists; slab=, rounds=,
//               probability=, coalesced, builtin (large requests go to the platform's malloc),
//               presplit=;
//               memory: inspects addresses and fragmentation (slow in large pools);
//               heap=pool: in a fresh heap of the pool's size; cold: without a warm-up;
//               multiprocessors=: on this many
// build         scenes=, refs=, pool= (a list: each scene is one case in all pools), page=,
//               presplit=;
//               one: counts requests with one allocator only, because they depend on the tree only
// recorded      scenes=, refs=, pool=: records the pool during a build
// trace, profile   scenes=
// graph         graphs=, phases=, updates=, init=, layouts=
// strings, particles   count=, pool=, populations=
// registers, semaphore, rcu
// host          min_block=: min blocks of segregated fit (a list)
//
// Each may have only=IDS, which restricts the requested allocators, runs= (default 5), and time=, a
// factor of the setup's seconds.
class Experiment {
 public:
  // `papers`: the text of the papers' run; `quick`: the lists that replace it in the quick run.
  Experiment(const std::string& papers, const std::string& quick);

  bool has(const char* key) const { return papers_.contains(key); }
  std::string text(const char* key, const std::string& otherwise = "") const;
  double number(const char* key, double otherwise) const;
  // The list at this key, for a full or a quick run; "" if it is absent.
  std::string list(const char* key, const ReproduceSetup& setup) const;
  // The number of runs; at most 3 in the quick run.
  int runs(const ReproduceSetup& setup) const;
  // The setup's allocators that `only` does not exclude.
  Allocators allocators(const ReproduceSetup& setup) const;

  std::string kind, test;

 private:
  std::map<std::string, std::string> papers_, quick_;
};

struct ReproduceItem {
  std::string id;  // group and number: regeff-3a
  std::string paper, figure, title;
  std::vector<Experiment> experiments{};
  std::string absent{};  // reason why this build cannot measure it
};

// All items, in the papers' order.
const std::vector<ReproduceItem>& reproduce_items();
// Parses "all", ids and groups (regeff, ouroboros, bulk, host, own). Throws Error{Exit::usage}.
std::vector<const ReproduceItem*> find_items(const std::string& list);
// The items' cases without duplicates.
std::vector<ReproduceCase> reproduce_cases(const std::vector<const ReproduceItem*>& items,
                                           const ReproduceSetup& setup);

using ReproduceCases = std::vector<ReproduceCase>;

// The cases of stress tests.
ReproduceCases stress_cases(const Experiment& experiment, const ReproduceSetup& setup);
// The cases of builds, recorded builds, rays and profiles.
ReproduceCases scene_cases(const Experiment& experiment, const ReproduceSetup& setup);
ReproduceCases graph_cases(const Experiment& experiment, const ReproduceSetup& setup);
ReproduceCases steps_cases(const Experiment& experiment, const ReproduceSetup& setup);
ReproduceCases primitive_cases(const Experiment& experiment, const ReproduceSetup& setup);
ReproduceCases host_cases(const Experiment& experiment, const ReproduceSetup& setup);
// Registers of kernels with one malloc, one free, and both (RegEff table 1).
ReproduceCases register_cases(const Experiment& experiment, const ReproduceSetup& setup);

using Announce = std::function<void(const std::string&)>;

// Passes the next step on, without the counts of steps.
inline OnStep on_step(const Announce& announce) {
  return [&](std::size_t, std::size_t, const std::string& what) { announce(what); };
}

inline void set_status(Json& result, Status status, const std::string& reason) {
  result["status"] = name(status);
  if (!reason.empty()) result["reason"] = reason;
}

// Finds a file of the papers' meshes and graphs with one of these extensions; "" if absent.
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
