// SPDX-License-Identifier: MIT
// Helpers of the scene tests: temporary files, bytes of a PLY file, expected errors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "scenes/file.hpp"
#include "scenes/mesh.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes::testing {

// A temporary folder, removed at the end of the test.
class Folder {
 public:
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "heapwood-scenes-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(*this / name, std::ios::binary) << content;
    return *this / name;
  }

 private:
  std::filesystem::path path_;
};

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

// Runs f and expects an Error of this kind with a one-line text that contains every part.
template <class F>
void expect_error(Exit exit, std::initializer_list<std::string_view> parts, F f) {
  try {
    f();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.exit(), exit) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    for (const std::string_view part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks " << part;
  }
}

// FNV-1a of the bytes of the vertices, then of the indices.
inline std::uint64_t digest_of(const Mesh& mesh) {
  const auto text_of = [](const auto& items) {
    return std::string_view(reinterpret_cast<const char*>(items.data()),
                            items.size() * sizeof(items[0]));
  };
  return fnv1a(text_of(mesh.triangles), fnv1a(text_of(mesh.vertices)));
}

inline void expect_same(const Mesh& a, const Mesh& b) {
  EXPECT_EQ(a.vertices, b.vertices);
  EXPECT_EQ(a.triangles, b.triangles);
}

}  // namespace heapwood::scenes::testing
