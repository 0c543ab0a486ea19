// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/output/tables.hpp"
#include "bench/build_profile.hpp"
#include "bench/results/format.hpp"
#include "bench/results/result.hpp"

namespace heapwood::app {

namespace {

class Lines {
 public:
  explicit Lines(bool bold) : bold_(bold) {}
  void heading(const std::string& text) {
    text_ += bold_ ? "\n\033[1m" + text + "\033[0m\n" : "\n" + text + "\n";
  }
  void line(const std::string& label, const std::string& value, const std::string& remark = "") {
    std::string pad(value_width > display_width(value) ? value_width - display_width(value) : 0,
                    ' ');
    text_ +=
        fmt::format("  {:<22}{}{}{}{}\n", label, pad, value, remark.empty() ? "" : "   ", remark);
  }
  void raw(const std::string& text) { text_ += text; }
  const std::string& text() const { return text_; }

 private:
  static constexpr std::size_t value_width = 12;
  bool bold_;
  std::string text_;
};

void add_time(Lines& lines, const Result& result) {
  lines.heading("Time");
  if (!result.median_ms()) {
    lines.line("build", missing, result.reason);
    return;
  }
  lines.line("build", figure_text(result.median_ms()) + " ms",
             fmt::format("median of {}; quartiles {} and {}", result.runs_ms.size(),
                         figure_text(quantile(result.runs_ms, 0.25)),
                         figure_text(quantile(result.runs_ms, 0.75))));
  if (result.status == Status::ok && result.triangles > 0 && *result.median_ms() > 0) {
    lines.line("speed",
               figure_text(static_cast<double>(result.triangles) / *result.median_ms() / 1e3),
               "million triangles/s");
  }
  lines.line("reset of the pool", figure_text(median(result.reset_ms)) + " ms",
             "before each build, not included in its time");
}

void add_quality(Lines& lines, const Result& result) {
  if (!result.tree) return;
  const kdtree::TreeStats& tree = *result.tree;
  const kdtree::SahCosts& costs = result.settings.costs;
  lines.heading("Tree");
  lines.line("SAH cost", figure_text(tree.sah_cost),
             fmt::format("traversal {}, intersection {}{}", costs.traversal, costs.intersection,
                         costs.traversal == 1 && costs.intersection == 1
                             ? ""
                             : "; with 1 and 1: " + figure_text(tree.sah_cost_1_1)));
  lines.line("refs per triangle", figure_text(result.refs_per_triangle()),
             plural_text(tree.refs, "ref"));
  lines.line("leaves", count_text(tree.leaves),
             fmt::format("{} empty; the largest has {}", count_text(tree.empty_leaves),
                         plural_text(tree.largest_leaf, "ref")));
  lines.line("nodes", count_text(tree.inner + tree.leaves), fmt::format("depth {}", tree.depth));
  lines.line("hash", "", fmt::format("{:016x}", tree.hash));
}

void add_memory(Lines& lines, const Result& result) {
  lines.heading("Memory");
  if (result.pool_bytes) {
    lines.line("pool", bytes_text(*result.pool_bytes), "--pool " + result.settings.pool.text);
  }
  if (result.requests) {
    lines.line("peak bytes in use", bytes_text(result.requests->high_water_bytes),
               result.pool_bytes && *result.pool_bytes
                   ? fmt::format("{:.1f}% of the pool",
                                 100.0 * static_cast<double>(result.requests->high_water_bytes) /
                                     static_cast<double>(*result.pool_bytes))
                   : "");
  }
  if (result.requests && result.requests->address_high_water_bytes)
    lines.line("highest address", bytes_text(result.requests->address_high_water_bytes),
               "end of the highest block of the build, from the pool's start");
  if (result.at_end) {
    const alloc::Fragmentation& end = *result.at_end;
    lines.line("metadata", bytes_text(end.metadata_bytes), "the allocator's own, in the pool");
    lines.line("fragmentation", figure_text(end.external),
               fmt::format("external, after the build; largest free region {} of {} free",
                           bytes_text(end.largest_free_bytes), bytes_text(end.free_bytes)));
    if (end.internal)
      lines.line("", figure_text(end.internal), "internal, over regions still in use");
    if (end.used_bytes)
      lines.line("still in use", bytes_text(end.used_bytes),
                 result.lower_bound ? "this allocator cannot free" : "");
  }
  if (result.workspace_bytes)
    lines.line("outside the pool", bytes_text(*result.workspace_bytes),
               "queue, nodes and refs of the tree");
}

// A bar chart of sizes with one line per power of two, from the smallest to the largest size.
void add_histogram(Lines& lines, const alloc::RequestStats& requests) {
  std::uint64_t max_count = 0;
  std::size_t first = requests.histogram.size(), last = 0;
  for (std::size_t k = 0; k < requests.histogram.size(); ++k) {
    if (requests.histogram[k] == 0) continue;
    max_count = std::max(max_count, requests.histogram[k]);
    first = std::min(first, k);
    last = k;
  }
  if (max_count == 0) return;
  constexpr std::size_t bar_width = 40;
  static const char* const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  for (std::size_t k = first; k <= last; ++k) {
    const std::uint64_t count = requests.histogram[k];
    const auto parts = static_cast<std::size_t>(
        std::lround(8.0 * bar_width * static_cast<double>(count) / static_cast<double>(max_count)));
    std::string bar;
    for (std::size_t i = 0; i < parts / 8; ++i) bar += "█";
    bar += eighths[parts % 8];
    if (count > 0 && bar.empty()) bar = eighths[1];
    // Integers suffice, because every bound is a power of two.
    const unsigned unit = static_cast<unsigned>(k / 10);
    static const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    const std::string bound =
        fmt::format("up to {:>4} {}", std::uint64_t{1} << (k % 10), units[unit]);
    lines.line(bound, count_text(count), bar);
  }
}

void add_requests(Lines& lines, const Result& result) {
  if (!result.requests) return;
  const alloc::RequestStats& requests = *result.requests;
  lines.heading("Allocations");
  std::string remark;
  if (requests.allocations > 0) {
    const bool all = requests.deallocations == requests.allocations;
    remark = (all ? "all" : count_text(requests.deallocations)) + " freed";
  }
  if (requests.failures)
    remark += (remark.empty() ? "" : ", ") + count_text(requests.failures) + " refused";
  lines.line("allocations", count_text(requests.allocations), remark);
  if (requests.allocations == 0) return;
  lines.line("mean size", figure_text(requests.mean_bytes) + " B",
             fmt::format("sigma {} B", figure_text(requests.sigma_bytes)));
  add_histogram(lines, requests);
}

void add_kernel(Lines& lines, const Result& result) {
  if (!result.kernel && !result.warps) return;
  lines.heading("Kernel");
  if (!result.kernel) {
    lines.line("threads", count_text(result.warps));
    return;
  }
  lines.line(
      "registers", std::to_string(result.kernel->registers),
      fmt::format("per thread; stack {}, shared memory {} per block",
                  bytes_text(result.kernel->local_bytes), bytes_text(result.kernel->shared_bytes)));
  lines.line("occupancy", std::to_string(result.kernel->warps_per_multiprocessor),
             fmt::format("warps per multiprocessor; {} in total", count_text(result.warps)));
  if (result.calls)
    lines.line("the allocator's", registers_text(*result.calls),
               "registers of kernels with one malloc / free / both");
}

}  // namespace

std::string build_text(const Result& result, const std::string& device, const TextStyle& style) {
  Lines lines(style.bold);
  std::string title =
      fmt::format("{}: {}", result.scene, plural_text(result.triangles, "triangle"));
  if (result.degenerate)
    title += fmt::format(" ({} of zero area dropped)", count_text(result.degenerate));
  title +=
      fmt::format(", built with {}, {} refs", result.label, kdtree::name(result.settings.refs));
  lines.raw(style.bold ? "\033[1m" + title + "\033[0m\n" : title + "\n");
  lines.raw(device + "\n");
  if (result.status == Status::incomplete) {
    lines.raw(fmt::format("\nINCOMPLETE: {} stayed unsplit for lack of memory.\n",
                          plural_text(result.refused_splits, "node")));
  }
  add_time(lines, result);
  add_quality(lines, result);
  add_memory(lines, result);
  add_requests(lines, result);
  add_kernel(lines, result);
  return lines.text();
}

using kdtree::Phase;
using kdtree::phase_count;

Table profile_table(const ProfiledBuild& built) {
  const kdtree::BuildProfile& profile = *built.profile;
  const auto all = static_cast<double>(std::max<std::uint64_t>(1, profile.lifetime_ns()));
  Table table;
  table.title = fmt::format("{}, {}: time of {} warps by phase", built.scene, built.label,
                            count_text(profile.run.warps));
  table.columns = {{"phase", true}, {"% of the time"}, {"visits"}, {"us each"}};
  for (unsigned i = 0; i < phase_count; ++i) {
    const auto phase = static_cast<Phase>(i);
    const std::uint64_t ns = profile.phase_ns(phase), visits = profile.phase_visits(phase);
    table.add({kdtree::name(phase), fmt::format("{:.1f}", 100 * static_cast<double>(ns) / all),
               visits ? count_text(visits) : missing,
               visits ? figure_text(1e-3 * static_cast<double>(ns) / static_cast<double>(visits))
                      : missing});
  }
  table.notes.push_back(fmt::format("time: {} ms with the probe, {} ms without (median of {})",
                                    figure_text(profile.run.ms), figure_text(median(built.runs_ms)),
                                    built.runs_ms.size()));
  table.notes.push_back(fmt::format("allocator: {:.1f}% of the time spent working, not waiting",
                                    100 * share_of_calls(profile)));
  if (const std::optional<double> share = share_of_build(built)) {
    table.notes.push_back(
        fmt::format("no-cost allocator (bump allocation per warp, never freed): {} ms, {:.1f}% {}",
                    figure_text(median(built.without_cost_ms)), 100 * std::abs(*share),
                    *share < 0 ? "more" : "less"));
  }
  return table;
}

}  // namespace heapwood::app
