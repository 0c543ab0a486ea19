// SPDX-License-Identifier: MIT
#include "scenes/file.hpp"

#include <gtest/gtest.h>

namespace heapwood::scenes {
namespace {

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("a\nb\r\t\v\f"), "a\\nb\\r\\t\\v\\f");
  EXPECT_EQ(printable(std::string_view("\0\x1b[31m\x7f", 7)), "\\x00\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");  // C1: a terminal's escape
  EXPECT_EQ(printable("a\xe2\x80\xa8\xe2\x80\xae z"),
            "a\\xe2\\x80\\xa8\\xe2\\x80\\xae z");  // line end, right to left
}

TEST(Printable, OtherTextStays) {
  const std::string text = "Haus \\ \xc3\xbc\xe2\x82\xac\xf0\x9f\x8f\xa0";
  EXPECT_EQ(printable(text), text);
}

TEST(Printable, BytesThatAreNotUtf8AreEscaped) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc0\x8a\xed\xa0\x80"), "\\xc0\\x8a\\xed\\xa0\\x80");
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 5), "abcde...");
  EXPECT_EQ(printable("abc\xc3\xbc", 4), "abc...");
}

}  // namespace
}  // namespace heapwood::scenes
