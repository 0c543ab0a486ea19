// SPDX-License-Identifier: MIT
// Numbers as text, for readers and for CSV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace heapwood::bench {

inline constexpr const char* missing = "–";  // a figure that was not measured

std::string count_text(std::uint64_t n);                            // 1,234,567
std::string plural_text(std::uint64_t n, const std::string& what);  // 1 run, 1,234 runs
std::string compact_text(std::uint64_t n);                          // 262K, 1.09M
std::string bytes_text(std::uint64_t bytes);                        // 512 B, 1.50 MiB
std::string size_text(std::uint64_t bytes);                         // of a setting: 4 KiB, 1.50 MiB
std::string mib_text(std::uint64_t bytes);                          // 1.50, 123, 4,096 (MiB)
std::string figure_text(double value);                              // about four significant digits
std::string figure_text(std::optional<double> value);
std::string ratio_text(double value);  // 1.04, 12.3, 1,234

// "a, b, c", of texts.
template <class List>
std::string joined(const List& list, const std::string& separator = ", ") {
  std::string text;
  for (const auto& one : list) text += (text.empty() ? "" : separator) + one;
  return text;
}

// For CSV: six significant digits; empty if there is no figure.
std::string csv_text(const std::optional<double>& value);
std::string csv_text(bool have, std::uint64_t value);

}  // namespace heapwood::bench
