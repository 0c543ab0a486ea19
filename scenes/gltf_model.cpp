// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "scenes/exact_math.hpp"
#include "scenes/gltf.hpp"
#include "scenes/gltf_data.hpp"
#include "scenes/texture_files.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes::gltf {
namespace {

// Max vertices, and max triangles, of the scene with all instances; they take about 3 GiB.
constexpr std::size_t max_flattened = std::size_t{1} << 26;

std::vector<Vec3> points_of(const std::vector<float>& values) {
  std::vector<Vec3> points(values.size() / 3);
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i] = {values[3 * i], values[3 * i + 1], values[3 * i + 2]};
  return points;
}

// Converts corners to triangles: from a list, a strip of alternating winding, or a fan.
void add_triangles_of(unsigned mode, const std::vector<std::uint32_t>& corners,
                      std::vector<Triangle>& triangles) {
  const std::size_t n = corners.size();
  if (mode == 4) {
    for (std::size_t i = 0; i + 2 < n; i += 3)
      triangles.push_back({{corners[i], corners[i + 1], corners[i + 2]}});
    return;
  }
  for (std::size_t i = 0; i + 2 < n; ++i) {
    const std::uint32_t a = mode == 6 ? corners[0] : corners[i + i % 2];
    const std::uint32_t b = mode == 6 ? corners[i + 1] : corners[i + 1 - i % 2];
    triangles.push_back({{a, b, corners[i + 2]}});
  }
}

}  // namespace

// A scene with its geometry decoded: primitives, their instances, skins and animations.
class Model {
 public:
  // animated: whether to read animations.
  Model(std::span<const std::byte> file, const std::string& source, Content content, bool animated);

  const std::vector<Clip>& clips() const { return clips_; }
  const std::string& clip_name(std::size_t i) const { return document_.animations[i].name; }

  // Moves the mesh at rest out of the model; may be called once.
  Mesh take_rest() { return std::move(rest_); }
  // The coordinates x y z of all vertices at a time; `clip` may be nullptr. Throws
  // Error{Exit::scene} if one is not finite.
  std::vector<double> coordinates(const Clip* clip, double seconds) const;

 private:
  // A primitive, decoded once for all its instances.
  struct Part {
    const Primitive* source = nullptr;
    std::vector<Vec3> positions;
    std::vector<std::vector<Vec3>> targets;  // empty for a target without positions
    std::vector<Triangle> triangles;
    std::vector<Uv> uvs;
    std::vector<std::uint32_t> colours;
    std::vector<std::uint32_t> joints;  // four per vertex, if there is a skin
    std::vector<float> weights;
  };
  struct Instance {
    std::uint32_t node = none;
    std::size_t part = 0;
  };

  void read_parts(Content content, Accessors& accessors);
  void read_part(const Primitive& primitive, Content content, Accessors& accessors, Part& part);
  void read_uvs(const Primitive& primitive, Accessors& accessors, Part& part) const;
  void read_skins(Accessors& accessors);
  void add_triangles();
  void add_materials(const std::string& path, const Accessors& accessors);
  void add_camera(const Pose& pose);
  template <class... Parts>
  void note(const Parts&... parts) {
    rest_.notes.push_back(concat(source_, ": ", parts...));
  }
  // Appends the vertices of an instance. `joints`: transforms of its skin's joints, if it has a
  // skin.
  void append(const Instance& instance, const Pose& pose, const std::vector<Affine>& joints,
              std::vector<double>& xyz) const;

  std::string source_;
  Document document_;
  std::vector<Part> parts_;
  std::vector<Instance> instances_;
  std::vector<std::vector<Affine>> inverse_bind_;  // per skin, of its joints
  std::vector<Clip> clips_;
  std::size_t unweighted_ = 0;  // number of vertices without weights
  Mesh rest_;
};

Model::Model(std::span<const std::byte> file, const std::string& source, Content content,
             bool animated)
    : source_(printable(source, source.size())) {
  if (file.empty()) require_triangles({}, source_);
  const Container container = split(file, source_);
  document_ = parse_document(container.json, source_, animated);
  Accessors accessors(document_, container, source);
  read_parts(content, accessors);
  read_skins(accessors);
  for (const AnimationInfo& info : document_.animations) clips_.emplace_back(info, accessors);
  if (std::ranges::any_of(clips_, [](const Clip& c) { return c.has_moved_times(); }))
    note("times of an animation are negative, too large or out of order; they were changed");
  rest_.name = printable(stem_of(source), source.size());
  add_triangles();
  require_triangles(rest_, source_);
  place_vertices(rest_, coordinates(nullptr, 0));
  add_camera(pose_at(document_, nullptr, 0));
  if (content == Content::materials) add_materials(source, accessors);
  check(rest_, source_);
}

