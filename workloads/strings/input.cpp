// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "alloc/allocator.hpp"
#include "scenes/file.hpp"
#include "simt/cpu.hpp"
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
void write_random(Byte* to, std::uint64_t length, std::uint64_t seed) {
  constexpr std::string_view letters =
      "eeeeeeettttttaaaaooooiiinnnnsssrrrrhhhddlluuccmmffygwpb12       ";
  static_assert(letters.size() == 64);
  for (std::uint64_t i = 0; i < length; ++i) {
    const char letter = letters[mixed(seed, i / 10) >> 6 * (i % 10) & 63];
    const bool is_long = (letter == '1' || letter == '2') && ++i < length;
    if (is_long) *to++ = letter == '1' ? 0xc5 : 0xc3;
    *to++ = !is_long ? static_cast<Byte>(letter) : letter == '1' ? 0x89 : 0xa9;
  }
}

}  // namespace

HostColumn generate_strings(std::uint64_t rows, std::uint64_t seed) {
  constexpr std::uint64_t mean_bytes = 49;
  require_memory(std::to_string(rows) + " rows", rows * (mean_bytes + sizeof(std::uint64_t)));
  HostColumn column;
  std::vector<std::uint64_t>& offsets = column.offsets;
  offsets.resize(rows + 1);
  simt::Cpu().for_each(rows, [&](std::size_t row) { offsets[row + 1] = random_length(seed, row); });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  column.bytes.resize(offsets.back());
  simt::Cpu().for_each(rows, [&](std::size_t row) {
    scenes::check_interruption();
    write_random(column.bytes.data() + offsets[row], offsets[row + 1] - offsets[row],
                 mixed(~seed, row));
  });
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

namespace {

struct Appender {
  Byte* end;
  void put(Byte byte) { *end++ = byte; }
};

// Memory for the text of one row.
class TextBuffer {
 public:
  Byte* begin() const { return reinterpret_cast<Byte*>(words_.get()); }
  Text text(const Appender& to) const {
    return {begin(), static_cast<std::uint32_t>(to.end - begin())};
  }

 private:
  // For two rows and a blank. Of all text "ER" grows most, from 2 bytes to 7.
  static constexpr std::size_t max_bytes = 7 * (max_input_bytes + 1);
  std::unique_ptr<std::uint64_t[]> words_ =
      std::make_unique_for_overwrite<std::uint64_t[]>(max_bytes / 8 + 1);
};

// What the steps make of consecutive rows.
struct Part {
  HostColumn column;
  std::array<std::uint64_t, step_count> live_bytes{};  // of one block per string, after each step
  std::uint64_t pieces = 0;                            // after the split

  void add_live(Step step, std::uint64_t bytes) {
    live_bytes[static_cast<unsigned>(step)] += alloc::padded(bytes);
  }
};

Part make_part(const Source& input, std::uint64_t begin, std::uint64_t end) {
  const TextBuffer joined, replaced;
  Part part;
  HostColumn& column = part.column;
  for (std::uint64_t row = begin; row < end; ++row) {
    scenes::check_interruption();
    // Write the upper case, a blank and the row of the second column.
    const Text loaded = input.text(row), second = input.text(second_row(row, input.rows));
    part.add_live(Step::load, loaded.bytes);
    Appender to{joined.begin()};
    put_upper(loaded, to);
    part.add_live(Step::upper, joined.text(to).bytes);
    to.put(' ');
    std::memcpy(to.end, second.at, second.bytes);
    to.end += second.bytes;
    const Text concatenated = joined.text(to);
    part.add_live(Step::concatenate, concatenated.bytes);
    // Replace the pattern.
    to.end = replaced.begin();
    put_replaced(concatenated, to);
    part.add_live(Step::replace, replaced.text(to).bytes);
    // Append the pieces that the filter keeps. A row has one more piece than blanks.
    column.begins.push_back(column.offsets.size() - 1);
    const Byte* at = replaced.begin();
    for (std::uint32_t piece = 0; at <= to.end; ++piece, ++part.pieces) {
      const Byte* const blank = std::find<const Byte*>(at, to.end, Byte{' '});
      const auto bytes = static_cast<std::uint64_t>(blank - at);
      part.add_live(Step::split, bytes);
      if (is_kept(row, piece)) {
        part.add_live(Step::filter, bytes);
        column.bytes.insert(column.bytes.end(), at, blank);
        column.offsets.push_back(column.bytes.size());
      }
      at = blank + 1;
    }
  }
  return part;
}

}  // namespace

StringsData prepare_strings(const simt::DeviceId& device, const HostColumn& input) {
  constexpr std::uint64_t part_rows = 2048;
  const simt::Cpu cpu;
  const std::uint64_t rows = input.rows();
  StringsData data;
  data.device = device;
  data.input = Column(device, input);
  // Compute parts of the result on all CPU threads.
  const bool is_on_cpu = device.kind == simt::DeviceKind::cpu;
  const Column copy = is_on_cpu ? Column() : Column(cpu.id(), input);
  const Source source = (is_on_cpu ? data.input : copy).source();
  std::vector<Part> parts((rows + part_rows - 1) / part_rows);
  const auto compute = [&](std::size_t i) {
    parts[i] = make_part(source, i * part_rows, std::min(rows, (i + 1) * part_rows));
  };
  cpu.for_each(parts.size(), compute, 2);
  // Sum up their sizes.
  std::array<std::uint64_t, step_count> live_bytes{};
  std::vector<std::uint64_t> first_piece{0}, first_byte{0};
  for (const Part& part : parts) {
    for (unsigned step = 0; step < step_count; ++step) live_bytes[step] += part.live_bytes[step];
    data.pieces += part.pieces;
    first_piece.push_back(first_piece.back() + part.column.offsets.size() - 1);
    first_byte.push_back(first_byte.back() + part.column.bytes.size());
  }
  data.peak_bytes = *std::ranges::max_element(live_bytes);
  // Concatenate their columns.
  HostColumn& result = data.result;
  result.begins.resize(rows + 1, first_piece.back());
  result.offsets.resize(first_piece.back() + 1);
  result.bytes.resize(first_byte.back());
  const auto concatenate = [&](std::size_t i) {
    const HostColumn part = std::exchange(parts[i].column, {});  // freed when it has been copied
    const std::uint64_t piece = first_piece[i], byte = first_byte[i];
    for (std::uint64_t row = 0; row < part.begins.size(); ++row)
      result.begins[i * part_rows + row] = piece + part.begins[row];
    for (std::uint64_t p = 1; p < part.offsets.size(); ++p)
      result.offsets[piece + p] = byte + part.offsets[p];
    std::ranges::copy(part.bytes, result.bytes.data() + byte);
  };
  cpu.for_each(parts.size(), concatenate, 2);
  return data;
}

}  // namespace heapwood::workloads::strings
