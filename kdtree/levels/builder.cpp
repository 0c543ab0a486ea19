// SPDX-License-Identifier: MIT
#include "kdtree/levels/builder.hpp"

#include "kdtree/levels/driver.hpp"
#include "simt/cpu.hpp"

namespace heapwood::kdtree {

struct LevelBuilder::Parts {
  const DeviceMesh& mesh;
  RefKind refs;
  LevelMemory memory;
  LevelTree tree;
};

LevelBuilder::LevelBuilder(const DeviceMesh& mesh, RefKind refs,
                           host_alloc::HostAllocator& allocator)
    : parts_(new Parts{mesh, refs, {mesh.device(), allocator}, {}}) {
  require_buildable(mesh.triangles.size());
}

LevelBuilder::~LevelBuilder() = default;
LevelBuilder::LevelBuilder(LevelBuilder&&) noexcept = default;

LevelRun LevelBuilder::build(const BuildOptions& options) {
  const LevelJob job{parts_->mesh, parts_->refs, parts_->memory, options};
  try {
    if (parts_->mesh.device().kind == simt::DeviceKind::cpu)
      return build_levels(simt::Cpu(job.mesh.device()), job, parts_->tree);
    if constexpr (simt::has_cuda) return build_levels_cuda(job, parts_->tree);
  } catch (const simt::KernelFailure& failure) {
    if (failure.code == count_mismatch)
      throw Error(Exit::failed, count_mismatch_message(failure.operand));
    throw;
  }
  simt::throw_without_cuda("per-level builder");
}

Tree LevelBuilder::download() const { return kdtree::download(parts_->tree); }

Tree download(const LevelTree& built) {
  const Node empty = Node::make_leaf(0, 0);
  Tree tree;
  tree.bounds = built.bounds;
  tree.nodes = built.nodes.download();
  if (tree.nodes.empty()) tree.nodes = {empty, empty};
  tree.nodes[1] = empty;
  tree.refs = built.refs.download();
  return tree;
}

}  // namespace heapwood::kdtree
