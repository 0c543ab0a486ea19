// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string_view>

#include "scenes/file.hpp"
#include "workloads/strings/strings.hpp"

namespace heapwood::workloads::strings {

namespace {

// The steps make columns of several times the input on the host, to know their result.
void require_memory(const std::string& name, std::uint64_t bytes) {
  if (8 * bytes > simt::platform_available(simt::DeviceId{}))
    throw Error(Exit::failed, name + ": needs about " + std::to_string(bytes >> 27) +
                                  " GiB of host memory; use fewer rows");
}

// The sum of 12 uniform numbers is nearly normal, with a deviation of 1. As an exponent of 2 it
// gives a log-normal length. Numbers have 16 fractional bits.
std::uint32_t random_length(std::uint64_t seed, std::uint64_t row) {
  constexpr std::int64_t one = 65536, median_log = 4 * one,
                         deviation = 141820;  // 1.5 / ln 2: a deviation of 1.5 of the logarithm
  std::int64_t sum = 0;
  for (std::uint64_t i = 0; i < 12; ++i)
    sum += static_cast<std::int64_t>(mixed(mixed(seed, row), i / 4) >> 16 * (i % 4) & 0xffff);
  const std::int64_t log =
      std::clamp<std::int64_t>(median_log + (sum - 6 * one) * deviation / one, 0, 16 * one);
  return static_cast<std::uint32_t>((one + log % one) << log / one >> 16);
}

// Letters, blanks, and two characters of two bytes: U+0149, whose upper case is longer, and e with
// acute.
void append_random(std::vector<Byte>& bytes, std::uint32_t length, std::uint64_t seed) {
  constexpr std::string_view letters =
      "eeeeeeettttttaaaaooooiiinnnnsssrrrrhhhddlluuccmmffygwpb12       ";
  static_assert(letters.size() == 64);
  for (std::uint32_t i = 0; i < length; ++i) {
    const char letter = letters[mixed(seed, i / 10) >> 6 * (i % 10) & 63];
    const bool is_long = (letter == '1' || letter == '2') && ++i < length;
    if (is_long) bytes.push_back(letter == '1' ? 0xc5 : 0xc3);
    bytes.push_back(!is_long ? static_cast<Byte>(letter) : letter == '1' ? 0x89 : 0xa9);
  }
}

}  // namespace

HostColumn generate_strings(std::uint64_t rows, std::uint64_t seed) {
  constexpr std::uint64_t mean_bytes = 49;
  require_memory(std::to_string(rows) + " rows", rows * (mean_bytes + sizeof(std::uint64_t)));
  HostColumn column;
  for (std::uint64_t row = 0; row < rows; ++row) {
    scenes::check_interruption();
    append_random(column.bytes, random_length(seed, row), mixed(~seed, row));
    column.offsets.push_back(column.bytes.size());
  }
  return column;
}

HostColumn read_lines(const std::string& path, std::string& digest) {
  const scenes::FileBytes file = scenes::read_file(path);
  require_memory(path, file.size);
  digest = scenes::hex_digits(scenes::fnv1a(file.text()));
  std::string_view rest = scenes::without_byte_order_mark(file.text());
  HostColumn column;
  while (!rest.empty()) {
    scenes::check_interruption();
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    do {
      const std::string_view part = line.substr(0, max_input_bytes);
      column.bytes.insert(column.bytes.end(), part.begin(), part.end());
      column.offsets.push_back(column.bytes.size());
      line.remove_prefix(part.size());
    } while (!line.empty());
  }
  constexpr std::uint64_t max_pieces = 500'000'000;  // half of those after the split
  const auto blanks = std::count(column.bytes.begin(), column.bytes.end(), Byte{' '});
  if (column.rows() == 0) throw Error(Exit::scene, path + ": no lines; it is empty");
  if (static_cast<std::uint64_t>(blanks) + column.rows() > max_pieces)
    throw Error(Exit::scene, path + ": more than 500 million words; use a part of it");
  return column;
}

}  // namespace heapwood::workloads::strings
