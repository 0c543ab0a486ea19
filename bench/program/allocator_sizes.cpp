// SPDX-License-Identifier: MIT
#include "bench/program/allocator_sizes.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <bit>

#include "bench/program/options.hpp"

namespace heapwood::bench {

const char* name(Presplit presplit) { return presplit == Presplit::uniform ? "uniform" : "heap"; }
const char* name(ChunkSearch search) { return search == ChunkSearch::lowest ? "lowest" : "spread"; }

Presplit parse_presplit(const std::string& text) {
  for (const Presplit presplit : {Presplit::heap, Presplit::uniform}) {
    if (text == name(presplit)) return presplit;
  }
  throw_unexpected("--presplit", text, "heap or uniform");
}

ChunkSearch parse_chunk_search(const std::string& text) {
  for (const ChunkSearch search : {ChunkSearch::spread, ChunkSearch::lowest}) {
    if (text == name(search)) return search;
  }
  throw_unexpected("--chunk-search", text, "spread or lowest");
}

void add_allocator_sizes(CLI::App& app, AllocatorSizes& sizes) {
  const auto add_power = [&](const char* option, std::size_t& size, std::size_t min,
                             std::size_t max, const char* about) {
    app.add_option_function<std::string>(
           option,
           [&size, option, min, max](const std::string& text) {
             size = parse_bytes(text);
             if (std::has_single_bit(size) && size >= min && size <= max) return;
             throw_unexpected(option, text,
                              fmt::format("a power of two from {} to {} bytes", min, max));
           },
           about)
        ->type_name("SIZE");
  };
  add_power("--smallest-chunk", sizes.smallest_chunk, 16, std::size_t{1} << 30,
            "circular lists: smallest chunk of the pre-split;\ndefault: chosen by them, published: "
            "16");
  app.add_option_function<std::string>(
         "--presplit", [&sizes](const std::string& text) { sizes.presplit = parse_presplit(text); },
         "published circular lists: heap (equation 1) or\nuniform, chunks of the size of "
         "--smallest-chunk,\ndefault 1/1024 of the pool or less; larger requests\nare refused")
      ->default_str("heap")
      ->type_name("SHAPE");
  add_power("--chunk-bytes", sizes.chunk_bytes, 256, 8192,
            "Ouroboros: bytes of a chunk; default: 8K, less in a\nsmall pool");
  app.add_option("--queue-slots", sizes.queue_slots,
                 "Ouroboros: max slots of a class's queue of pages;\ndefault: by the pool's size")
      ->transform(between(32, 1 << 28))
      ->type_name("N");
  app.add_option_function<std::string>(
         "--chunk-search",
         [&sizes](const std::string& text) { sizes.chunk_search = parse_chunk_search(text); },
         "Ouroboros: where a search for a free chunk starts:\nspread (hashed per thread) or lowest "
         "(the first one)")
      ->default_str("spread")
      ->type_name("ORDER");
}

alloc::AllocatorOptions allocator_sizes(const AllocatorSizes& sizes) {
  return {.smallest_chunk = sizes.smallest_chunk,
          .presplit = sizes.presplit,
          .chunk_bytes = sizes.chunk_bytes,
          .queue_slots = sizes.queue_slots,
          .chunk_search = sizes.chunk_search};
}

}  // namespace heapwood::bench
