// SPDX-License-Identifier: MIT
#include "scenes/gltf.hpp"

#include <utility>

#include "scenes/file.hpp"
#include "scenes/gltf_animation.hpp"
#include "scenes/gltf_model.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {

Mesh parse_gltf(std::span<const std::byte> file, const std::string& source, Content content) {
  return gltf::Model(file, source, content).take_rest();
}

std::vector<std::string> gltf_buffer_files(std::span<const std::byte> file,
                                           const std::string& source) {
  std::vector<std::string> files;
  try {
    const CompanionFiles companions(source);
    for (const gltf::BufferInfo& buffer :
         gltf::parse_document(gltf::split(file, source).json, source).buffers) {
      if (!buffer.uri.empty() && !buffer.uri.starts_with("data:"))
        files.push_back(companions.find(gltf::decode_percent(buffer.uri)));
    }
  } catch (const Error&) {
    return {};
  }
  return files;
}

std::vector<std::string> gltf_file_names(std::span<const std::byte> file,
                                         const std::string& source) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& uri) {
    if (!uri.empty() && !uri.starts_with("data:")) names.push_back(gltf::decode_percent(uri));
  };
  try {
    const gltf::Document document = gltf::parse_document(gltf::split(file, source).json, source);
    for (const gltf::BufferInfo& buffer : document.buffers) add(buffer.uri);
    for (const gltf::ImageInfo& image : document.images) add(image.uri);
  } catch (const Error&) {
    return {};
  }
  return names;
}

GltfAnimation::GltfAnimation(const std::string& path, Content content)
    : GltfAnimation(read_file(path).bytes(), path, content) {}

GltfAnimation::GltfAnimation(std::span<const std::byte> file, const std::string& source,
                             Content content)
    : model_(std::make_unique<gltf::Model>(file, source, content)), rest_(model_->take_rest()) {}

GltfAnimation::GltfAnimation(GltfAnimation&&) noexcept = default;
GltfAnimation& GltfAnimation::operator=(GltfAnimation&&) noexcept = default;
GltfAnimation::~GltfAnimation() = default;

std::size_t GltfAnimation::count() const { return model_->clips().size(); }
const std::string& GltfAnimation::name(std::size_t animation) const {
  return model_->clip_name(animation);
}
double GltfAnimation::duration(std::size_t animation) const {
  return model_->clips()[animation].duration();
}

void GltfAnimation::vertices_at(std::size_t animation, double seconds,
                                std::vector<Vec3>& vertices) const {
  const std::vector<double> xyz = model_->coordinates(&model_->clips()[animation], seconds);
  vertices.resize(xyz.size() / 3);
  for (std::size_t i = 0; i < vertices.size(); ++i)
    vertices[i] = to_float(Vec3d{xyz[3 * i], xyz[3 * i + 1], xyz[3 * i + 2]} - rest_.origin);
}

Mesh GltfAnimation::mesh_at(std::size_t animation, double seconds) const {
  Mesh mesh = rest_;
  vertices_at(animation, seconds, mesh.vertices);
  return mesh;
}

}  // namespace heapwood::scenes
