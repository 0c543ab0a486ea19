// SPDX-License-Identifier: MIT
// Helpers of the scene tests: temporary files, bytes of a PLY file, expected errors.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "scenes/file.hpp"
#include "scenes/mesh.hpp"
#include "tests/errors.hpp"
#include "tests/folder.hpp"

namespace heapwood::scenes::testing {

using tests::expect_error;
using tests::expect_words;
using tests::Folder;

// A test with a temporary folder.
class FolderTest : public ::testing::Test {
 protected:
  const Folder folder_;
};

// Files of one triangle: (0,0,0), (1,0,0), (0,1,0).
inline const std::string triangle_obj = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
                         triangle_ply =
                             "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\n"
                             "property float y\nproperty float z\nelement face 1\n"
                             "property list uchar int vertex_indices\nend_header\n"
                             "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The value's bytes in little or big endian order.
template <class T>
std::string raw(T value, bool big = false) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return big ? std::string(bytes.rbegin(), bytes.rend()) : bytes;
}

// `text` with `to` instead of the first `from`, which it must contain.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  return text.replace(text.find(from), from.size(), to);
}

inline std::string with_line_ends(const std::string& text, const std::string& end) {
  std::string changed;
  for (const char c : text) changed += c == '\n' ? end : std::string(1, c);
  return changed;
}

// FNV-1a of the bytes of the vertices, then of the indices.
inline std::uint64_t digest_of(const Mesh& mesh) {
  const auto text_of = [](const auto& items) {
    return std::string_view(reinterpret_cast<const char*>(items.data()),
                            items.size() * sizeof(items[0]));
  };
  return fnv1a(text_of(mesh.triangles), fnv1a(text_of(mesh.vertices)));
}

inline Mesh unit_square() {
  Mesh mesh;
  mesh.vertices = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
  mesh.triangles = {{{0, 1, 2}}, {{0, 2, 3}}};
  return mesh;
}

inline void expect_same(const Mesh& a, const Mesh& b) {
  EXPECT_EQ(a.vertices, b.vertices);
  EXPECT_EQ(a.triangles, b.triangles);
}

}  // namespace heapwood::scenes::testing
