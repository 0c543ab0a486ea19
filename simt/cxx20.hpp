// SPDX-License-Identifier: MIT
// Included first by headers that need C++20: rejects an older language with one message, before
// that of config.hpp.
#pragma once

#if __cplusplus < 202002L
#error "heapwood: compile with -std=c++20 or later"
// g++ continues after #error and stops at a file that does not exist.
#include <heapwood/compile_with_std_cxx20>
#endif
