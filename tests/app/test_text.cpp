// SPDX-License-Identifier: MIT
// Numbers, tables and the progress line as text.
#include <gtest/gtest.h>

#include <sstream>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "bench/results/row_tables.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {
namespace {

TEST(Format, CountsAreGroupedOrShort) {
  EXPECT_EQ(bench::count_text(0), "0");
  EXPECT_EQ(bench::count_text(999), "999");
  EXPECT_EQ(bench::count_text(1000), "1,000");
  EXPECT_EQ(bench::count_text(1234567), "1,234,567");
  EXPECT_EQ(bench::compact_text(9999), "9,999");
  EXPECT_EQ(bench::compact_text(262267), "262K");
  EXPECT_EQ(bench::compact_text(999499), "999K");
  EXPECT_EQ(bench::compact_text(1087474), "1.09M");
  EXPECT_EQ(bench::compact_text(12748510), "12.7M");
}

TEST(Format, BytesHaveUnits) {
  EXPECT_EQ(bench::bytes_text(0), "0 B");
  EXPECT_EQ(bench::bytes_text(1023), "1023 B");
  EXPECT_EQ(bench::bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bench::bytes_text(std::uint64_t{512} << 20), "512 MiB");
  EXPECT_EQ(bench::bytes_text((std::uint64_t{1} << 30) - 1), "1.00 GiB");
  EXPECT_EQ(bench::mib_text(3 << 19), "1.50");
  EXPECT_EQ(bench::size_text(4), "4 B");
  EXPECT_EQ(bench::size_text(1536), "1.50 KiB");
  EXPECT_EQ(bench::size_text(64 << 20), "64 MiB");
  EXPECT_EQ(bench::size_text(3 << 19), "1.50 MiB");
  EXPECT_EQ(bench::size_text((1 << 20) + 1), "1.00 MiB");
}

TEST(Format, FiguresHaveFourDigits) {
  EXPECT_EQ(bench::figure_text(0.0), "0.000");
  EXPECT_EQ(bench::figure_text(8.553), "8.55");
  EXPECT_EQ(bench::figure_text(944.66), "944.7");
  EXPECT_EQ(bench::figure_text(22432.0), "22,432");
  EXPECT_EQ(bench::figure_text(std::optional<double>()), bench::missing);
  EXPECT_EQ(bench::ratio_text(18.716), "18.72");
  EXPECT_EQ(bench::ratio_text(1234.4), "1,234");
}

TEST(Samples, HaveMedianAndQuartiles) {
  EXPECT_FALSE(bench::median({}));
  EXPECT_EQ(bench::median({3}), 3);
  EXPECT_EQ(bench::median({5, 1, 3}), 3);
  EXPECT_EQ(bench::median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(bench::quantile({1, 2, 3, 4, 5}, 0.25), 2);
  EXPECT_EQ(bench::quantile({1, 2, 3, 4, 5}, 0.75), 4);
}

TEST(Progress, CountsAndTimeLeft) {
  EXPECT_EQ(bench::progress_text(0, 16, 0, "x"), "[0/16] x");
  EXPECT_EQ(bench::progress_text(4, 16, 10, "x"), "[4/16] x   ETA 0:30");
  EXPECT_EQ(bench::progress_text(1, 1000, 10, "x"), "[1/1000] x   ETA 2:46:30");
  EXPECT_EQ(bench::progress_text(16, 16, 10, "x"), "[16/16] x");
}

bench::Table example() {
  bench::Table table;
  table.title = "Title";
  table.columns = {{"name", true}, {"one"}, {"two"}};
  table.add({"first", "1.00", bench::Cell("22.00", true)});
  table.add_heading("group");
  table.add({"second, \"x\"", "a|b", bench::missing});
  table.notes = {"a note"};
  return table;
}

TEST(Table, TextIsAligned) {
  EXPECT_EQ(bench::to_text(example()),
            "Title\n\n"
            "name          one      two\n"
            "────────────────────────────\n"
            "first        1.00    22.00 ◂\n"
            "\ngroup\n"
            "second, \"x\"   a|b        –\n"
            "\na note\n");
}

TEST(Table, TextBreaksColumnsIntoBlocks) {
  bench::Table table;
  table.columns.push_back({"name", true});
  for (int i = 0; i < 30; ++i) table.columns.push_back({"column" + std::to_string(i)});
  table.add({"row"});
  std::istringstream lines(bench::to_text(table, {60, false}));
  int names = 0, columns = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(bench::display_width(line), 60u) << line;
    names += line.rfind("name", 0) == 0;
    for (std::size_t at = 0; (at = line.find("column", at)) != std::string::npos; ++at) ++columns;
  }
  EXPECT_GT(names, 1);
  EXPECT_EQ(columns, 30);
}

TEST(Table, LastColumnWraps) {
  bench::Table table;
  table.columns = {{"id", true}, {"note", true, true}};
  table.add({"x", "many words that do not fit into one line of forty columns"});
  std::istringstream lines(bench::to_text(table, {40, false}));
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(bench::display_width(line), 40u) << line;
}

// A group name wider than its columns widens them in each block that contains some of them.
TEST(Table, GroupsEndWhereTheirColumnsEnd) {
  bench::Table table;
  table.columns = {{"", true},
                   {"a", false, false, "a long name"},
                   {"b", false, false, "another"},
                   {"c", false, false, "another"}};
  table.add({"row", "1", "2", "3"});
  EXPECT_EQ(bench::to_text(table),
            "     a long name  another\n"
            "               a    b   c\n"
            "─────────────────────────\n"
            "row            1    2   3\n");
  EXPECT_NE(bench::to_markdown(table).find("| a long name a | another b | another c |"),
            std::string::npos);
  table.rows.front().cells[1].best = true;
  tests::expect_words(bench::to_text(table),
                      {"     a long name   another\n             a    b    c\n"});
  // Blocks respect the width, and a split group has its name above each part.
  for (unsigned i = 0; i < 4; ++i) table.columns.push_back({"d", false, false, "broken"});
  for (unsigned i = 0; i < 4; ++i) table.rows.front().cells.push_back({"4"});
  for (const std::size_t width : {16, 20, 24, 30, 60}) {
    std::istringstream lines(to_text(table, {width, false}));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(bench::display_width(line), width) << line;
  }
}

TEST(Table, ABlockEndsBetweenGroups) {
  bench::Table table;
  table.columns.push_back({"name", true});
  for (const char* group : {"first group", "second group"}) {
    for (const char* column : {"column 1", "column 2"})
      table.columns.push_back({column, false, false, group});
  }
  table.add({"row", "1", "2", "3", "4"});
  // Three columns would fit, but the second group is not split.
  const std::string text = bench::to_text(table, {40, false});
  EXPECT_EQ(text.find("second group"), text.rfind("second group")) << text;
  EXPECT_LT(text.find("2\n"), text.find("second group")) << text;
  EXPECT_LT(text.find("second group"), text.find("3")) << text;
}

TEST(Table, WritesMarkdown) {
  EXPECT_EQ(bench::to_markdown(example()),
            "**Title**\n\n"
            "| name | one | two |\n"
            "| :--- | ---: | ---: |\n"
            "| first | 1.00 | **22.00** ◂ |\n"
            "| **group** |  |  |\n"
            "| second, \"x\" | a\\|b | – |\n"
            "\n- a note\n");
}

TEST(Footnotes, ARemarkStandsOnce) {
  bench::Footnotes footnotes;
  EXPECT_EQ(footnotes.mark("one", "slow"), "[1]");
  EXPECT_EQ(footnotes.mark("one", "wrong"), "[2]");
  EXPECT_EQ(footnotes.mark("two", "slow"), "[1]");
  EXPECT_EQ(footnotes.mark("two", "slow"), "[1]");
  std::vector<std::string> lines;
  footnotes.append_to(lines);
  EXPECT_EQ(lines, (std::vector<std::string>{"[1] one, two: slow", "[2] one: wrong"}));
}

TEST(Table, CsvQuotesCommas) {
  EXPECT_EQ(bench::to_csv(example()),
            "name,one,two\nfirst,1.00,22.00\n\"second, \"\"x\"\"\",a|b,–\n");
}

}  // namespace
}  // namespace heapwood::app
