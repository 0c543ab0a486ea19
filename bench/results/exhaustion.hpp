// SPDX-License-Identifier: MIT
// Explains to the user why a tree is incomplete.
#pragma once

#include <string>

#include "bench/results/result.hpp"

namespace heapwood::bench {

// "cfmmalloc: pool of 4 MiB exhausted, tree incomplete: requested ..., max used ..., free ...,
// largest free region ...; ADVICE".
std::string exhaustion_text(const Result& result);

}  // namespace heapwood::bench
