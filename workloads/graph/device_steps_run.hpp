// SPDX-License-Identifier: MIT
// DeviceSteps on a Device; `Sorter` sorts on it. Included once per device.
#pragma once

#include <variant>
#include <vector>

#include "simt/launch.hpp"
#include "simt/memory.hpp"
#include "workloads/graph/algorithm_kernels.hpp"
#include "workloads/graph/class_order.hpp"
#include "workloads/graph/device_steps.hpp"
#include "workloads/graph/page_kernels.hpp"

namespace heapwood::workloads::graph::steps_detail {

// ---- sparse rows that are rebuilt: each sorted key that stays gets a position by a scan ---------

HEAPWOOD_INLINE bool stays(const RowFilter& filter, std::uint64_t i) {
  const EdgeKey key = filter.keys[i];
  const std::uint32_t source = source_of(key), destination = destination_of(key);
  if (source == destination || (i > 0 && filter.keys[i - 1] == key)) return false;
  const std::uint64_t index = lower_bound(filter.removed, filter.removed_count, key);
  return index == filter.removed_count || filter.removed[index] != key;
}

// Sets positions[i] to 1 if key i stays, otherwise to 0, and to 0 after the last key.
struct FlagKernel : KernelShape {
  RowFilter filter;
  std::uint64_t* positions;
  std::uint64_t count;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t i = thread_of(warp);
    if (i <= count) positions[i] = i < count && stays(filter, i) ? 1 : 0;
  }
};

// Runs after the prefix sum: writes the destinations, and the offsets of all vertices.
struct CompactKernel : KernelShape {
  RowFilter filter;
  const std::uint64_t* positions;
  std::uint64_t count;
  CsrView rows;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t i = thread_of(warp);
    if (i < count && positions[i + 1] != positions[i])
      rows.destinations[positions[i]] = destination_of(filter.keys[i]);
    if (i < rows.count)
      rows.offsets[i] = positions[lower_bound(filter.keys, count, static_cast<EdgeKey>(i) << 32)];
    if (i == rows.count) rows.offsets[i] = positions[count];
  }
};

// Counts the distinct sorted keys that are edges of the sorted rows.
struct CountKernel : KernelShape {
  CsrView rows;
  const EdgeKey* keys;
  std::uint64_t count;
  std::uint64_t* total;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t i = thread_of(warp);
    bool present = false;
    if (i < count && (i == 0 || keys[i - 1] != keys[i])) {
      const std::uint32_t source = source_of(keys[i]), destination = destination_of(keys[i]);
      const std::uint32_t* row = rows.adjacency(source);
      const std::uint32_t degree = rows.degree(source),
                          index = lower_bound(row, degree, destination);
      present = index < degree && row[index] == destination;
    }
    const std::uint32_t lanes = warp.ballot(present);
    if (warp.lane() == 0 && lanes != 0)  // relaxed: a sum
      simt::atomic_ref<std::uint64_t>(*total).fetch_add(simt::popcount(lanes), simt::relaxed);
  }
};

struct WriteRowsKernel : KernelShape {
  CsrView to;
  const std::uint64_t* offsets;
  const std::uint32_t* destinations;
  std::uint64_t edges;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t i = thread_of(warp);
    if (i < edges) to.destinations[i] = destinations[i];
    if (i <= to.count) to.offsets[i] = offsets[i];
  }
};

// Copies sparse rows (CSR) to the blocks of vertices.
struct WriteKernel : KernelShape {
  BlocksView view;
  const std::uint64_t* offsets;
  const std::uint32_t* destinations;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t v = thread_of(warp);
    copy_rows(
        warp, v < view.count && view.vertices[v].adjacency != nullptr ? view.vertices[v].degree : 0,
        [&](unsigned owner) { return std::uint64_t{warp.worker()} * Warp::width + owner; },
        [&](std::uint64_t row, std::uint32_t i) {
          view.vertices[row].adjacency[i] = destinations[offsets[row] + i];
        });
  }
};

// Reads the edges of a view as keys, or writes destinations back in the order of the keys.
template <class View>
struct KeyKernel : KernelShape {
  View view;
  const std::uint64_t* offsets;
  EdgeKey* keys;
  bool writes_back;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t first = std::uint64_t{warp.worker()} * Warp::width;
    const std::uint64_t v = first + warp.lane();
    if constexpr (requires { view.adjacency(0u); }) {
      copy_rows(
          warp, v < view.count ? view.degree(static_cast<std::uint32_t>(v)) : 0,
          [&](unsigned owner) { return static_cast<std::uint32_t>(first + owner); },
          [&](std::uint32_t row, std::uint32_t i) {
            std::uint32_t& entry = view.adjacency(row)[i];
            EdgeKey& key = keys[offsets[row] + i];
            if (writes_back) {
              entry = destination_of(key);
            } else {
              key = edge_key(row, entry);
            }
          });
    } else if (v < view.count) {
      const auto row = static_cast<std::uint32_t>(v);
      std::uint32_t page = view.vertices[row].first;
      HEAPWOOD_ROLLED
      for (std::uint32_t i = 0, n = view.degree(row); i < n;) {
        LinkedPage& current = view.pages[page];
        for (std::uint32_t index = 0; index < LinkedPage::capacity && i < n; ++index, ++i) {
          EdgeKey& key = keys[offsets[row] + i];
          if (writes_back) {
            current.destinations[index] = destination_of(key);
          } else {
            key = edge_key(row, current.destinations[index]);
          }
        }
        page = current.next;
      }
    }
  }
};

