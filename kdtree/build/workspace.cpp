// SPDX-License-Identifier: MIT
#include "kdtree/build/workspace.hpp"

#include <bit>

namespace heapwood::kdtree {

std::size_t ref_bytes(RefKind kind) { return kind == RefKind::clipped ? 32 : 4; }

Workspace::Workspace(const DeviceMesh& mesh, RefKind refs, std::size_t pool_bytes,
                     const WorkspaceLimits& limits)
    : parts_(std::make_unique<Parts>()) {
  const std::size_t n = mesh.triangles.size();
  require_buildable(n);
  const simt::DeviceId& device = mesh.device();
  Parts& p = *parts_;
  p.mesh = &mesh;
  p.refs = refs;
  // Space for the chunks of about three times the scene's refs, and 4 entries per warp of any GPU.
  const std::size_t min_ring = device.kind == simt::DeviceKind::cuda ? 65536 : 4096,
                    ring =
                        limits.ring != 0 ? limits.ring : std::bit_ceil(std::max(min_ring, n / 32)),
                    shared = limits.shared_nodes != 0
                                 ? limits.shared_nodes
                                 : std::min<std::size_t>(64 + n / 256, TaskQueue::max_shared_nodes);
  std::tie(p.counters, p.ring, p.deferred, p.shared, p.corners) =
      simt::allocate_arrays<Parts::Counters, TaskQueue::RingEntry, DeferredNodes::Entry, SharedNode,
                            PackedCorners>(p.fixed, device,
                                           {1, ring, DeferredNodes::max_nodes, shared, n});
  // First guesses: if a build needs more, the arrays grow.
  p.nodes = simt::Buffer<Node>(
      device, limits.nodes != 0 ? limits.nodes : std::min(2 * (4 * n + 70000), max_tree_nodes));
  p.output =
      simt::Buffer<std::uint32_t>(device, limits.output != 0 ? limits.output : 6 * n + 300000);
  resize_pool(pool_bytes);
}

Workspace::~Workspace() = default;
Workspace::Workspace(Workspace&&) noexcept = default;

const DeviceMesh& Workspace::mesh() const { return *parts_->mesh; }
RefKind Workspace::refs() const { return parts_->refs; }
const simt::DeviceId& Workspace::device() const { return parts_->mesh->device(); }
alloc::Pool Workspace::pool() const { return {parts_->pool.data(), parts_->pool.bytes()}; }
alloc::AllocatorOptions Workspace::allocator_options() const {
  const std::size_t needed = suggested_pool(mesh().triangles.size(), refs(), true);
  alloc::AllocatorOptions options = parts_->options;
  options.has_persistent_warps = true;
  options.request_bytes = mesh().triangles.size() * ref_bytes(refs());
  options.spare_bytes_for_warps = pool().bytes - std::min(needed, pool().bytes);
  return options;
}

void Workspace::set_allocator_options(const alloc::AllocatorOptions& options) {
  parts_->options = options;
}

std::size_t Workspace::suggested_pool(std::size_t triangles, RefKind refs, bool frees) {
  // Tenths of refs per triangle. With frees, at most two refs per triangle are live on most scenes,
  // in a node and its children; nearly half as much again is enough. Without frees all refs of a
  // build stay live; 48 per triangle is the most seen on scenes of all kinds.
  const std::size_t tenths_of_refs_per_triangle = frees ? 29 : 480;
  // At least half a granule per ref: small arrays of 4-byte refs are rounded up to granules.
  const std::size_t bytes_per_ref = std::max<std::size_t>(ref_bytes(refs), alloc::granule / 2);
  const std::size_t fixed_bytes = frees ? 0 : std::size_t{4} << 20;
  return triangles * tenths_of_refs_per_triangle / 10 * bytes_per_ref + fixed_bytes;
}

std::size_t Workspace::useful_cache(std::size_t triangles, RefKind refs, std::size_t bytes) {
  // The suggested pool is 1.45 times the peak bytes in use. With 9.5 times as much in addition, the
  // pool is 10.5 * 1.45 = 15 times that peak.
  return std::min(bytes, suggested_pool(triangles, refs, true) / 2 * 19);
}

std::size_t Workspace::pool_of_root_multiples(std::size_t triangles, double multiple) {
  constexpr std::size_t alignment = std::size_t{1} << 20;
  return alloc::round_up(
      static_cast<std::size_t>(4.0 * static_cast<double>(triangles) * multiple) + 1, alignment);
}

void Workspace::resize_pool(std::size_t bytes) {
  parts_->pool = {};
  parts_->pool = simt::Memory(device(), bytes);
}

void Workspace::swap_pool(simt::Memory& other) { std::swap(parts_->pool, other); }

std::size_t Workspace::overhead_bytes() const {
  const Parts& p = *parts_;
  return p.fixed.bytes() + p.nodes.bytes() + p.output.bytes();
}

Tree Workspace::download() const {
  const Parts& p = *parts_;
  Tree tree;
  if (p.mesh->triangles.size() == 0) {
    tree.nodes = {Node::make_leaf(0, 0), Node::make_leaf(0, 0)};
    return tree;
  }
  const BuildCounters& counters = p.last;
  tree.bounds = counters.bounds;
  tree.incomplete = p.incomplete;
  tree.nodes = p.nodes.download(0, std::min<std::size_t>(2 * counters.pairs, p.nodes.size()));
  tree.nodes[1] = Node::make_leaf(0, 0);
  tree.refs = p.output.download(0, std::min<std::size_t>(counters.refs, p.output.size()));
  return tree;
}

DeviceTree Workspace::device_tree() const {
  const Parts& p = *parts_;
  if (p.mesh->triangles.size() == 0) return {};
  return {p.nodes.data(), std::min<std::size_t>(2 * p.last.pairs, p.nodes.size()), p.output.data(),
          std::min<std::size_t>(p.last.refs, p.output.size()), p.last.bounds};
}

}  // namespace heapwood::kdtree
