// SPDX-License-Identifier: MIT
#include "bench/results/bench_table.hpp"
#include "bench/results/json_columns.hpp"
#include "bench/results/json_report.hpp"

namespace heapwood::bench {

const char* const bench_columns =
    "scene triangles allocator label lower_bound builder refs=settings/refs status reason "
    "runs=runs_ms# median_ms q1_ms q3_ms reset_ms~ slowdown slowdown_over "
    "refs_per_triangle=tree/refs_per_triangle sah_cost=tree/sah_cost "
    "sah_cost_1_1=tree/sah_cost_1_1 nodes=tree/nodes leaves=tree/leaves depth=tree/depth "
    "hash=tree/hash allocations=allocations/count mean_bytes=allocations/mean_bytes "
    "sigma_bytes=allocations/sigma_bytes pool_bytes=memory/pool_bytes "
    "high_water_bytes=memory/high_water_bytes "
    "internal_fragmentation=memory/internal_fragmentation "
    "external_fragmentation=memory/external_fragmentation registers levels=per_level/levels "
    "launches=per_level/launches host_allocations=per_level/host_allocations "
    "host_allocation_share=per_level/host_allocation_share peak_bytes=memory/peak_bytes "
    "mapped_bytes=memory/mapped_bytes tree_bytes=memory/tree_bytes source";

Table flat_table(const std::vector<Result>& results) {
  Json json = Json::array();
  for (const Result& result : results) json.push_back(to_json(result));
  return table_of_json(json, bench_columns);
}

}  // namespace heapwood::bench