struct GroupKernel : KernelShape {
  const EdgeKey* keys;
  std::uint32_t* firsts;
  std::uint32_t* groups;
  std::uint32_t edges;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t i = thread_of(warp);
    const bool begins = i < edges && (i == 0 || source_of(keys[i]) != source_of(keys[i - 1]));
    const std::uint32_t lanes = warp.ballot(begins);
    if (lanes == 0) return;
    std::uint32_t first_group = 0;
    if (warp.lane() == 0)  // relaxed: a position orders nothing
      first_group =
          simt::atomic_ref<std::uint32_t>(*groups).fetch_add(simt::popcount(lanes), simt::relaxed);
    first_group = warp.shfl(first_group, 0);
    if (begins)
      firsts[first_group + simt::popcount(lanes & lanes_below(warp))] =
          static_cast<std::uint32_t>(i);
  }
};

template <class View>
struct StoreDegree {
  View view;
  std::uint64_t* offsets;
  HEAPWOOD_FN void operator()(std::size_t v) const {
    offsets[v] = v < view.count ? view.degree(static_cast<std::uint32_t>(v)) : 0;
  }
};

struct StoreFloat {
  float* to;
  float value;
  HEAPWOOD_FN void operator()(std::size_t i) const { to[i] = value; }
};

template <class Device, class Sorter>
class StepsOn final : public DeviceSteps {
 public:
  StepsOn(const Device& device, double seconds)
      : device_(device), limits_{.seconds = seconds, .what = "graph"}, word_(device.id(), 1) {}

  double sort(EdgeKey*& keys, EdgeKey*& spare, std::uint64_t count,
              std::uint32_t vertices) override {
    const unsigned bits = simt::highest_bit(std::uint64_t{vertices} | 1) + 1;
    return count == 0 ? 0 : sorter_.sort(device_, keys, spare, count, bits);
  }

  double group(const EdgeKey* keys, std::uint32_t edges, std::uint32_t* firsts,
               std::uint32_t& groups) override {
    groups = 0;
    if (edges == 0) return 0;
    word_.fill(0);
    auto* const counter = reinterpret_cast<std::uint32_t*>(word_.data());
    const double ms = launch(GroupKernel{{}, keys, firsts, counter, edges}, edges);
    groups = static_cast<std::uint32_t>(word_.download().front());
    return ms;
  }

  double order_by_class(const std::uint64_t* offsets, std::uint32_t count, std::uint32_t* order,
                        ClassRanges& ranges) override {
    simt::Buffer<std::uint32_t> words(device_.id(), ClassOrder::classes);
    words.fill(0);
    ClassOrderKernel kernel{offsets, count, words.data(), nullptr};
    const std::uint64_t items =
        (std::uint64_t{count} + kernel.vertices_per_lane - 1) / kernel.vertices_per_lane;
    double ms = launch(kernel, items);
    std::vector<std::uint32_t> begins = words.download();
    constexpr std::uint32_t width = Device::Warp::width;
    ranges.listed = 0;
    for (std::uint32_t k = 0; k < ClassOrder::classes; ++k) {
      ranges.counts[k] = begins[k];
      ranges.begins[k] = begins[k] = ranges.listed;
      ranges.listed += (ranges.counts[k] + width - 1) / width * width;
    }
    words.upload(begins);
    static_assert(ClassOrder::no_vertex == ~std::uint32_t{0});  // as device_fill() writes it
    simt::device_fill(device_.id(), order, 0xff, ranges.listed * sizeof(std::uint32_t));
    kernel.order = order;
    return ms + launch(kernel, items);
  }

  double write(const BlocksView& view, const std::uint64_t* offsets,
               const std::uint32_t* destinations) override {
    return launch(WriteKernel{{}, view, offsets, destinations}, view.count);
  }

  std::uint64_t sum_degrees(const GraphView& view, std::uint64_t* offsets) override {
    return std::visit(
        [&](const auto& layout) {
          const std::uint64_t n = layout.count;
          device_.for_each(n + 1, StoreDegree<std::decay_t<decltype(layout)>>{layout, offsets});
          sorter_.exclusive_sum(device_, offsets, n + 1);
          std::uint64_t edges = 0;
          simt::device_download(device_.id(), &edges, offsets + n, sizeof(edges));
          return edges;
        },
        view);
  }

