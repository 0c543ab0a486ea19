// SPDX-License-Identifier: MIT
// results.json of `heapwood reproduce` (schema in docs/reproduction.md). It is rewritten after
// every case; the next run reads it and measures the missing cases.
#pragma once

#include <string>
#include <vector>

#include "bench/program/output_file.hpp"
#include "bench/reproduce/reproduce.hpp"

namespace heapwood::bench {

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
  Json* find(const std::string& key);

  OutputFile file_;
  simt::DeviceInfo device_;
  Json json_, run_;  // run_: this run's entry, stored with its first case
};

}  // namespace heapwood::bench
