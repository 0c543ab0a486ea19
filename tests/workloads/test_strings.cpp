// SPDX-License-Identifier: MIT
// heapwood strings: both methods against plain strings, exhaustion, with every allocator.
#include <gtest/gtest.h>

#include <algorithm>

#include "alloc/allocators/heapwood.hpp"
#include "scenes/file.hpp"
#include "tests/errors.hpp"
#include "tests/folder.hpp"
#include "tests/simt/lockstep.hpp"
#include "tests/workloads/stress_jobs.hpp"
#include "workloads/strings/strings_run.hpp"

namespace heapwood::workloads::strings {
namespace {

HostColumn column_of(const std::vector<std::string>& rows) {
  HostColumn column;
  for (const std::string& row : rows) {
    column.bytes.insert(column.bytes.end(), row.begin(), row.end());
    column.offsets.push_back(column.bytes.size());
  }
  return column;
}

std::string text_of(const HostColumn& column, std::uint64_t piece) {
  return {column.bytes.begin() + static_cast<std::ptrdiff_t>(column.offsets[piece]),
          column.bytes.begin() + static_cast<std::ptrdiff_t>(column.offsets[piece + 1])};
}

void replace_all(std::string& text, const std::string& pattern, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(pattern, at)) != std::string::npos; at += by.size())
    text.replace(at, pattern.size(), by);
}

// All steps with std::string. Only for rows of ASCII characters, U+0149, sharp s and e with acute.
std::vector<std::vector<std::string>> plain_steps(const std::vector<std::string>& rows) {
  std::vector<std::vector<std::string>> result;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::string text = rows[row];
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    replace_all(text, "\xc5\x89", "\xca\xbcN");
    replace_all(text, "\xc3\x9f", "SS");
    replace_all(text, "\xc3\xa9", "\xc3\x89");
    text += " " + rows[rows.size() - 1 - row];
    replace_all(text, "ER", "[error]");
    std::vector<std::string> kept;
    std::uint32_t number = 0;
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1, ++number) {
      end = text.find(' ', begin);
      if (is_kept(row, number)) kept.push_back(text.substr(begin, end - begin));
    }
    result.push_back(kept);
  }
  return result;
}

void expect_plain(const HostColumn& column, const std::vector<std::string>& rows) {
  const std::vector<std::vector<std::string>> expected = plain_steps(rows);
  ASSERT_EQ(column.rows(), expected.size());
  for (std::size_t row = 0; row < expected.size(); ++row) {
    ASSERT_EQ(column.begins[row + 1] - column.begins[row], expected[row].size()) << row;
    for (std::size_t i = 0; i < expected[row].size(); ++i)
      EXPECT_EQ(text_of(column, column.begins[row] + i), expected[row][i]) << row;
  }
}

std::vector<std::string> random_rows(std::uint64_t count) {
  const HostColumn column = generate_strings(count, 3);
  std::vector<std::string> rows{
      "",         " ",           "  a  b ", "er", "eer", "eeerer r", "\xc5\x89\xc5\x89",
      "\xc3\x9f", "caf\xc3\xa9", "ER ER",   "x"};
  rows.emplace_back(5000, 'e');
  rows.emplace_back(300, ' ');
  for (std::uint64_t i = 0; i < count; ++i) rows.push_back(text_of(column, i));
  return rows;
}

class Strings : public StepsJobs {
 protected:
  void prepare(const HostColumn& rows) { data_ = prepare_strings(device_, rows); }
  void prepare(const std::vector<std::string>& rows) { prepare(column_of(rows)); }
  StringsJob job(std::size_t pool_bytes) {
    StringsJob job = job_in<StringsJob>(pool_bytes);
    job.data = &data_;
    return job;
  }

  StringsData data_;
};

TEST_F(Strings, TwoPassesGivePlainStrings) {
  const std::vector<std::string> rows = random_rows(5000);
  prepare(rows);
  expect_plain(data_.result, rows);
  const StepsResult result = run_two_pass(data_, true, 60);  // checks its result
  EXPECT_EQ(result.memory.size(), step_count - 1);
}

