// SPDX-License-Identifier: MIT
#include "bench/program/input_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace heapwood::bench {

std::optional<std::string> read_text(const std::string& path, Exit exit) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return std::nullopt;
  if (status.type() != std::filesystem::file_type::regular) {
    throw Error(exit, fmt::format("{}: cannot be read: {}", path,
                                  std::filesystem::exists(status) ? "it is not a regular file"
                                                                  : error.message()));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file || file.bad()) throw Error(exit, fmt::format("{}: cannot be read", path));
  return text;
}

}  // namespace heapwood::bench
