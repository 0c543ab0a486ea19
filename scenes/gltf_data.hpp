// SPDX-License-Identifier: MIT
// The binary data of a glTF file. Every read is checked against its view and buffer, and the total
// of decoded data is limited to 16 MiB plus 64 times the bytes read, so that a small file cannot
// claim gigabytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scenes/file.hpp"
#include "scenes/gltf_document.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes::gltf {

// The JSON and the binary part of a file; a .gltf has only JSON.
struct Container {
  std::string_view json;
  std::span<const std::byte> binary;
};
// Splits a file. Throws Error{Exit::scene} for a damaged .glb.
Container split(std::span<const std::byte> file, const std::string& source);

// Decodes the data behind `data:...;base64,`. Returns false if it is not such a URI.
bool decode_data_uri(std::string_view uri, std::vector<std::byte>& bytes);
// Replaces escapes such as %20 by their characters.
std::string decode_percent(std::string_view uri);

class Accessors {
 public:
  // Reads the buffers: data URIs, and files next to `path`. Document and container must outlive
  // this.
  Accessors(const Document& document, const Container& container, const std::string& path);

  // Reads an accessor as floats, `components` per element; normalized integers become values in
  // [-1, 1] or [0, 1]. Throws Error{Exit::scene} if the accessor has another number of components
  // or its data is out of range.
  std::vector<float> floats(std::uint32_t accessor, unsigned components);
  // Reads colours with three or four components as sRGB with alpha.
  std::vector<std::uint32_t> colours(std::uint32_t accessor);
  // Reads unsigned integers, `components` per element.
  std::vector<std::uint32_t> integers(std::uint32_t accessor, unsigned components);
  std::span<const std::byte> view_bytes(std::uint32_t view) const;

  // Adds to the amount of decoded data, and throws Error{Exit::scene} above the limit.
  void use_memory(std::size_t bytes);
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... reason) const {
    throw Error(Exit::scene, concat(source_, ": ", reason...));
  }

 private:
  template <class T, class Convert>
  std::vector<T> decode(std::uint32_t index, unsigned components, Convert convert);

  const Document& document_;
  std::string source_;
  std::vector<std::vector<std::byte>> decoded_;  // contents of data URIs
  std::vector<FileBytes> files_;
  std::vector<std::span<const std::byte>> buffers_;
  std::size_t memory_ = 0, memory_limit_ = 0;
};

// The transforms of a glTF file's nodes, at rest and at a time of an animation.

// Maps p to x p.x + y p.y + z p.z + origin.
struct Affine {
  Vec3d x{1, 0, 0}, y{0, 1, 0}, z{0, 0, 1}, origin;

  Vec3d turned(Vec3d p) const {
    return {x.x * p.x + y.x * p.y + z.x * p.z, x.y * p.x + y.y * p.y + z.y * p.z,
            x.z * p.x + y.z * p.y + z.z * p.z};
  }
  Vec3d operator()(Vec3d p) const { return turned(p) + origin; }
  // Negative if the transform mirrors.
  double determinant() const {
    return x.x * (y.y * z.z - y.z * z.y) + x.y * (y.z * z.x - y.x * z.z) +
           x.z * (y.x * z.y - y.y * z.x);
  }
};
Affine operator*(const Affine& outer, const Affine& inner);
// The transform of a matrix given by columns; its last row is assumed to be 0 0 0 1.
template <class T>
Affine affine_of(const T* columns) {
  const auto column = [&](unsigned i) {
    return Vec3d{columns[4 * i], columns[4 * i + 1], columns[4 * i + 2]};
  };
  return {column(0), column(1), column(2), column(3)};
}

struct Pose {
  std::vector<Affine> globals;              // by node
  std::vector<std::vector<float>> weights;  // of morph targets, by node; empty: those of the mesh
};

// An animation whose data is in memory.
class Clip {
 public:
  // Throws Error{Exit::scene} if values are missing.
  Clip(const AnimationInfo& info, Accessors& accessors);
  // Whether the file had times out of range or decreasing, each replaced by the one before it.
  bool has_moved_times() const { return has_moved_times_; }

  double duration() const { return duration_; }
  // Changes the nodes of a pose at rest to the pose at this time.
  void apply(double seconds, std::vector<Node>& nodes) const;

 private:
  struct Track {
    Channel channel;
    std::vector<float> times, values;
    std::size_t width = 0;  // values per key
  };
  void sample(const Track& track, float seconds, std::vector<double>& value) const;

  std::vector<Track> tracks_;
  double duration_ = 0;
  bool has_moved_times_ = false;
};

// `clip` may be nullptr: the pose at rest.
Pose pose_at(const Document& document, const Clip* clip, double seconds);

}  // namespace heapwood::scenes::gltf
