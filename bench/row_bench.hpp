// SPDX-License-Identifier: MIT
// One measurement of several allocators, interleaved (InterleavedRunner), each with its row. A
// failure of one becomes its row's status and reason, and the others go on.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "bench/interleaved_runner.hpp"
#include "bench/measured_row.hpp"

namespace heapwood::bench {

class RowBench {
 public:
  struct Candidate {
    const registry::RegisteredAllocator* entry;  // nullptr: measured without an allocator
    MeasuredRow* row;
    bool running = true;  // neither skipped nor failed
  };
  // Called with the next step before each, including skipped ones.
  using Step = std::function<void(const std::string&)>;

  RowBench(const RowBench&) = delete;  // the runner refers to it
  RowBench& operator=(const RowBench&) = delete;
  virtual ~RowBench() = default;

  bool stopped() const { return runner_.stopped(); }  // by an interruption

 protected:
  // unit: what a run is.
  RowBench(std::vector<Candidate> candidates, int runs, double budget_seconds, const Step& step,
           const std::string& unit = "run");

  // Of the candidate with this index.
  virtual void warm_up(std::size_t i) = 0;
  virtual void run(std::size_t i) = 0;
  virtual void keep_warm_up(std::size_t i) = 0;  // as the only run
  // Sets status and reason of a row that did not fail.
  virtual void judge(std::size_t i) = 0;
  // The reason of a row that a time limit has ended; "": the message of the exception.
  virtual std::string time_limit_text() const { return ""; }

  void skip(std::size_t i, const std::string& reason);
  void fail(std::size_t i, const std::string& reason);
  void fail(std::size_t i, const std::exception& error);
  void fail_all(const std::exception& error);  // those that are running
  bool any_running() const;
  // Judges the rows and sets their wall times.
  void finish();
  // "slow: only 2 of 5 runs"; "" if there are all.
  std::string reason_of_few_runs(std::size_t i, std::size_t runs) const;

  std::vector<Candidate> candidates_;
  InterleavedRunner runner_;

 private:
  std::vector<RunCandidate> run_candidates();

  int runs_;
  std::string unit_;
};

// Counts its calls, also those of copies.
RowBench::Step counted_steps(const OnStep& on_step, std::size_t total);

// Candidates for the rows that `kept` does not have: is_same(earlier, row). The others become what
// they are there. entries: of the rows.
template <class Row, class Same>
std::vector<RowBench::Candidate> candidates_for(
    std::vector<Row>& rows, const std::vector<const registry::RegisteredAllocator*>& entries,
    const std::vector<Row>& kept, Same is_same) {
  std::vector<RowBench::Candidate> candidates;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row* earlier = nullptr;
    for (const Row& one : kept) {
      if (earlier == nullptr && is_same(one, rows[i])) earlier = &one;
    }
    if (earlier != nullptr)
      rows[i] = *earlier;
    else
      candidates.push_back({entries[i], &rows[i]});
  }
  return candidates;
}

}  // namespace heapwood::bench
