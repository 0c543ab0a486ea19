// SPDX-License-Identifier: MIT
// Shared by the fuzzers of mesh files: each input gives a valid mesh or Error{Exit::scene} with a
// one-line text; otherwise the process aborts.
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I. \
//     tests/fuzz/fuzz_ply.cpp scenes/{ply,ply_header,faces,polygon,ear_clipping,mesh,file}.cpp \
//     -o fuzz_ply && ./fuzz_ply -max_len=4096 -max_total_time=60 -rss_limit_mb=1024
// fuzz_obj needs scenes/{obj,obj_lines,mtl,texture_files,faces,polygon,ear_clipping,mesh,file}.cpp,
// geometry/picture_file.cpp and tinyobjloader, all with -DTINYOBJLOADER_USE_DOUBLE. fuzz_cache
// needs scenes/{cache,mesh,file}.cpp and -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION, which disables
// the checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "scenes/mesh.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes {

template <class Parse>
int fuzz(Parse parse) {
  try {
    check(parse(), "the result");
  } catch (const Error& error) {
    const std::string_view text = error.what();
    const bool fine = error.exit() == Exit::scene && text.starts_with("file: ") &&
                      text.size() < 1000 && text.find_first_of("\r\n") == std::string_view::npos;
    if (!fine) std::abort();
  }
  return 0;
}

}  // namespace heapwood::scenes
