// SPDX-License-Identifier: MIT
// Small glTF and TGA files for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/scenes/support.hpp"

namespace heapwood::scenes::testing {

// A binary file of this JSON and this binary chunk, padded as the format requires.
inline std::string glb(std::string json, std::string binary) {
  while (json.size() % 4 != 0) json += ' ';
  while (binary.size() % 4 != 0) binary += '\0';
  const auto word = [](std::size_t x) { return raw(static_cast<std::uint32_t>(x)); };
  return "glTF" + word(2) + word(28 + json.size() + binary.size()) + word(json.size()) + "JSON" +
         json + word(binary.size()) + std::string("BIN\0", 4) + binary;
}

template <class T>
std::string bytes_of_values(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline const std::vector<float> one_triangle{0, 0, 0, 1, 0, 0, 0, 1, 0}, no_positions;

// A glTF file in the making: each piece of data gets a view and an accessor.
class GltfBuilder {
 public:
  // Accessor 0 is the positions of a mesh, by default of one triangle: (0,0,0), (1,0,0), (0,1,0).
  explicit GltfBuilder(const std::vector<float>& positions = one_triangle) {
    if (!positions.empty()) floats(positions, "VEC3", 3);
  }
  // Returns the accessor's index. Types: 5121 u8, 5123 u16, 5125 u32, 5126 f32.
  template <class T>
  int add(const std::vector<T>& values, int component, const std::string& type, unsigned components,
          const std::string& more = "") {
    const int view = add_view(bytes_of_values(values));
    return add_accessor("{\"bufferView\":" + std::to_string(view) +
                        ",\"componentType\":" + std::to_string(component) +
                        ",\"count\":" + std::to_string(values.size() / components) +
                        ",\"type\":\"" + type + "\"" + more + "}");
  }
  int floats(const std::vector<float>& values, const std::string& type, unsigned components) {
    return add(values, 5126, type, components);
  }
  int add_accessor(const std::string& json) {
    accessors_ += (accessors_.empty() ? "" : ",") + json;
    return accessor_count_++;
  }
  int add_view(const std::string& bytes) {
    while (binary_.size() % 4 != 0) binary_ += '\0';
    views_ += (views_.empty() ? "" : ",") + std::string("{\"buffer\":0,\"byteOffset\":") +
              std::to_string(binary_.size()) + ",\"byteLength\":" + std::to_string(bytes.size()) +
              "}";
    binary_ += bytes;
    return view_count_++;
  }
  // `rest`: the other members of the JSON, as `"nodes":[...]`.
  std::string json(const std::string& rest) const {
    return "{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"byteLength\":" +
           std::to_string(binary_.size()) + "}],\"bufferViews\":[" + views_ + "],\"accessors\":[" +
           accessors_ + "]," + rest + "}";
  }
  std::string file(const std::string& rest) const { return glb(json(rest), binary_); }

 private:
  std::string binary_, views_, accessors_;
  int accessor_count_ = 0, view_count_ = 0;
};

// An uncompressed TGA picture; texels as in Texture.
inline std::string tga(unsigned width, unsigned height, const std::vector<std::uint32_t>& texels) {
  std::string file(18, '\0');
  file[2] = 2;
  file[12] = static_cast<char>(width);
  file[14] = static_cast<char>(height);
  file[16] = 32;
  file[17] = 0x28;  // rows begin at the top, 8 bits are alpha
  for (const std::uint32_t texel : texels) {
    for (const unsigned shift : {16u, 8u, 0u, 24u}) file += static_cast<char>(texel >> shift);
  }
  return file;
}

}  // namespace heapwood::scenes::testing
