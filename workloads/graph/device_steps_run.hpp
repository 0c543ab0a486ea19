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
#include "workloads/graph/row_kernels.hpp"

namespace heapwood::workloads::graph::steps_detail {

// Copies rows of CSR to the blocks of vertices.
struct WriteKernel : KernelShape {
  Vertex* vertices;
  const std::uint64_t* offsets;
  const std::uint32_t* destinations;
  std::uint32_t count;

  template <class Warp>
  HEAPWOOD_FN void operator()(Warp& warp, Scratch&) const {
    const std::uint64_t v = std::uint64_t{warp.worker()} * Warp::width + warp.lane();
    copy_rows(
        warp, v < count && vertices[v].adjacency != nullptr ? vertices[v].degree : 0,
        [&](unsigned owner) { return std::uint64_t{warp.worker()} * Warp::width + owner; },
        [&](std::uint64_t row, std::uint32_t i) {
          vertices[row].adjacency[i] = destinations[offsets[row] + i];
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
        for (std::uint32_t at = 0; at < LinkedPage::capacity && i < n; ++at, ++i) {
          EdgeKey& key = keys[offsets[row] + i];
          if (writes_back) {
            current.destinations[at] = destination_of(key);
          } else {
            key = edge_key(row, current.destinations[at]);
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
    const std::uint64_t i = std::uint64_t{warp.worker()} * Warp::width + warp.lane();
    const bool begins = i < edges && (i == 0 || source_of(keys[i]) != source_of(keys[i - 1]));
    const std::uint32_t lanes = warp.ballot(begins);
    if (lanes == 0) return;
    std::uint32_t at = 0;
    if (warp.lane() == 0)  // relaxed: only a place
      at = simt::atomic_ref<std::uint32_t>(*groups).fetch_add(simt::popcount(lanes), simt::relaxed);
    at = warp.shfl(at, 0);
    if (begins)
      firsts[at + simt::popcount(lanes & lanes_below(warp))] = static_cast<std::uint32_t>(i);
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
    GroupKernel kernel{};
    kernel.keys = keys;
    kernel.firsts = firsts;
    kernel.groups = reinterpret_cast<std::uint32_t*>(word_.data());
    kernel.edges = edges;
    const double ms = launch(kernel, edges);
    groups = static_cast<std::uint32_t>(word_.download().front());
    return ms;
  }

  double order_by_class(const std::uint64_t* offsets, std::uint32_t count, std::uint32_t* order,
                        ClassRanges& ranges) override {
    simt::Buffer<std::uint32_t> words(device_.id(), ClassOrder::classes);
    words.fill(0);
    ClassOrderKernel kernel{};
    kernel.offsets = offsets;
    kernel.count = count;
    kernel.words = words.data();
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

  double write(Vertex* vertices, std::uint32_t first, std::uint32_t count,
               const std::uint64_t* offsets, const std::uint32_t* destinations) override {
    WriteKernel kernel{};
    kernel.vertices = vertices + first;
    kernel.offsets = offsets;
    kernel.destinations = destinations;
    kernel.count = count;
    return launch(kernel, count);
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
          EdgeHashKernel<std::decay_t<decltype(layout)>> kernel{};
          kernel.view = layout;
          kernel.total = word_.data();
          launch(kernel, layout.count);
        },
        view);
    return word_.download().front();
  }
  double scatter(const GraphView& view, const std::uint64_t* offsets,
                 const EdgeKey* keys) override {
    return run_keys(view, offsets, const_cast<EdgeKey*>(keys), true);
  }

  double insert_page_rows(const PageArguments& arguments, const std::uint64_t* offsets,
                          const std::uint32_t* destinations, std::uint32_t first,
                          std::uint32_t count, double& allocate_ms) override {
    PageRowsKernel rows{};
    rows.view = arguments.view;
    rows.queue = arguments.queue;
    rows.offsets = offsets;
    rows.totals = arguments.totals;
    rows.first = first;
    rows.count = count;
    allocate_ms = launch(rows, count);
    PageWriteKernel write{};
    write.view = arguments.view;
    write.offsets = offsets;
    write.destinations = destinations;
    write.first = first;
    write.count = count;
    return allocate_ms + launch(write, count);
  }
  double update_pages(const PageArguments& arguments) override {
    PageUpdateKernel kernel{};
    kernel.arguments = arguments;
    const std::uint32_t groups = arguments.inserts.groups + arguments.deletes.groups;
    return groups == 0 ? 0 : device_.launch_independent(kernel, groups, limits_);
  }
  double delete_from_pages(const PageArguments& arguments) override {
    PageSweepKernel kernel{};
    kernel.arguments = arguments;
    return launch(kernel, arguments.view.count);
  }

  double rebuild(const RowFilter& filter, std::uint64_t count, std::uint64_t* positions,
                 const CsrView& rows, std::uint64_t& edges) override {
    FlagKernel flag{};
    flag.filter = filter;
    flag.positions = positions;
    flag.count = count;
    double ms = launch(flag, count + 1);
    ms += sorter_.exclusive_sum(device_, positions, count + 1);
    simt::device_download(device_.id(), &edges, positions + count, sizeof(edges));
    CompactKernel compact{};
    compact.filter = filter;
    compact.positions = positions;
    compact.count = count;
    compact.rows = rows;
    return ms + launch(compact, std::max<std::uint64_t>(count, rows.count + std::uint64_t{1}));
  }
  double append_rows(const CsrView& rows, std::uint64_t edges, const std::uint64_t* offsets,
                     const std::uint32_t* destinations, std::uint32_t more_vertices,
                     std::uint64_t more_edges) override {
    AppendRowsKernel kernel{};
    kernel.rows = rows;
    kernel.edges = edges;
    kernel.offsets = offsets;
    kernel.destinations = destinations;
    kernel.more_vertices = more_vertices;
    kernel.more_edges = more_edges;
    return launch(kernel, std::max<std::uint64_t>(more_edges, more_vertices + std::uint64_t{1}));
  }
  std::uint64_t count_present(const CsrView& rows, const EdgeKey* keys,
                              std::uint64_t count) override {
    word_.fill(0);
    CountKernel kernel{};
    kernel.rows = rows;
    kernel.keys = keys;
    kernel.count = count;
    kernel.total = word_.data();
    launch(kernel, count);
    return word_.download().front();
  }
  double copy(std::uint32_t* to, const std::uint32_t* from, std::uint64_t count) override {
    CopyKernel kernel{};
    kernel.to = to;
    kernel.from = from;
    kernel.count = count;
    return launch(kernel, count);
  }

  double page_rank(const GraphView& view, const float* ranks, float* next, float damping) override {
    return std::visit(
        [&](const auto& layout) {
          const std::uint32_t n = layout.count;
          device_.for_each(n, StoreFloat{next, (1 - damping) / static_cast<float>(n)});
          PageRankKernel<std::decay_t<decltype(layout)>> kernel{};
          kernel.view = layout;
          kernel.ranks = ranks;
          kernel.next = next;
          kernel.damping = damping;
          return launch(kernel, n);
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
          Kernel kernel{};
          kernel.view = layout;
          kernel.offsets = offsets;
          kernel.total = word_.data();
          const std::uint64_t warps = (edges + Kernel::edges_per_warp - 1) / Kernel::edges_per_warp;
          return warps == 0
                     ? 0.0
                     : device_.launch_independent(kernel, static_cast<unsigned>(warps), limits_);
        },
        view);
    count = word_.download().front();
    return ms;
  }

  double breadth_first(const GraphView& view, std::uint32_t source, std::uint32_t* distances,
                       std::uint32_t* queue, std::uint32_t& levels) override {
    return std::visit(
        [&](const auto& layout) {
          const std::uint32_t n = layout.count;
          levels = 0;
          if (n == 0) return 0.0;
          simt::device_fill(device_.id(), distances, 0xff, n * sizeof(std::uint32_t));
          const std::uint32_t zero = 0;
          simt::device_upload(device_.id(), distances + source, &zero, sizeof(zero));
          simt::device_upload(device_.id(), queue, &source, sizeof(source));
          // Sizes of the levels' queues, used in turn. They are cleared together, when none of them
          // is needed any more.
          constexpr std::uint32_t sizes = 1024;
          simt::Buffer<std::uint32_t> size(device_.id(), sizes);
          size.fill(0);
          SearchKernel<std::decay_t<decltype(layout)>> kernel{};
          kernel.view = layout;
          kernel.distances = distances;
          kernel.queue = queue;
          kernel.next = queue + n;
          kernel.size = 1;
          auto stream = device_.stream(limits_);
          while (kernel.size > 0) {
            if (levels > 0 && levels % sizes == 0) size.fill(0);
            kernel.next_size = size.data() + levels % sizes;
            kernel.level = levels++;
            stream.launch(kernel, warps_for(kernel.size));
            kernel.size = stream.read(kernel.next_size);
            std::uint32_t* const visited = const_cast<std::uint32_t*>(kernel.queue);
            kernel.queue = kernel.next;
            kernel.next = visited;
          }
          return stream.finish();
        },
        view);
  }

 private:
  static unsigned warps_for(std::uint64_t items) {
    return static_cast<unsigned>((items + Device::Warp::width - 1) / Device::Warp::width);
  }
  template <class Kernel>
  double launch(const Kernel& kernel, std::uint64_t items) {
    return items == 0 ? 0 : device_.launch_independent(kernel, warps_for(items), limits_);
  }
  double run_keys(const GraphView& view, const std::uint64_t* offsets, EdgeKey* keys,
                  bool writes_back) {
    return std::visit(
        [&](const auto& layout) {
          KeyKernel<std::decay_t<decltype(layout)>> kernel{};
          kernel.view = layout;
          kernel.offsets = offsets;
          kernel.keys = keys;
          kernel.writes_back = writes_back;
          return launch(kernel, layout.count);
        },
        view);
  }

  Device device_;
  simt::LaunchLimits limits_;
  Sorter sorter_;
  simt::Buffer<std::uint64_t> word_;
};

}  // namespace heapwood::workloads::graph::steps_detail
