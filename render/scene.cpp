// SPDX-License-Identifier: MIT
#include "render/scene.hpp"
#include "render/surface.hpp"
#include "simt/clock.hpp"

#include <algorithm>

namespace heapwood::render {
namespace {

static_assert(sizeof(kdtree::PlaneRecord) == sizeof(kdtree::CornerRecord));

// The tree's refs, with those of each leaf in ascending order. Of hits at the same distance in a
// leaf a ray takes the first. Builders write a leaf's refs in the order in which warps finish, so
// without sorting, pictures of equal trees would differ where triangles meet.
std::vector<std::uint32_t> sorted_refs(const kdtree::Tree& tree) {
  std::vector<std::uint32_t> refs = tree.refs;
  std::vector<std::uint32_t> open{0};  // nodes to visit
  if (tree.nodes.empty()) open.clear();
  while (!open.empty()) {
    const kdtree::Node node = tree.nodes[open.back()];
    open.pop_back();
    if (node.leaf()) {
      const auto first = refs.begin() + node.first;
      std::sort(first, first + node.count());
    } else {
      open.push_back(node.child(1));
      open.push_back(node.child(0));
    }
  }
  return refs;
}

}  // namespace

Scene::Scene(const simt::DeviceId& device, const kdtree::Tree& tree, const kdtree::MeshView& mesh,
             bool watertight, const Appearance* appearance)
    : host_(mesh), mesh_(device, mesh) {
  if (appearance != nullptr) materials_ = DeviceMaterials(device, mesh, *appearance);
  // A tree without nodes (an empty scene) is replaced by an empty leaf.
  const std::vector empty{kdtree::Node::make_leaf(0, 0)};
  tree_ = {{device, tree.nodes.empty() ? empty : tree.nodes}, {device, sorted_refs(tree)}};
  // The warps of a GPU write nodes and refs in the order in which they finish; depth-first order
  // makes rays a few percent faster (docs/rays.md). CPU threads write trees nearly in that order,
  // and reordering those has no measurable effect.
  if (device.kind != simt::DeviceKind::cpu)
    order_ms_ = backend(device).order(device, tree_.view(), tree_, {});
  records_ = {device, tree_.refs.size() * sizeof(kdtree::PlaneRecord)};
  data_ = {watertight,
           tree_.nodes.data(),
           records_.data(),
           tree_.refs.data(),
           tree_.refs.size(),
           mesh_.vertices.data(),
           mesh_.triangles.data(),
           static_cast<std::uint32_t>(mesh.triangles.size()),
           tree.bounds,
           materials_.view()};
  fill_records();
}

Scene::Scene(const simt::DeviceId& device, bool watertight) : mesh_(device, kdtree::MeshView{}) {
  data_.watertight = watertight;
}

bool Scene::show(const kdtree::DeviceTree& tree, const kdtree::DeviceMesh& mesh,
                 const MaterialView& materials) {
  const std::size_t bytes = tree.ref_count * sizeof(kdtree::PlaneRecord);
  const bool has_memory = bytes <= records_.bytes();
  if (!has_memory) {
    records_ = {};
    records_ = simt::Memory(device(), bytes + bytes / 4);
  }
  data_ = {data_.watertight,      tree.nodes,
           records_.data(),       tree.refs,
           tree.ref_count,        mesh.vertices.data(),
           mesh.triangles.data(), static_cast<std::uint32_t>(mesh.triangles.size()),
           tree.bounds,           materials};
  fill_records();
  return has_memory;
}

double Scene::fill_records() const {
  return simt::measure_ms(
      [&] { backend(device()).fill_records(device(), data_, records_.data()); });
}

std::vector<kdtree::Hit> Scene::closest(std::span<const kdtree::Ray> rays) const {
  return trace(rays, false);
}
std::vector<kdtree::Hit> Scene::occluded(std::span<const kdtree::Ray> rays) const {
  return trace(rays, true);
}

Vec3 Scene::normal(std::uint32_t triangle, const kdtree::Ray& ray) const {
  const Vec3 n = geometric_normal(kdtree::corners(host_, triangle));
  return dot(n, ray.direction) > 0 ? -n : n;
}

bool Scene::seen_from_behind(std::uint32_t triangle, const kdtree::Ray& ray) const {
  return dot(geometric_normal(kdtree::corners(host_, triangle)), ray.direction) > 0;
}

std::vector<kdtree::Hit> Scene::trace(std::span<const kdtree::Ray> rays, bool any) const {
  if (rays.empty()) return {};
  const simt::Buffer<kdtree::Ray> in(device(), rays);
  const simt::Buffer<kdtree::Hit> out(device(), rays.size());
  backend(device()).trace(device(), data_, any, in.data(), out.data(), rays.size(),
                          {.seconds = 600, .what = "tracing rays"});
  return out.download();
}

}  // namespace heapwood::render