void Model::read_parts(Content content, Accessors& accessors) {
  std::vector<std::size_t> first_part(document_.meshes.size(), 0), part_count(first_part);
  std::vector<bool> is_read(document_.meshes.size());
  std::size_t skipped = 0, vertices = 0, triangles = 0;
  bool has_instances = false;
  for (const std::uint32_t node : document_.shown) {
    const std::uint32_t mesh = document_.nodes[node].mesh;
    if (mesh == none) continue;
    has_instances = has_instances || document_.nodes[node].has_instances;
    if (!is_read[mesh]) {
      is_read[mesh] = true;
      first_part[mesh] = parts_.size();
      for (const Primitive& primitive : document_.meshes[mesh].primitives) {
        check_interruption();
        if (primitive.positions == none) continue;
        if (primitive.mode < 4 || primitive.mode > 6) {
          ++skipped;
          continue;
        }
        read_part(primitive, content, accessors, parts_.emplace_back());
        if (parts_.back().positions.empty()) parts_.pop_back();
      }
      part_count[mesh] = parts_.size() - first_part[mesh];
    }
    for (std::size_t i = first_part[mesh]; i < first_part[mesh] + part_count[mesh]; ++i) {
      vertices += parts_[i].positions.size();
      triangles += parts_[i].triangles.size();
      if (std::max(vertices, triangles) > max_flattened) {
        accessors.fail("with all its instances it has more than ", max_flattened,
                       " vertices or triangles");
      }
      instances_.push_back({node, i});
    }
  }
  if (skipped > 0)
    note(skipped, skipped == 1 ? " primitive" : " primitives", " of points or lines skipped");
  if (unweighted_ > 0)
    note(unweighted_, unweighted_ == 1 ? " vertex has" : " vertices have",
         " no skin weights: the first joint moves them");
  if (has_instances) note("EXT_mesh_gpu_instancing is ignored: each node shows one instance");
}

void Model::read_part(const Primitive& primitive, Content content, Accessors& accessors,
                      Part& part) {
  part.source = &primitive;
  part.positions = points_of(accessors.floats(primitive.positions, 3));
  const std::size_t vertices = part.positions.size();
  for (std::size_t i = 0; i < vertices; ++i) {
    if (!is_finite(part.positions[i]))
      accessors.fail("accessors[", primitive.positions, "]: element ", i, " is not finite");
  }
  const auto require_count = [&](std::size_t count, const char* what) {
    if (count != vertices)
      accessors.fail("a primitive has ", count, " ", what, " for ", vertices, " vertices");
  };
  for (const std::uint32_t target : primitive.targets) {
    std::vector<Vec3>& moved = part.targets.emplace_back();
    if (target == none) continue;
    moved = points_of(accessors.floats(target, 3));
    require_count(moved.size(), "morph positions");
  }
  std::vector<std::uint32_t> corners;
  if (primitive.indices != none) {
    corners = accessors.integers(primitive.indices, 1);
    for (const std::uint32_t corner : corners) {
      if (corner >= vertices) {
        accessors.fail("accessors[", primitive.indices, "]: an index is ", corner,
                       ", but there are ", vertices, " vertices");
      }
    }
  } else {
    accessors.use_memory(vertices * sizeof(std::uint32_t));
    corners.resize(vertices);
    std::iota(corners.begin(), corners.end(), 0u);
  }
  accessors.use_memory(corners.size() * sizeof(Triangle));
  add_triangles_of(primitive.mode, corners, part.triangles);
  if (primitive.joints != none && primitive.weights != none) {
    part.joints = accessors.integers(primitive.joints, 4);
    part.weights = accessors.floats(primitive.weights, 4);
    if (part.joints.size() != 4 * vertices || part.weights.size() != 4 * vertices)
      accessors.fail("a skinned primitive has joints or weights for another number of vertices");
    for (std::size_t v = 0; v < 4 * vertices; v += 4) {
      float sum = 0;
      for (std::size_t k = v; k < v + 4; ++k) {
        if (!std::isfinite(part.weights[k])) part.weights[k] = 0;
        sum += part.weights[k];
      }
      if (sum > 1e-6f) continue;
      std::fill_n(&part.weights[v], 4, 0.0f);
      part.weights[v] = 1;
      ++unweighted_;
    }
  }
  if (content == Content::geometry) return;
  if (primitive.colours != none) {
    part.colours = accessors.colours(primitive.colours);
    require_count(part.colours.size(), "colours");
  }
  read_uvs(primitive, accessors, part);
  if (!part.uvs.empty()) require_count(part.uvs.size(), "texture coordinates");
}

