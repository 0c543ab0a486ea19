// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "simt/error.hpp"

namespace heapwood::tests {

// Calls f() and returns the E that it must throw.
template <class E, class F>
E caught(F f) {
  try {
    f();
  } catch (const E& error) {
    return error;
  }
  throw std::logic_error("nothing was thrown");
}

// Calls f(). Expects an Error of this kind with a text of one line that contains every part.
template <class F>
void expect_error(Exit exit, std::initializer_list<std::string_view> parts, F f) {
  const auto error = caught<Error>(f);
  const std::string text = error.what();
  EXPECT_EQ(error.exit(), exit) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  for (const std::string_view part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks " << part;
}

inline void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "lacks " << word << '\n' << text;
}

}  // namespace heapwood::tests