// With `inspects` the result is compared with the host's. In a small pool rows keep their old
// strings, and those that were served are compared.
TEST_F(Strings, EveryAllocatorGivesTheSameStrings) {
  prepare(random_rows(1000));
  run_each([&](const registry::CompiledAllocator& allocator,
               std::size_t pool) { return allocator.strings(job(pool)); },
           data_.peak_bytes,
           [&](const StepsResult& ample) { EXPECT_EQ(ample.steps[4].requests, data_.pieces); });
}

TEST_F(Strings, ShortStringsDoNotTakeTheBlocksOfLongOnes) {
  if (device_.kind != simt::DeviceKind::cpu) GTEST_SKIP() << "a GPU's slots need a larger pool";
  prepare(generate_strings(5000, 1));
  const StringsJob tight = job(alloc::round_up(data_.peak_bytes / 2 * 3, 256));
  const StepsResult result = run_strings<alloc::Heapwood>(simt::Cpu({.threads = 1}), tight);
  EXPECT_EQ(result.refused(), 0u);
}

TEST_F(Strings, WarpsOfSeveralLanes) {
  if (device_.kind != simt::DeviceKind::cpu) GTEST_SKIP() << "simulated warps are of CPU threads";
  prepare(random_rows(300));
  const simt::Lockstep<4> device(3);
  for (const std::size_t pool : {std::size_t{4} << 20, std::size_t{64} << 10}) {
    const StringsJob small = job(pool);
    const StepsResult result = run_strings<alloc::Heapwood>(device, small);
    EXPECT_EQ(result.refused() == 0, pool > 1 << 20);
  }
}

TEST_F(Strings, DifferencesAreFound) {
  prepare(random_rows(50));
  HostColumn changed = data_.result;
  ASSERT_FALSE(changed.bytes.empty());
  changed.bytes.back() ^= 1;
  const auto check = [&](const std::vector<std::uint8_t>& refused) {
    check_strings(changed, data_.result, refused);
  };
  tests::expect_error(Exit::failed, {"the strings of row", "differ"}, [&] { check({}); });
  check(std::vector<std::uint8_t>(data_.result.rows(), 1));  // of refused rows nothing is known
  changed = data_.result;
  ++changed.offsets[changed.offsets.size() / 2];
  tests::expect_error(Exit::failed, {"the strings of row"}, [&] { check({}); });
}

TEST_F(Strings, LeaveNoBlocksInAHeapOutsideThePool) {
  prepare(random_rows(100));
  expect_no_blocks_left([&](const auto& allocator) { allocator.strings(job(1 << 20)); });
}

TEST(StringsInput, IsTheSameEverywhere) {
  const HostColumn column = generate_strings(20000, 1);
  EXPECT_EQ(scenes::hex_digits(scenes::fnv1a(
                {reinterpret_cast<const char*>(column.bytes.data()), column.bytes.size()})),
            "bc66e77a47f0465d");
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t i = 0; i < column.rows(); ++i)
    lengths.push_back(column.offsets[i + 1] - column.offsets[i]);
  std::ranges::sort(lengths);
  EXPECT_EQ(lengths.front(), 1u);
  EXPECT_NEAR(static_cast<double>(lengths[10000]), 16, 1);
  EXPECT_GT(lengths.back(), 1000u);
  EXPECT_LE(lengths.back(), max_input_bytes);
  EXPECT_NE(generate_strings(20000, 2).bytes, column.bytes);
}

TEST(StringsInput, LinesBecomeRows) {
  const tests::Folder folder;
  const auto rows_of = [&](const std::string& text) {
    std::string digest;
    const HostColumn column = read_lines(folder.write("a.txt", text), digest);
    std::vector<std::string> rows;
    for (std::uint64_t i = 0; i < column.rows(); ++i) rows.push_back(text_of(column, i));
    return rows;
  };
  EXPECT_EQ(rows_of("a\r\n\nb c"), (std::vector<std::string>{"a", "", "b c"}));
  EXPECT_EQ(rows_of("\xef\xbb\xbfx\n"), std::vector<std::string>{"x"});
  const std::vector<std::string> parts = rows_of(std::string(max_input_bytes + 3, 'y') + "\nz\n");
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1], "yyy");
}

}  // namespace
}  // namespace heapwood::workloads::strings
