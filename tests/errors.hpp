// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "simt/error.hpp"

namespace heapwood::tests {

// Calls f(). Expects an Error of this kind with a text of one line that contains every part.
template <class F>
void expect_error(Exit exit, std::initializer_list<std::string_view> parts, F f) {
  try {
    f();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.exit(), exit) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    for (const std::string_view part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks " << part;
  }
}

}  // namespace heapwood::tests
