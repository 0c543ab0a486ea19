// SPDX-License-Identifier: MIT
// A small mesh, from the input's bytes: its trees are valid, the same for two allocators and for
// one and two threads, also if the pool is too small; rays find what brute force finds.
//
// Byte 0: kind of refs, costs, format of the coordinates; byte 1: number of vertices; then their
// coordinates, then three bytes per triangle.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "kdtree/build/workspace.hpp"
#include "kdtree/check/quality.hpp"
#include "kdtree/check/validate.hpp"
#include "kdtree/device_mesh.hpp"
#include "registry/registry.hpp"
#include "render/scene.hpp"
#include "tests/kdtree/reference.hpp"
#include "tests/kdtree/soup.hpp"
#include "tests/render/hit_judge.hpp"

namespace {

using namespace heapwood;
using namespace heapwood::kdtree;

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  bool has(std::size_t count) const { return static_cast<std::size_t>(end_ - at_) >= count; }
  std::uint8_t next() { return at_ == end_ ? 0 : *at_++; }

 private:
  const std::uint8_t *at_, *end_;
};

// A coordinate: one of few values on a grid, one on a finer grid, or one of very different
// magnitude.
float coordinate(Bytes& bytes, unsigned format) {
  const auto high = static_cast<std::int8_t>(bytes.next());
  if (format == 0) return static_cast<float>(high) / 16;
  const int low = bytes.next();
  if (format == 1) return static_cast<float>(high * 256 + low) / 4096;
  return std::ldexp(static_cast<float>(high), low % 32 - 16);
}

Soup mesh(Bytes& bytes, unsigned format) {
  constexpr unsigned max_triangles = 64;
  Soup soup;
  const unsigned vertices = 3 + bytes.next() % 62;
  for (unsigned i = 0; i < vertices; ++i) {
    const float x = coordinate(bytes, format), y = coordinate(bytes, format);
    soup.vertices.push_back({x, y, coordinate(bytes, format)});
  }
  while (bytes.has(3) && soup.triangles.size() < max_triangles) {
    const std::uint32_t a = bytes.next() % vertices, b = bytes.next() % vertices;
    soup.triangles.push_back({{a, b, bytes.next() % vertices}});
  }
  return soup;
}

std::vector<Ray> rays_at(const Soup& soup) {
  Random random(soup.triangles.size());
  const Box box = kdtree::bounds(soup.view());
  const float reach = length(box.extent());
  std::vector<Ray> rays;
  for (const Triangle& t : soup.triangles) {
    const float u = random.uniform(), v = random.uniform() * (1 - u);
    const Vec3 a = soup.vertices[t.v[0]], b = soup.vertices[t.v[1]], c = soup.vertices[t.v[2]];
    const Vec3 origin = box.lo + random.point(-1, 1) * reach;
    const Vec3 way = a + (b - a) * u + (c - a) * v - origin;
    if (!(length(way) > 0)) continue;
    rays.push_back({origin, 0, normalize(way), 1e30f});
    rays.push_back({origin, 0, set({}, random.below(3), 1.0f), 1e30f});
  }
  return rays;
}

struct Built {
  Tree tree;
  BuildRun run;
  std::uint64_t hash;
};

Built build(const char* allocator, int threads, const Soup& soup, RefKind kind,
            const BuildOptions& options, std::size_t pool) {
  const DeviceMesh device_mesh(
      simt::DeviceId{.kind = simt::DeviceKind::cpu, .index = 0, .threads = threads}, soup.view());
  Workspace workspace(device_mesh, kind, pool);
  const BuildRun run = registry::find(allocator)->cpu->build(workspace, options);
  Built built{workspace.download(), run, 0};
  built.hash = measure(built.tree, options.costs).hash;
  return built;
}

void check_tree(const Built& built, const Soup& soup, RefKind kind, const char* what) {
  ValidateOptions options;
  if (kind == RefKind::ids) options.tolerance = 2e-5;  // kind `ids` clips at every visit
  const std::vector<std::string> faults = validate(built.tree, soup.view(), options);
  require(faults.empty(), std::string(what) + ": " + (faults.empty() ? "" : faults.front()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const std::uint8_t settings = bytes.next();
  const auto kind = static_cast<RefKind>(settings % 3);
  BuildOptions options;
  if ((settings / 3 & 1) != 0) options.costs.intersection = 10;
  const Soup soup = mesh(bytes, settings / 6 % 3);
  if (soup.triangles.empty()) return 0;

  const Built one = build("atomic", 1, soup, kind, options, std::size_t{16} << 20);
  require(!one.run.incomplete, "a pool of 16 MiB is exhausted");
  check_tree(one, soup, kind, "one thread");
  const Built two = build("heapwood", 2, soup, kind, options, std::size_t{16} << 20);
  require(!two.run.incomplete && two.hash == one.hash, "the trees differ");
  if ((settings & 0x80) != 0)
    check_tree(build("atomic", 2, soup, kind, options, 4096), soup, kind, "a full pool");

  const std::vector<Ray> rays = rays_at(soup);
  const simt::DeviceId cpu{.kind = simt::DeviceKind::cpu, .index = 0, .threads = 1};
  for (const bool watertight : {false, true}) {
    const render::Scene scene(cpu, one.tree, soup.view(), watertight);
    double reach = reach_of(one.tree.bounds);
    for (const Ray& ray : rays)
      reach = std::max(reach, render::length(render::in_double(ray.origin)));
    // The fast test takes the distances of thin triangles from the watertight one.
    const render::Precision precision{scene.watertight() ? 0 : 2 * reach, true};
    render::Sums sums;
    const std::string wrong = render::judge(watertight ? "watertight" : "fast", soup.view(), rays,
                                            scene.closest(rays), precision, sums);
    require(wrong.empty(), wrong);
  }
  return 0;
}
