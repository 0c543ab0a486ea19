// SPDX-License-Identifier: MIT
// Included first by headers that need C++20: rejects an older language with one message, before
// that of config.hpp.
#pragma once

#if __cplusplus < 202002L
#error "heapwood: compile with -std=c++20 or later"
// A second message is avoided by a missing file: g++ stops at one, but continues after #error.
#include <heapwood/compile_with_std_cxx20>
#endif
