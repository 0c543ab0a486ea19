// SPDX-License-Identifier: MIT
#include "workloads/strings/input.hpp"

#include <algorithm>
#include <string_view>

#include "scenes/file.hpp"
#include "simt/error.hpp"
#include "simt/memory.hpp"
#include "workloads/counted_input.hpp"

namespace heapwood::workloads::strings {

namespace {

constexpr std::uint64_t max_rows = 200'000'000, max_file_bytes = std::uint64_t{1} << 32,
                        max_pieces = 1'000'000'000;  // after the split

// The sum of 12 uniform numbers is nearly normal, with a deviation of 1. As an exponent of 2 it
// gives a log-normal length. Numbers have 16 fractional bits.
std::uint32_t random_length(std::uint64_t seed, std::uint64_t row) {
  constexpr std::int64_t one = 65536, median_log = 4 * one,
                         deviation = 141820;  // 1.5 / ln 2: a deviation of 1.5 of the logarithm
  std::int64_t sum = 0;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t drawn = mixed(mixed(seed, row), i);
    for (int part = 0; part < 4; ++part)
      sum += static_cast<std::int64_t>(drawn >> 16 * part & 0xffff);
  }
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
  std::uint64_t drawn = 0;
  for (std::uint32_t i = 0; i < length; ++i) {
    if (i % 10 == 0) drawn = mixed(seed, i);
    const char letter = letters[drawn & 63];
    drawn >>= 6;
    if (letter > '2' || letter == ' ') {
      bytes.push_back(static_cast<Byte>(letter));
    } else if (i + 1 == length) {
      bytes.push_back('v');
    } else {
      bytes.push_back(letter == '1' ? 0xc5 : 0xc3);
      bytes.push_back(letter == '1' ? 0x89 : 0xa9);
      if (++i % 10 == 0) drawn = mixed(seed, i);
    }
  }
}

// The steps make columns of up to several times the input on the host, to know their result.
void require_memory(const std::string& name, std::uint64_t bytes, std::uint64_t rows) {
  const std::uint64_t needed = 8 * (bytes + sizeof(std::uint64_t) * rows);
  if (needed > simt::platform_available(simt::DeviceId{}))
    throw Error(Exit::failed, name + ": needs about " + std::to_string(needed >> 30) +
                                  " GiB of host memory; use fewer rows");
}

void end_row(HostColumn& column) { column.offsets.push_back(column.bytes.size()); }

StringsInput read_lines(const std::string& path) {
  const scenes::FileBytes file = scenes::read_file(path);
  StringsInput input;
  input.name = path;
  input.digest = scenes::hex_digits(scenes::fnv1a(file.text()));
  const auto refuse = [&](const std::string& why) { throw Error(Exit::scene, path + ": " + why); };
  if (file.size > max_file_bytes) refuse("larger than 4 GiB; use a part of it");
  require_memory(path, file.size, 0);
  std::string_view rest = scenes::without_byte_order_mark(file.text());
  std::uint64_t long_lines = 0;
  while (!rest.empty()) {
    scenes::check_interruption();
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    long_lines += line.size() > max_input_bytes;
    do {
      const std::string_view part = line.substr(0, max_input_bytes);
      input.column.bytes.insert(input.column.bytes.end(), part.begin(), part.end());
      end_row(input.column);
      line.remove_prefix(part.size());
    } while (!line.empty());
    if (input.column.rows() > max_rows) refuse("more than 200 million lines; use a part of it");
  }
  if (input.column.rows() == 0) refuse("no lines; it is empty");
  // The second column is the first one in another order, so all blanks occur twice.
  const auto blanks = static_cast<std::uint64_t>(
      std::count(input.column.bytes.begin(), input.column.bytes.end(), Byte{' '}));
  if (2 * (blanks + input.column.rows()) > max_pieces)
    refuse("more than 500 million words; use a part of it");
  if (long_lines != 0)
    input.notes.push_back(std::to_string(long_lines) + (long_lines == 1 ? " line" : " lines") +
                          " longer than 64 KiB became several rows");
  return input;
}

}  // namespace

HostColumn generate_strings(std::uint64_t rows, std::uint64_t seed) {
  HostColumn column;
  column.offsets.reserve(rows + 1);
  for (std::uint64_t row = 0; row < rows; ++row) {
    scenes::check_interruption();
    append_random(column.bytes, random_length(seed, row), mixed(~seed, row));
    end_row(column);
  }
  return column;
}

StringsInput load_strings(const std::string& name) {
  const auto counted = parse_counted(name, "strings", "rows", {"lognormal"}, max_rows);
  if (!counted) return read_lines(name);
  constexpr std::uint64_t mean_bytes = 49;
  require_memory(name, counted->count * mean_bytes, counted->count);
  StringsInput input;
  input.name = name;
  input.column = generate_strings(counted->count, counted->seed);
  return input;
}

}  // namespace heapwood::workloads::strings
