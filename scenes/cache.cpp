// SPDX-License-Identifier: MIT
#include "scenes/cache.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "scenes/file.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {
namespace {

static_assert(std::endian::native == std::endian::little);

struct Head {
  char magic[8] = {'H', 'W', 'M', 'E', 'S', 'H', '\r', '\n'};  // \r\n: detects text-mode transfers
  std::uint32_t version = 2;
  std::uint8_t up = 1;
  std::uint8_t has_camera = 0;
  std::uint16_t name_bytes = 0;
  std::uint32_t vertices = 0;
  std::uint32_t triangles = 0;
  float camera[7] = {};
  std::uint32_t reserved = 0;
  std::uint64_t checksum = 0;  // of the file with this field 0
};
static_assert(sizeof(Head) == 64);
static_assert(sizeof(Vec3d) == 24);

// Detects damage; not cryptographic. Four lanes make it cheaper than reading the file.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    std::uint64_t lane[4] = {state_, state_ ^ bytes.size(), ~state_, state_ + 1};
    std::size_t i = 0;
    for (; i + 32 <= bytes.size(); i += 32) {
      for (std::size_t k = 0; k < 4; ++k) mix(lane[k], bytes.data() + i + 8 * k, 8);
    }
    for (; i < bytes.size(); i += 8)
      mix(lane[0], bytes.data() + i, std::min<std::size_t>(8, bytes.size() - i));
    for (const std::uint64_t x : lane) state_ = (state_ ^ x) * factor ^ x >> 29;
  }
  std::uint64_t value() const { return state_; }

 private:
  static constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
  static void mix(std::uint64_t& lane, const std::byte* from, std::size_t count) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, count);
    lane = std::rotl((lane ^ word) * factor, 27);
  }
  std::uint64_t state_ = factor;
};

std::uint64_t checksum(Head head, std::span<const std::byte> origin,
                       std::span<const std::byte> name, std::span<const std::byte> vertices,
                       std::span<const std::byte> triangles) {
  head.checksum = 0;
  Checksum sum;
  sum.add(std::as_bytes(std::span(&head, 1)));
  if (!origin.empty()) sum.add(origin);
  for (const auto part : {name, vertices, triangles}) sum.add(part);
  return sum.value();
}

}  // namespace

Mesh parse_cache(std::span<const std::byte> file, const std::string& source) {
  const std::string shown = printable(source, source.size());
  const auto fail = [&](const std::string& reason) {
    throw Error(Exit::scene, shown + ": " + reason);
  };
  const Head ours;
  Head head;
  if (file.empty()) require_triangles({}, shown);
  if (file.size() < sizeof(Head)) {
    fail("its " + std::to_string(file.size()) + " bytes are too few for a " + cache_extension +
         " file");
  }
  std::memcpy(&head, file.data(), sizeof(Head));
  if (std::memcmp(head.magic, ours.magic, sizeof(ours.magic)) != 0) {
    fail(std::string("byte 0: it is not a ") + cache_extension + " file");
  }
  if (head.version != 1 && head.version != ours.version) {
    fail("byte 8: it has version " + std::to_string(head.version) + ", this program reads 1 and " +
         std::to_string(ours.version) + ": use the scene's original file");
  }
  const std::uint64_t vertex_bytes = std::uint64_t{head.vertices} * sizeof(Vec3);
  const std::uint64_t triangle_bytes = std::uint64_t{head.triangles} * sizeof(Triangle);
  const std::size_t origin_bytes = head.version == 1 ? 0 : sizeof(Vec3d);
  const std::uint64_t claimed =
      sizeof(Head) + origin_bytes + head.name_bytes + vertex_bytes + triangle_bytes;
  if (claimed != file.size()) {
    fail("it claims " + std::to_string(head.vertices) + " vertices and " +
         std::to_string(head.triangles) + " triangles, " + std::to_string(claimed) +
         " bytes in all, but has " + std::to_string(file.size()));
  }
  const auto origin = file.subspan(sizeof(Head), origin_bytes);
  const auto name = file.subspan(sizeof(Head) + origin_bytes, head.name_bytes);
  const auto vertices = file.subspan(sizeof(Head) + origin_bytes + head.name_bytes, vertex_bytes);
  const auto triangles = file.last(triangle_bytes);
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION  // a fuzzer cannot pass a checksum
  if (checksum(head, origin, name, vertices, triangles) != head.checksum)
    fail("its checksum is wrong: the file is damaged");
#endif
  if (head.up > 2) fail("byte 12: axis " + std::to_string(head.up) + " is not 0, 1 or 2");

  Mesh mesh;
  mesh.name = printable({reinterpret_cast<const char*>(name.data()), name.size()}, name.size());
  mesh.up = head.up;
  if (head.has_camera != 0) {
    const float* c = head.camera;
    for (unsigned i = 0; i < 7; ++i) {
      if (!std::isfinite(c[i])) fail("byte 24: the camera is not finite");
    }
    if (std::equal(c, c + 3, c + 3))
      fail("byte 24: the camera's eye and target are the same point");
    if (!(c[6] > 0 && c[6] < 180))
      fail("byte 48: the camera's vertical angle is not between 0 and 180 degrees");
    mesh.camera = CameraHint{{c[0], c[1], c[2]}, {c[3], c[4], c[5]}, c[6]};
  }
  const auto copy = [](void* to, std::span<const std::byte> from) {
    if (!from.empty()) std::memcpy(to, from.data(), from.size());
  };
  mesh.vertices.resize(head.vertices);
  copy(mesh.vertices.data(), vertices);
  mesh.triangles.resize(head.triangles);
  copy(mesh.triangles.data(), triangles);
  copy(&mesh.origin, origin);
  if (!(std::isfinite(mesh.origin.x) && std::isfinite(mesh.origin.y) &&
        std::isfinite(mesh.origin.z))) {
    fail("byte 64: the origin is not finite");
  }
  check(mesh, shown);
  require_triangles(mesh, shown);
  if (head.version == 1) place_vertices(mesh);
  return mesh;
}

Mesh load_cache(const std::string& path) { return parse_cache(read_file(path).bytes(), path); }

void save_cache(const Mesh& mesh, const std::string& path) {
  if (mesh.vertices.size() > UINT32_MAX || mesh.triangles.size() > UINT32_MAX) {
    throw Error(Exit::failed, printable(path, path.size()) +
                                  ": cannot be written: more than 2^32 vertices or triangles");
  }
  Head head;
  head.up = static_cast<std::uint8_t>(mesh.up);
  head.name_bytes = static_cast<std::uint16_t>(std::min<std::size_t>(mesh.name.size(), UINT16_MAX));
  head.vertices = static_cast<std::uint32_t>(mesh.vertices.size());
  head.triangles = static_cast<std::uint32_t>(mesh.triangles.size());
  if (mesh.camera) {
    const CameraHint& c = *mesh.camera;
    head.has_camera = 1;
    const float values[7] = {c.eye.x, c.eye.y, c.eye.z, c.target.x, c.target.y, c.target.z, c.fov};
    std::memcpy(head.camera, values, sizeof(values));
  }
  const auto name = std::as_bytes(std::span(mesh.name.data(), head.name_bytes));
  const auto vertices = std::as_bytes(std::span(mesh.vertices));
  const auto triangles = std::as_bytes(std::span(mesh.triangles));
  const auto origin = std::as_bytes(std::span(&mesh.origin, 1));
  head.checksum = checksum(head, origin, name, vertices, triangles);
  write_file(path, {std::as_bytes(std::span(&head, 1)), origin, name, vertices, triangles});
}

}  // namespace heapwood::scenes
