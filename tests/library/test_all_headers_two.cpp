// SPDX-License-Identifier: MIT
// Two sources that include all public headers link, and share the operators of operator_new.hpp.
#include "tests/library/all_headers.hpp"

TEST(AllHeaders, New_two) { heapwood::test::expect_new_uses_the_heap(); }