// Reads transformed texture coordinates: of the base colour's texture or, without one, the
// emission's.
void Model::read_uvs(const Primitive& primitive, Accessors& accessors, Part& part) const {
  if (primitive.material == none) return;
  const MaterialInfo& material = document_.materials[primitive.material];
  const TextureUse& use = material.base.texture != none ? material.base : material.emission;
  if (use.texture == none || primitive.uvs[use.uv_set] == none) return;
  const std::vector<float> values = accessors.floats(primitive.uvs[use.uv_set], 2);
  const float turn = static_cast<float>(std::clamp(use.rotation, -1000.0, 1000.0));
  const double c = exact::cos(turn), s = exact::sin(turn);
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    const double u = values[i] * use.scale[0], v = values[i + 1] * use.scale[1];
    part.uvs.push_back({static_cast<float>(c * u + s * v + use.offset[0]),
                        static_cast<float>(c * v - s * u + use.offset[1])});
  }
}

void Model::read_skins(Accessors& accessors) {
  for (const Skin& skin : document_.skins) {
    std::vector<Affine>& inverse = inverse_bind_.emplace_back(skin.joints.size());
    accessors.use_memory(skin.joints.size() * sizeof(Affine));
    if (skin.inverse_bind == none) continue;
    const std::vector<float> values = accessors.floats(skin.inverse_bind, 16);
    if (values.size() < 16 * skin.joints.size()) {
      accessors.fail("a skin has ", values.size() / 16, " inverse bind matrices for ",
                     skin.joints.size(), " joints");
    }
    for (std::size_t i = 0; i < inverse.size(); ++i) inverse[i] = affine_of(&values[16 * i]);
  }
  for (const Instance& instance : instances_) {
    const std::uint32_t skin = document_.nodes[instance.node].skin;
    if (skin == none) continue;
    for (const std::uint32_t joint : parts_[instance.part].joints) {
      if (joint < inverse_bind_[skin].size()) continue;
      accessors.fail("skins[", skin, "]: a vertex refers to joint ", joint, ", but there are ",
                     inverse_bind_[skin].size());
    }
  }
}

void Model::add_triangles() {
  const Pose pose = pose_at(document_, nullptr, 0);
  std::uint32_t base = 0;
  for (const Instance& instance : instances_) {
    const Part& part = parts_[instance.part];
    // A mirroring node reverses the winding, except for skins, whose vertices do not follow their
    // node.
    const bool is_skinned = document_.nodes[instance.node].skin != none && !part.joints.empty();
    const bool mirrors = !is_skinned && pose.globals[instance.node].determinant() < 0;
    const unsigned second = mirrors ? 2 : 1, third = mirrors ? 1 : 2;
    for (const Triangle& t : part.triangles)
      rest_.triangles.push_back({{base + t.v[0], base + t.v[second], base + t.v[third]}});
    base += static_cast<std::uint32_t>(part.positions.size());
  }
}

std::vector<double> Model::coordinates(const Clip* clip, double seconds) const {
  const Pose pose = pose_at(document_, clip, seconds);
  std::vector<double> xyz;
  std::size_t vertices = 0;
  for (const Instance& instance : instances_) vertices += parts_[instance.part].positions.size();
  xyz.reserve(3 * vertices);
  std::vector<std::vector<Affine>> joints(document_.skins.size());
  for (const Instance& instance : instances_) {
    check_interruption();
    const std::uint32_t skin = document_.nodes[instance.node].skin;
    if (skin != none && joints[skin].empty()) {
      const std::vector<std::uint32_t>& nodes = document_.skins[skin].joints;
      for (std::size_t i = 0; i < nodes.size(); ++i)
        joints[skin].push_back(pose.globals[nodes[i]] * inverse_bind_[skin][i]);
    }
    append(instance, pose, skin != none ? joints[skin] : std::vector<Affine>{}, xyz);
  }
  for (const double x : xyz) {
    if (!(std::abs(x) <= std::numeric_limits<float>::max()))
      throw Error(Exit::scene, source_ + ": its transforms move a vertex out of range");
  }
  return xyz;
}

