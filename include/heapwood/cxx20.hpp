// SPDX-License-Identifier: MIT
// Included first by every header that programs include: ends the compilation with one message if
// the language is older than the headers need.
#pragma once

#if __cplusplus < 202002L
#error "heapwood: compile with -std=c++20 or later"
// g++ continues after #error and stops at a file that does not exist.
#include <heapwood/compile_with_std_cxx20>
#endif
