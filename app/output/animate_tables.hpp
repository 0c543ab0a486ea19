// SPDX-License-Identifier: MIT
// The tables of `heapwood animate`.
#pragma once

#include <vector>

#include "bench/animate_bench.hpp"
#include "bench/results/table.hpp"

namespace heapwood::app {

// One row per allocator: the medians of the parts of a frame.
bench::Table animate_time_table(const std::vector<bench::AnimateRow>& rows);
// The pools after the first and the last frame; without columns if no pool was kept.
bench::Table animate_pool_table(const std::vector<bench::AnimateRow>& rows);
// For CSV: one line per allocator (bench/results/json_columns.hpp).
inline constexpr const char* animate_columns =
    "scene source allocator status reason frames=frame_ms#|0 min_triangles max_triangles "
    "width=settings/width height=settings/height keep_pool=settings/keep_pool pool_bytes "
    "incomplete_frames|0 upload_median_ms upload_p99_ms reset_median_ms reset_p99_ms "
    "build_median_ms build_p99_ms records_median_ms records_p99_ms primary_median_ms "
    "primary_p99_ms shaded_median_ms shaded_p99_ms frame_median_ms frame_p99_ms frames_per_second "
    "first_external_fragmentation_merged=pool_after_frames/0/external_fragmentation_merged "
    "last_external_fragmentation_merged=pool_after_frames/-1/external_fragmentation_merged";
// How it was measured, for the lines below the tables.
std::vector<std::string> animate_method_lines(const std::vector<bench::AnimateRow>& rows);

}  // namespace heapwood::app