void Model::append(const Instance& instance, const Pose& pose, const std::vector<Affine>& joints,
                   std::vector<double>& xyz) const {
  const Part& part = parts_[instance.part];
  const Node& node = document_.nodes[instance.node];
  const std::vector<float>& own = pose.weights[instance.node];
  const std::vector<float>& shares = own.empty() ? document_.meshes[node.mesh].weights : own;
  const bool is_skinned = node.skin != none && !part.joints.empty();
  for (std::size_t v = 0; v < part.positions.size(); ++v) {
    Vec3d p = to_double(part.positions[v]);
    for (std::size_t i = 0; i < std::min(part.targets.size(), shares.size()); ++i) {
      if (shares[i] == 0 || part.targets[i].empty()) continue;
      p = p + to_double(part.targets[i][v]) * double{shares[i]};
    }
    Vec3d moved;
    double total = 0;
    for (std::size_t k = 4 * v; is_skinned && k < 4 * v + 4; ++k) {
      const double weight = part.weights[k];
      if (weight == 0) continue;
      moved = moved + joints[part.joints[k]](p) * weight;
      total += weight;
    }
    // Divides by the sum of the weights, which should be 1.
    moved = is_skinned ? Vec3d{moved.x / total, moved.y / total, moved.z / total}
                       : pose.globals[instance.node](p);
    xyz.insert(xyz.end(), {moved.x, moved.y, moved.z});
  }
}

void Model::add_materials(const std::string& path, const Accessors& accessors) {
  Appearance& look = rest_.appearance;
  const auto has = [&](auto member) {
    return std::ranges::any_of(parts_, [&](const Part& part) { return !(part.*member).empty(); });
  };
  const bool has_colours = has(&Part::colours), has_uvs = has(&Part::uvs);
  if (document_.materials.empty() && !has_colours) return;

  TextureFiles files(path, look);
  std::vector<std::uint32_t> images(document_.images.size(), none);
  std::vector<bool> is_read(document_.images.size());
  const auto texture_of = [&](const TextureUse& use) {
    if (!has_uvs || use.texture == none) return no_texture;
    const TextureInfo& info = document_.textures[use.texture];
    if (info.image == none) return files.miss("textures", "it has no image that can be read");
    if (!is_read[info.image]) {
      is_read[info.image] = true;
      const ImageInfo& image = document_.images[info.image];
      const std::string name = "images[" + std::to_string(info.image) + "]";
      std::vector<std::byte> bytes;
      images[info.image] = image.view != none ? files.decode(name, accessors.view_bytes(image.view))
                           : !image.uri.starts_with("data:") ? files.read(decode_percent(image.uri))
                           : decode_data_uri(image.uri, bytes)
                               ? files.decode(name, bytes)
                               : files.miss(name, "its data URI is not valid base64");
    }
    return files.with_sampler(images[info.image], info.wrap_u, info.wrap_v, info.nearest);
  };
  bool has_other_coordinates = false;
  for (const MaterialInfo& info : document_.materials) {
    Material& m = look.materials.emplace_back(info.material);
    m.texture = texture_of(info.base);
    m.emission_texture = m.emission == Vec3{} ? no_texture : texture_of(info.emission);
    has_other_coordinates =
        has_other_coordinates || (m.texture != no_texture && m.emission_texture != no_texture &&
                                  !info.emission.has_coordinates_of(info.base));
  }
  const auto plain = static_cast<std::uint32_t>(look.materials.size());
  look.materials.push_back({.name = "default", .colour = {0.8f, 0.8f, 0.8f}});
  for (const Instance& instance : instances_) {
    const Part& part = parts_[instance.part];
    const std::size_t vertices = part.positions.size();
    look.triangle_materials.insert(look.triangle_materials.end(), part.triangles.size(),
                                   part.source->material == none ? plain : part.source->material);
    if (has_uvs) {
      look.uvs.insert(look.uvs.end(), part.uvs.begin(), part.uvs.end());
      look.uvs.resize(look.uvs.size() + vertices - part.uvs.size());
    }
    if (has_colours) {
      std::vector<std::uint32_t>& colours = look.vertex_colours;
      colours.insert(colours.end(), part.colours.begin(), part.colours.end());
      colours.resize(colours.size() + vertices - part.colours.size(), 0xffffffffu);
    }
  }
  files.report(rest_, source_);
  if (has_other_coordinates) {
    note(
        "an emissive texture has other texture coordinates than the base colour's: it is shown "
        "with those of the base colour");
  }
  for (const std::string& extension : document_.ignored_extensions)
    note(extension, " is required, but ignored");
  if (document_.has_ignored_maps) note("metallic-roughness, normal and occlusion maps are ignored");
}

