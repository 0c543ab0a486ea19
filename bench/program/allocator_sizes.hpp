// SPDX-License-Identifier: MIT
// Options for the sizes that a family of allocators has.
#pragma once

#include <cstddef>
#include <string>

#include "alloc/allocator.hpp"

namespace CLI {
class App;
}

namespace heapwood::bench {

using Presplit = alloc::AllocatorOptions::Presplit;
const char* name(Presplit presplit);  // "heap", "uniform"
using ChunkSearch = alloc::AllocatorOptions::ChunkSearch;
const char* name(ChunkSearch search);  // "spread", "lowest"

// Sizes that a family of allocators has besides ScatterAlloc's pages; 0 = automatic
// (alloc::AllocatorOptions).
struct AllocatorSizes {
  std::size_t smallest_chunk = 0;                  // circular lists
  std::size_t chunk_bytes = 0, queue_slots = 0;    // Ouroboros
  Presplit presplit = Presplit::heap;              // published circular lists
  ChunkSearch chunk_search = ChunkSearch::spread;  // Ouroboros
  bool operator==(const AllocatorSizes&) const = default;
};

// These throw Error{Exit::usage} with the expected values.
Presplit parse_presplit(const std::string& text);
ChunkSearch parse_chunk_search(const std::string& text);

// --smallest-chunk, --presplit, --chunk-bytes, --queue-slots, --chunk-search
void add_allocator_sizes(CLI::App& app, AllocatorSizes& sizes);
alloc::AllocatorOptions allocator_sizes(const AllocatorSizes& sizes);

}  // namespace heapwood::bench
