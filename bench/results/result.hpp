// SPDX-License-Identifier: MIT
// The results of measurements: rows of tables, elements of `results` in JSON.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "alloc/statistics.hpp"
#include "bench/build_settings.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_fields.hpp"
#include "bench/results/table.hpp"
#include "kdtree/check/quality.hpp"
#include "registry/registry.hpp"

namespace heapwood::bench {

// ---- what all rows have in common: the allocator, and how its measurement went

enum class Status { ok, skipped, incomplete, failed };
const char* name(Status status);
const char* name(alloc::Frees frees);

struct MeasuredRow {
  std::string allocator, label;
  alloc::Frees frees = alloc::Frees::individually;
  bool lower_bound = false;
  Status status = Status::skipped;
  std::string reason;  // one line; may be empty if the status is ok
  double seconds = 0;  // wall time of all runs

  void set_allocator(const alloc::AllocatorTraits& traits);
  bool is_measured() const { return status == Status::ok || status == Status::incomplete; }
  // The label, marked for a lower bound: "AtomicMalloc *".
  std::string marked_label() const { return label + (lower_bound ? " *" : ""); }
};

// Keys "allocator", "label", "frees", "lower_bound".
void describe_allocator(JsonFields& fields, MeasuredRow& row);
// Keys "status", "reason", "seconds".
void describe_outcome(JsonFields& fields, MeasuredRow& row);
void describe(JsonFields& fields, registry::CallUse& calls);

std::string registers_text(const registry::CallUse& use);  // "18 / 14 / 22": malloc, free, both
// Three cells with the registers of malloc, of free and of both; `missing` if not known.
std::array<std::string, 3> register_figures(const std::optional<registry::CallUse>& use);

// ---- builds

// The result of one scene and one allocator.
struct Result : MeasuredRow {
  std::string source;           // the scene as given: `atrium:1m`, a path
  std::string digest;           // of a file's content (scenes::digest)
  std::string scene;            // name in tables
  std::uint64_t triangles = 0;  // in the tree
  // Triangles without area that were dropped; 0 with --keep-degenerate.
  std::uint64_t degenerate = 0;
  BuildSettings settings;

  std::vector<double> runs_ms;
  std::vector<double> reset_ms;
  std::optional<double> slowdown;
  std::string slowdown_over;         // id of the reference allocator
  bool wrong_tree = false;           // differs from other allocators' trees or from run to run
  std::uint64_t refused_splits = 0;  // splits that an incomplete tree lacks
  std::uint64_t refused_bytes = 0;   // size of the first refused request
  unsigned warps = 0;                // of the build

  std::optional<kdtree::TreeStats> tree;
  std::optional<alloc::RequestStats> requests;
  std::optional<alloc::Fragmentation> at_end;
  std::optional<registry::KernelUse> kernel;  // on CUDA
  std::optional<registry::CallUse> calls;     // on CUDA
  std::optional<std::uint64_t> pool_bytes, workspace_bytes;

  std::optional<double> median_ms() const { return median(runs_ms); }
  std::optional<double> refs_per_triangle() const {
    if (!tree || triangles == 0) return std::nullopt;
    return static_cast<double>(tree->refs) / static_cast<double>(triangles);
  }
  std::optional<std::uint64_t> high_water_bytes() const {
    if (!requests) return std::nullopt;
    return requests->high_water_bytes;
  }
};

// The reason why a tree is incomplete: "cfmmalloc: pool of 4 MiB exhausted, tree incomplete:
// requested ..., max used ..., free ..., largest free region ...; ADVICE".
std::string exhaustion_text(const Result& result);

// The tables of `heapwood bench`, made from results only, so a JSON report reproduces them.

// A table like RegEff's tables 3 and 4, one column per scene: properties of the build, then
// slowdowns over AtomicMalloc.
Table slowdown_table(const std::vector<Result>& results);
// Slowdowns in several pool sizes, one group of columns per scene; no columns for one size.
Table pool_table(const std::vector<Result>& results);
// Memory at the end of the instrumented builds: one group of columns per scene.
Table fragmentation_table(const std::vector<Result>& results);
// The columns of CSV output, which has one line per result (bench/results/json_fields.hpp).
extern const char* const bench_columns;
Table flat_table(const std::vector<Result>& results);

// One line that says how the results were measured. There must be at least one result.
std::string method_line(const std::vector<Result>& results);

}  // namespace heapwood::bench
