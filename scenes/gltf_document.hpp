// SPDX-License-Identifier: MIT
// The JSON of a glTF 2.0 file as structures. All indices between them are in range, nodes form
// trees, and nesting is limited. Offsets and counts of binary data are checked where they are read
// (gltf_data.hpp). tinygltf is not used: the version in Debian 12 copies `extras` recursively,
// so that a file of 200 KB overflows the stack, and it opens any path that a file names.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "geometry/appearance.hpp"
#include "geometry/vec.hpp"

namespace heapwood::scenes::gltf {

inline constexpr std::uint32_t none = ~std::uint32_t{0};

struct BufferInfo {
  std::string uri;  // empty: the binary chunk of a .glb
  std::size_t bytes = 0;
};

struct View {
  std::uint32_t buffer = 0;
  std::size_t offset = 0, bytes = 0, stride = 0;  // stride 0: elements are contiguous
};

enum class Component : std::uint16_t {
  i8 = 5120,
  u8 = 5121,
  i16 = 5122,
  u16 = 5123,
  u32 = 5125,
  f32 = 5126
};

// The location of elements in a view.
struct Location {
  std::uint32_t view = none;
  std::size_t offset = 0;
  Component component = Component::f32;
};

struct Accessor {
  Location location;  // if it has no view, all elements are 0
  std::size_t count = 0;
  unsigned components = 1;  // 1 to 4; 4, 9 or 16 for a matrix
  bool normalized = false;
  // The elements at these indices are replaced by these values.
  std::size_t sparse_count = 0;
  Location sparse_indices, sparse_values;
};

// Indices of the primitive's accessors; `none` if absent.
struct Primitive {
  std::uint32_t positions = none, indices = none, material = none, colours = none;
  std::array<std::uint32_t, 4> uvs{none, none, none, none};
  std::uint32_t joints = none, weights = none;  // four per vertex
  std::vector<std::uint32_t> targets;           // positions of morph targets
  unsigned mode = 4;
};

struct MeshInfo {
  std::vector<Primitive> primitives;
  std::vector<float> weights;
};

// x, y, z, w.
using Quaternion = std::array<double, 4>;

struct Node {
  Vec3d translation, scale{1, 1, 1};
  Quaternion rotation{0, 0, 0, 1};
  // Replaces translation, rotation and scale; by columns.
  std::optional<std::array<double, 16>> matrix;
  std::vector<std::uint32_t> children;
  std::uint32_t parent = none, mesh = none, skin = none, camera = none;
  std::vector<float> weights;
  bool visible = true;         // KHR_node_visibility; false also hides the nodes below
  bool has_instances = false;  // EXT_mesh_gpu_instancing
};

struct Skin {
  std::vector<std::uint32_t> joints;
  std::uint32_t inverse_bind = none;
};

enum class Path : std::uint8_t { translation, rotation, scale, weights };
enum class Interpolation : std::uint8_t { linear, step, cubic };

struct Channel {
  std::uint32_t node = none, input = none, output = none;
  Path path = Path::translation;
  Interpolation interpolation = Interpolation::linear;
};

struct AnimationInfo {
  std::string name;
  std::vector<Channel> channels;
};

struct TextureUse {
  std::uint32_t texture = none;
  unsigned uv_set = 0;
  // Values of KHR_texture_transform.
  double offset[2] = {0, 0}, scale[2] = {1, 1}, rotation = 0;

  bool has_coordinates_of(const TextureUse& other) const {
    return uv_set == other.uv_set && std::ranges::equal(offset, other.offset) &&
           std::ranges::equal(scale, other.scale) && rotation == other.rotation;
  }
};

struct MaterialInfo {
  Material material;  // without textures
  TextureUse base, emission;
};

struct ImageInfo {
  std::string uri;  // empty: the picture is in a view
  std::uint32_t view = none;
};

struct TextureInfo {
  std::uint32_t image = none;
  Wrap wrap_u = Wrap::repeat, wrap_v = Wrap::repeat;
  bool nearest = false;
};

struct CameraInfo {
  bool perspective = false;
  double vertical_fov = 0;  // radians
};

struct Document {
  std::vector<BufferInfo> buffers;
  std::vector<View> views;
  std::vector<Accessor> accessors;
  std::vector<MeshInfo> meshes;
  std::vector<Node> nodes;
  std::vector<std::uint32_t> order;  // all nodes, parents first
  std::vector<std::uint32_t> shown;  // nodes of the scene, in order
  std::vector<Skin> skins;
  std::vector<AnimationInfo> animations;
  std::vector<MaterialInfo> materials;
  std::vector<TextureInfo> textures;
  std::vector<ImageInfo> images;
  std::vector<CameraInfo> cameras;
  bool has_ignored_maps = false;  // metallic-roughness, normal or occlusion
  // Extensions that the file requires and that are ignored.
  std::vector<std::string> ignored_extensions;
};

// Throws Error{Exit::scene}: "source: nodes[3]: reason". Animations are read on request.
Document parse_document(std::string_view json, const std::string& source, bool animated = false);

}  // namespace heapwood::scenes::gltf