// Uses the first perspective camera of the scene that is valid: its angle is between 1 and 170
// degrees, its transform is invertible and in range, and it does not look straight up or down.
void Model::add_camera(const Pose& pose) {
  const Vec3 extent = bounds(rest_).extent();
  const double distance = std::sqrt(static_cast<double>(dot(extent, extent)));
  std::size_t skipped = 0;
  for (const std::uint32_t node : document_.shown) {
    const std::uint32_t camera = document_.nodes[node].camera;
    if (camera == none || !document_.cameras[camera].perspective) continue;
    const double fov = document_.cameras[camera].vertical_fov * 180 / 3.14159265358979;
    const Affine& global = pose.globals[node];
    // A glTF camera looks along its -z axis.
    const double back =
        std::sqrt(global.z.x * global.z.x + global.z.y * global.z.y + global.z.z * global.z.z);
    const Vec3d position = global.origin - rest_.origin, forward = global.z * (-1 / back);
    const Vec3 eye = to_float(position), target = to_float(position + forward * distance);
    if (fov > 1 && fov < 170 && std::abs(forward.y) < 0.99 && is_finite(eye) && is_finite(target) &&
        target != eye) {
      rest_.camera = CameraHint{eye, target, static_cast<float>(fov)};
      break;
    }
    ++skipped;
  }
  if (skipped > 0)
    note(skipped, skipped == 1 ? " camera" : " cameras",
         " ignored: not invertible, too wide, too far away, or vertical");
}

}  // namespace heapwood::scenes::gltf

namespace heapwood::scenes {

Mesh parse_gltf(std::span<const std::byte> file, const std::string& source, Content content) {
  return gltf::Model(file, source, content, false).take_rest();
}

std::vector<std::string> gltf_file_names(std::span<const std::byte> file, const std::string& source,
                                         bool with_images) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& uri) {
    if (!uri.empty() && !uri.starts_with("data:")) names.push_back(gltf::decode_percent(uri));
  };
  try {
    const gltf::Document document = gltf::parse_document(gltf::split(file, source).json, source);
    for (const gltf::BufferInfo& buffer : document.buffers) add(buffer.uri);
    for (const gltf::ImageInfo& image : document.images) add(with_images ? image.uri : "");
  } catch (const Error&) {
    return {};
  }
  return names;
}

GltfAnimation::GltfAnimation(std::span<const std::byte> file, const std::string& source,
                             Content content)
    : model_(std::make_shared<gltf::Model>(file, source, content, true)),
      rest_(model_->take_rest()) {}

std::size_t GltfAnimation::count() const { return model_->clips().size(); }
const std::string& GltfAnimation::name(std::size_t animation) const {
  return model_->clip_name(animation);
}
double GltfAnimation::duration(std::size_t animation) const {
  return model_->clips()[animation].duration();
}

Mesh GltfAnimation::mesh_at(std::size_t animation, double seconds) const {
  const std::vector<double> xyz = model_->coordinates(&model_->clips()[animation], seconds);
  Mesh mesh = rest_;
  mesh.vertices.resize(xyz.size() / 3);
  for (std::size_t i = 0; i < mesh.vertices.size(); ++i) {
    mesh.vertices[i] = to_float(Vec3d{xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]} - rest_.origin);
  }
  return mesh;
}

}  // namespace heapwood::scenes
