// SPDX-License-Identifier: MIT
#include "bench/results/format.hpp"

#include <fmt/format.h>

#include <array>

namespace heapwood::bench {

namespace {
constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
}

std::string count_text(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t index = digits.size(); index > 3;) {
    index -= 3;
    digits.insert(index, 1, ',');
  }
  return digits;
}

std::string plural_text(std::uint64_t n, const std::string& what) {
  return fmt::format("{} {}{}", count_text(n), what, n == 1 ? "" : "s");
}

std::string compact_text(std::uint64_t n) {
  const double value = static_cast<double>(n);
  if (n < 10'000) return count_text(n);
  if (n < 999'500) return fmt::format("{:.0f}K", value / 1e3);
  if (n < 99'950'000) return fmt::format("{:.{}f}M", value / 1e6, n < 9'995'000 ? 2 : 1);
  return count_text(static_cast<std::uint64_t>(std::llround(value / 1e6))) + "M";
}

std::string bytes_text(std::uint64_t bytes) {
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1023.5 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, units[unit]);
}

std::string size_text(std::uint64_t bytes) {
  std::size_t unit = 0;
  for (; bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < units.size(); bytes /= 1024) ++unit;
  if (bytes >= 1024) return bytes_text(bytes << (10 * unit));
  return fmt::format("{} {}", bytes, units[unit]);
}

std::string mib_text(std::uint64_t bytes) {
  return figure_text(static_cast<double>(bytes) / (1 << 20));
}

std::string figure_text(double value) {
  const double size = std::abs(value);
  if (size != 0 && (size < 0.001 || size >= 1e12)) return fmt::format("{:.2e}", value);
  if (size < 1) return fmt::format("{:.3f}", value);
  if (size < 99.995) return fmt::format("{:.2f}", value);
  if (size < 9999.95) return fmt::format("{:.1f}", value);
  return count_text(static_cast<std::uint64_t>(std::llround(value)));
}

std::string figure_text(std::optional<double> value) {
  return value ? figure_text(*value) : missing;
}

std::string ratio_text(std::optional<double> value) {
  if (!value) return missing;
  if (*value < 99.995) return fmt::format("{:.2f}", *value);
  return count_text(static_cast<std::uint64_t>(std::llround(*value)));
}

std::string csv_text(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? fmt::format("{:.6g}", *value) : std::string();
}

std::string csv_text(bool have, std::uint64_t value) {
  return have ? std::to_string(value) : std::string();
}

}  // namespace heapwood::bench
