// SPDX-License-Identifier: MIT
// results.json of `heapwood reproduce` (schema in docs/reproduction.md): written as a whole after every case, and read again by
// the next run, which goes on with what is missing.
#pragma once

#include <string>
#include <vector>

#include "app/output_file.hpp"
#include "app/reproduce.hpp"

namespace heapwood::app {

inline constexpr const char* reproduce_schema = "heapwood.reproduce/1";

class ReproduceResults {
 public:
  // Creates the folder. Takes over what its results.json holds: throws Error{Exit::failed} if that is no such file, and
  // Error{Exit::usage} if it is of another device or scale.
  ReproduceResults(const std::string& folder, const ReproduceSetup& setup, const std::vector<std::string>& argv);

  // Whether it is there, with a result of each of its allocators.
  bool has(const ReproduceCase& one) const;
  void add(const ReproduceCase& one, double seconds, Json results);
  // What the items are, whether measured or not, and the cases they show.
  void describe(const std::vector<ReproduceItem>& items, const ReproduceSetup& setup);
  void write();

  // Of a case: its results, or nullptr.
  const Json* results(const std::string& key) const;
  double seconds(const std::string& key) const;  // that it took
  const std::string& path() const { return file_.path(); }

 private:
  Json* find(const std::string& key);

  OutputFile file_;
  Json json_, run_;  // run_: this run's entry, until it has added something
};

}  // namespace heapwood::app