  double gather(const GraphView& view, const std::uint64_t* offsets, EdgeKey* keys) override {
    return run_keys(view, offsets, keys, false);
  }
  std::uint64_t hash_edges(const GraphView& view) override {
    word_.fill(0);
    std::visit(
        [&](const auto& layout) {
          launch(EdgeHashKernel<std::decay_t<decltype(layout)>>{{}, layout, word_.data()},
                 layout.count);
        },
        view);
    return word_.download().front();
  }
  double scatter(const GraphView& view, const std::uint64_t* offsets,
                 const EdgeKey* keys) override {
    return run_keys(view, offsets, const_cast<EdgeKey*>(keys), true);
  }

  double allocate_pages(const PageArguments& arguments, const std::uint64_t* offsets,
                        RefusalTotals* totals) override {
    return launch(PageRowsKernel{{}, arguments.view, arguments.queue, offsets, totals},
                  arguments.view.count);
  }
  double write_pages(const PagesView& view, const std::uint64_t* offsets,
                     const std::uint32_t* destinations) override {
    return launch(PageWriteKernel{{}, view, offsets, destinations}, view.count);
  }
  double update_pages(const PageArguments& arguments) override {
    return launch_warps(PageUpdateKernel{{}, arguments},
                        arguments.inserts.groups + arguments.deletes.groups);
  }

  double rebuild(const RowFilter& filter, std::uint64_t count, std::uint64_t* positions,
                 const CsrView& rows, std::uint64_t& edges) override {
    double ms = launch(FlagKernel{{}, filter, positions, count}, count + 1);
    ms += sorter_.exclusive_sum(device_, positions, count + 1);
    simt::device_download(device_.id(), &edges, positions + count, sizeof(edges));
    return ms + launch(CompactKernel{{}, filter, positions, count, rows},
                       std::max<std::uint64_t>(count, rows.count + std::uint64_t{1}));
  }
  double write_rows(const CsrView& to, const std::uint64_t* offsets,
                    const std::uint32_t* destinations, std::uint64_t edges) override {
    return launch(WriteRowsKernel{{}, to, offsets, destinations, edges},
                  std::max<std::uint64_t>(edges, to.count + std::uint64_t{1}));
  }
  std::uint64_t count_present(const CsrView& rows, const EdgeKey* keys,
                              std::uint64_t count) override {
    word_.fill(0);
    launch(CountKernel{{}, rows, keys, count, word_.data()}, count);
    return word_.download().front();
  }

  double page_rank(const GraphView& view, const float* ranks, float* next, float damping) override {
    return std::visit(
        [&](const auto& layout) {
          const std::uint32_t n = layout.count;
          device_.for_each(n, StoreFloat{next, (1 - damping) / static_cast<float>(n)});
          using Kernel = PageRankKernel<std::decay_t<decltype(layout)>>;
          return launch(Kernel{{}, layout, ranks, next, damping}, n);
        },
        view);
  }

  double triangles(const GraphView& view, const std::uint64_t* offsets,
                   std::uint64_t& count) override {
    word_.fill(0);
    const double ms = std::visit(
        [&](const auto& layout) {
          using Kernel = TriangleKernel<std::decay_t<decltype(layout)>>;
          std::uint64_t edges = 0;
          simt::device_download(device_.id(), &edges, offsets + layout.count, sizeof(edges));
          return launch_warps(Kernel{{}, layout, offsets, word_.data()},
                              (edges + Kernel::edges_per_warp - 1) / Kernel::edges_per_warp);
        },
        view);
    count = word_.download().front();
    return ms;
  }

 private:
  template <class Kernel>
  double launch(const Kernel& kernel, std::uint64_t items) {
    return launch_warps(kernel, warps_for<Device>(items));
  }
  template <class Kernel>
  double launch_warps(const Kernel& kernel, std::uint64_t warps) {
    if (warps == 0) return 0;
    return device_.launch_independent(kernel, static_cast<unsigned>(warps), limits_);
  }
  double run_keys(const GraphView& view, const std::uint64_t* offsets, EdgeKey* keys,
                  bool writes_back) {
    return std::visit(
        [&](const auto& layout) {
          using Kernel = KeyKernel<std::decay_t<decltype(layout)>>;
          return launch(Kernel{{}, layout, offsets, keys, writes_back}, layout.count);
        },
        view);
  }

  Device device_;
  simt::LaunchLimits limits_;
  Sorter sorter_;
  simt::Buffer<std::uint64_t> word_;
};

}  // namespace heapwood::workloads::graph::steps_detail
