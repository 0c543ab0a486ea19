// SPDX-License-Identifier: MIT
// The list of items, with the papers' parameters if given. RegEff's ranges are taken at powers of
// two.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/reproduce/reproduce.hpp"

namespace heapwood::bench {

namespace {

// RegEff table 3: scenes that fit the paper's pool of 200 root nodes without frees.
const std::vector<PaperScene> small_scenes{{"Hand", "hand", "statue:20k"},
                                           {"Sponza", "sponza", "atrium:76k"},
                                           {"Sibenik", "sibenik", "atrium:80k"},
                                           {"Fairy Forest", "fairy_forest", "stadium:174k"},
                                           {"Crytek Sponza", "crytek_sponza", "atrium:262k"},
                                           {"Conference", "conference", "pipes:283k"},
                                           {"Armadillo", "armadillo", "statue:307k"}};
const std::vector<PaperScene> medium_scenes{{"Dragon", "dragon", "statue:871k"},
                                            {"Happy Buddha", "happy_buddha", "statue:1087k"},
                                            {"Blade", "blade", "statue:1765k"},
                                            {"Sodahall", "sodahall", "atrium:2169k"}};
const std::vector<PaperScene> large_scenes{{"House 3x3", "house", "atrium:3275k"},
                                           {"Asian Dragon", "asian_dragon", "statue:7219k"},
                                           {"San Miguel", "san_miguel", "stadium:7881k"},
                                           {"MPII subset", "mpii", "atrium:10762k"},
                                           {"Powerplant", "powerplant", "pipes:12749k"}};
const std::vector<PaperScene> growing_scenes{
    {"10K", "", "atrium:10k"},   {"30K", "", "atrium:30k"}, {"100K", "", "atrium:100k"},
    {"300K", "", "atrium:300k"}, {"1M", "", "atrium:1m"},   {"3M", "", "atrium:3m"}};
const std::vector<PaperScene> own_scenes{{"atrium", "", "atrium:200k"},
                                         {"statue", "", "statue:200k"},
                                         {"stadium", "", "stadium:200k"},
                                         {"pipes", "", "pipes:200k"}};

// Meshes if available, else procedural scenes of the same sizes.
const std::vector<PaperScene> traced_scenes{{"Sponza", "sponza", "atrium:76k"},
                                            {"Conference", "conference", "pipes:283k"},
                                            {"Happy Buddha", "happy_buddha", "statue:1087k"},
                                            {"atrium", "", "atrium:200k"},
                                            {"statue", "", "statue:200k"},
                                            {"stadium", "", "stadium:200k"},
                                            {"pipes", "", "pipes:200k"}};

const char* const sizes = "16,32,64,128,256,512,1K,2K,4K,8K";

Experiment scaling(const char* payload) {
  return generic_test({.test = "scaling",
                       .full = {.payload = payload},
                       .quick = {.payload = payload, .requests = "1,100,10K"},
                       .runs = 3,
                       .rounds = 2});
}

// In the order of the changes (docs/allocators.md).
const char* const ablation_steps =
    "cfmmalloc-published,cfmmalloc-table,cfmmalloc-draws,cfmmalloc-ungrouped,cfmmalloc";

// ScatterAlloc's three page sizes of RegEff tables 3 and 4, a case for each scene and size.
std::vector<Experiment> pages_of_scatter(const std::vector<PaperScene>& full,
                                         const std::vector<PaperScene>& quick, const char* pool,
                                         int runs) {
  std::vector<Experiment> experiments;
  for (const std::size_t page : {4096, 8192, 16384}) {
    experiments.push_back(builds({.full = full,
                                  .quick = quick,
                                  .refs = kdtree::RefKind::ids,
                                  .pool = pool,
                                  .runs = runs,
                                  .only = "scatter",
                                  .requests_of_all = false,
                                  .page_bytes = page}));
  }
  return experiments;
}

// The paper's sizes, 8 bytes to 512 KiB. The smallest block has 16 bytes, also for requests of 8.
const char* const exhausting = "512K,256K,128K,64K,32K,16K,8K,4K,2K,1K,512,256,128,64,32,16,8";

std::vector<ReproduceItem> regeff() {
  const Experiment ad = generic_test({.test = "ad",
                                      .full = {.payload = "sweep", .blocks = "120,fill"},
                                      .quick = {.payload = "4,64,1K,16K"},
                                      .memory = true});
  return {
      {"regeff-t1", "RegEff", "Table 1", "Registers of a malloc and a free", {registers()}},
      {"regeff-t2",
       "RegEff",
       "Table 2",
       "Settings of the generic tests; calls of P",
       {generic_test({.test = "p", .full = {.blocks = "120"}, .quick = {.blocks = "120"}}),
        generic_test({.test = "p",
                      .full = {.blocks = "120"},
                      .quick = {.blocks = "120"},
                      .probability = 0.25})}},
      {"regeff-3a", "RegEff", "Figure 3(a)", "Alloc Dealloc over the payload", {ad}},
      {"regeff-3b",
       "RegEff",
       "Figure 3(b)",
       "Alloc Cycle Dealloc over the pool",
       {generic_test({.test = "acd",
                      .full = {.payload = "4", .pool = "sweep", .blocks = "120"},
                      .quick = {.payload = "4", .pool = "1M,8M,64M"},
                      .memory = true})}},
      {"regeff-3c",
       "RegEff",
       "Figure 3(c)",
       "Alloc Cycle Dealloc over successive allocations",
       {generic_test({.test = "acd",
                      .full = {.payload = "4", .iterations = "sweep", .blocks = "120,fill"},
                      .quick = {.payload = "4", .iterations = "10,40,100"}})}},
      {"regeff-3d",
       "RegEff",
       "Figure 3(d)",
       "Probability over the number of blocks",
       {generic_test({.test = "p",
                      .full = {.blocks = "1,2,4,8,15,30,60,90,120,fill"},
                      .quick = {.blocks = "1,8,30,120"}})}},
      {"regeff-3d-quarter",
       "RegEff",
       "Figure 3(d), probability 1/4",
       "The same with the probability that gives the calls of table 2",
       {generic_test({.test = "p",
                      .full = {.blocks = "1,2,4,8,15,30,60,90,120,fill"},
                      .quick = {.blocks = "1,8,30,120"},
                      .probability = 0.25})}},
      {"regeff-4",
       "RegEff",
       "Figure 4",
       "ScatterAlloc's pages in Alloc Cycle Dealloc",
       {generic_test(
           {.test = "acd",
            .full = {.payload = "16,64,256,1K,4K,16K,128K", .blocks = "120", .page_bytes = "sweep"},
            .quick = {.payload = "16,1K", .page_bytes = "4K,16K"},
            .only = "scatter"})}},
      {"regeff-coalesced",
       "RegEff",
       "Section 6, coalescing",
       "Alloc Dealloc by one lane per warp through the coalescing adaptor",
       {generic_test({.test = "ad",
                      .full = {.payload = "16,256,4K", .blocks = "120"},
                      .quick = {.payload = "64"},
                      .coalesced = true})}},
      {"regeff-large",
       "RegEff",
       "Figure 3(a), large requests",
       "Alloc Dealloc with large requests passed to the device's malloc, as published",
       {generic_test({.test = "ad",
                      .full = {.payload = "64,1K,4K,16K,128K", .blocks = "120"},
                      .quick = {.payload = "64,16K"},
                      .only = "scatter,halloc,xmalloc",
                      .builtin = true})}},
      {"regeff-t3",
       "RegEff",
       "Table 3",
       "Builds with a pool of 200 root nodes",
       {builds({small_scenes,
                {{"Hand", "", "statue:5k"}, {"Sponza", "", "atrium:10k"}},
                kdtree::RefKind::ids,
                "200x"}),
        builds({.full = medium_scenes,
                .quick = {},
                .refs = kdtree::RefKind::ids,
                .pool = "200x",
                .runs = 3,
                .requests_of_all = false})}},
      {"regeff-t3-pages", "RegEff", "Table 3, page sizes",
       "Builds with pages of 4, 8 and 16 KiB of ScatterAlloc",
       pages_of_scatter(small_scenes, {{"Sponza", "", "atrium:10k"}}, "200x", 5)},
      {"regeff-t4",
       "RegEff",
       "Table 4",
       "Builds with a pool of 20 root nodes",
       {builds({.full = large_scenes,
                .quick = {{"House 3x3", "", "atrium:10k"}},
                .refs = kdtree::RefKind::ids,
                .pool = "20x",
                .runs = 1,
                .only = "atomic,awmalloc-safe,cmalloc,cfmalloc,cmmalloc,cfmmalloc,"
                        "cmalloc-published,cfmalloc-published,cmmalloc-published,"
                        "cfmmalloc-published,scatter,halloc,halloc-builtin,ouroboros-p-s,"
                        "heapwood,heapwood-general,cuda",
                .requests_of_all = false,
                .time_factor = 2})}},
      {"regeff-t4-pages", "RegEff", "Table 4, page sizes",
       "Builds of large scenes with pages of 4, 8 and 16 KiB of ScatterAlloc",
       pages_of_scatter({large_scenes.begin(), large_scenes.begin() + 3},
                        {{"House 3x3", "", "atrium:10k"}}, "20x", 1)},
      {"regeff-recorded",
       "RegEff",
       "Section 8, builds",
       "Internal fragmentation during builds, from recordings",
       {recorded_builds(
           {.full = {{"Hand", "hand", "statue:20k"}, {"Sponza", "sponza", "atrium:76k"}},
            .quick = {{"Hand", "", "statue:5k"}},
            .refs = kdtree::RefKind::ids,
            .pool = "200x"})}},
      {"regeff-5a", "RegEff", "Figure 5(a)", "Internal fragmentation over the payload", {ad}},
      {"regeff-5b", "RegEff", "Figure 5(b)", "External fragmentation over the payload", {ad}},
      {"regeff-uniform",
       "RegEff",
       "Section 8, pre-split",
       "External fragmentation with a pre-split into chunks of one size",
       {generic_test({.test = "ad",
                      .full = {.payload = "4,64,256,1K,4K,16K,128K", .blocks = "120"},
                      .quick = {.payload = "4,64,1K"},
                      .only = "cmalloc-published,cfmalloc-published,cmmalloc-published,"
                              "cfmmalloc-published",
                      .memory = true,
                      .presplit = Presplit::uniform})},
       registry::find("cmalloc-published")
           ? ""
           : "the published lists are not compiled: configure with -DHEAPWOOD_PUBLISHED=ON"},
      {"regeff-t5",
       "RegEff",
       "Table 5",
       "Properties of the allocators: from tables 1 and 3, figures 3(a) and 3(c)",
       {}},
  };
}

// Ouroboros table 1, without nlpkkt200, nlpkkt240 and europe_osm, which the host takes too long to
// generate and inspect.
const std::vector<PaperGraph> paper_graphs{
    {"luxembourg_osm", "road:115k"},      {"coAuthorsCiteseer", "cliques:227k"},
    {"coAuthorsDBLP", "cliques:299k:2"},  {"delaunay_n20", "delaunay:1048576"},
    {"rgg_n_2_20_s0", "rgg:1048576"},     {"hugetric-00000", "honeycomb:5825k"},
    {"germany_osm", "road:11549k"},       {"ldoor", "grid3d:952k:2"},
    {"delaunay_n23", "delaunay:8388608"}, {"audikw_1", "grid3d:944k:3"},
    {"nlpkkt120", "grid3d:3542k"}};
const std::vector<PaperGraph> quick_graphs{
    {"luxembourg_osm", "road:3k"}, {"rgg_n_2_20_s0", "rgg:2k"}, {"nlpkkt120", "grid3d:1k"}};
// The paper's, and the fastest of other families.
const char* const graph_allocators =
    "cfmmalloc,scatter,halloc,ouroboros-p-s,ouroboros-p-va,ouroboros-p-vl,ouroboros-c-s,"
    "ouroboros-c-va,ouroboros-c-vl,bulk,heapwood,cuda";

std::vector<ReproduceItem> ouroboros_graphs() {
  const Experiment random = graphs({.full = paper_graphs,
                                    .quick = quick_graphs,
                                    .phases = "pagerank,triangles,insert,delete",
                                    .only = graph_allocators}),
                   pressure = graphs({.full = paper_graphs,
                                      .quick = quick_graphs,
                                      .phases = "insert,delete",
                                      .updates = GraphUpdates::pressure,
                                      .only = graph_allocators}),
                   counted = graphs({.full = paper_graphs,
                                     .quick = quick_graphs,
                                     .phases = "init",
                                     .init = GraphInit::counted,
                                     .layouts = "blocks",
                                     .only = graph_allocators});
  return {
      {"ouroboros-graph-init",
       "Ouroboros",
       "Figure 4, top left",
       "Initialization of a dynamic graph",
       {random, counted}},
      {"ouroboros-graph-memory",
       "Ouroboros",
       "Figure 4, top right",
       "Memory of a dynamic graph after initialization",
       {random}},
      {"ouroboros-graph-updates",
       "Ouroboros",
       "Figure 4, middle",
       "Insertion and deletion of 100,000 edges, random and within 1,000 vertices",
       {random, pressure}},
      {"ouroboros-graph-pagerank",
       "Ouroboros",
       "Figure 4, bottom left",
       "PageRank on the adjacencies of each allocator and layout",
       {random}},
      {"ouroboros-graph-triangles",
       "Ouroboros",
       "Figure 4, bottom right",
       "Triangle counting on the adjacencies of each allocator and layout",
       {random}},
  };
}

std::vector<ReproduceItem> ouroboros() {
  const auto top = [](const char* requests, const char* quick) {
    return std::vector<Experiment>{
        generic_test({.test = "alloc",
                      .full = {.payload = sizes, .requests = requests},
                      .quick = {.payload = "16,256,4K", .requests = quick},
                      .runs = 3}),
        // The paper's means of 100 runs are mostly of memory that earlier runs have freed.
        generic_test({.test = "alloc",
                      .full = {.payload = sizes, .requests = requests},
                      .quick = {.payload = "16,256,4K", .requests = quick},
                      .runs = 3,
                      .rounds = 2}),
        generic_test({.test = "mixed",
                      .full = {.requests = requests},
                      .quick = {.requests = quick},
                      .runs = 3,
                      .rounds = 2})};
  };
  return {
      {"ouroboros-10k", "Ouroboros", "Figure 3, top left", "10,000 allocations over the size",
       top("10K", "1K")},
      {"ouroboros-100k", "Ouroboros", "Figure 3, top right", "100,000 allocations over the size",
       top("100K", "5K")},
      {"ouroboros-32",
       "Ouroboros",
       "Figure 3, 32 B",
       "32 bytes over the number of threads",
       {scaling("32")}},
      {"ouroboros-128",
       "Ouroboros",
       "Figure 3, 128 B",
       "128 bytes over the number of threads",
       {scaling("128")}},
      {"ouroboros-1k",
       "Ouroboros",
       "Figure 3, 1 KiB",
       "1 KiB over the number of threads",
       {scaling("1K")}},
      {"ouroboros-8k",
       "Ouroboros",
       "Figure 3, 8 KiB",
       "8 KiB over the number of threads",
       {scaling("8K")}},
      {"ouroboros-range",
       "Ouroboros",
       "Figure 3, bottom left",
       "Address range of 100,000 allocations",
       {generic_test({.test = "range",
                      .full = {.payload = sizes, .iterations = "10"},
                      .quick = {.payload = "16,256", .iterations = "5", .requests = "2K"},
                      .runs = 1})}},
      {"ouroboros-churn",
       "Ouroboros",
       "Figure 3, bottom right",
       "Address range while half is freed, until the pool is exhausted",
       {generic_test({.test = "churn",
                      .full = {.pool = "512M"},
                      .quick = {.pool = "2M", .requests = "2K"},
                      .only = "atomic,scatter,halloc,ouroboros-p-s,ouroboros-p-va,ouroboros-p-vl,"
                              "ouroboros-c-s,ouroboros-c-va,ouroboros-c-vl,bulk,heapwood,cuda",
                      .runs = 1,
                      .time_factor = 5})}},
      {"ouroboros-utilization",
       "Ouroboros",
       "Section 6.1.3",
       "Part of the memory usable by 16-byte blocks",
       {generic_test({.test = "utilization",
                      .full = {},
                      .quick = {.pool = "4M"},
                      .runs = 1,
                      .time_factor = 2})}},
  };
}

std::vector<ReproduceItem> others() {
  const Experiment own = builds({own_scenes,
                                 {{"atrium", "", "atrium:10k"}, {"statue", "", "statue:10k"}},
                                 kdtree::RefKind::clipped,
                                 "auto"});
  return {
      {"bulk-5",
       "Bulk",
       "Figure 5",
       "Two-stage allocation by counting and bulk semaphores",
       {primitive_test(Primitive::semaphore)}},
      {"bulk-6",
       "Bulk",
       "Figure 6",
       "RCU with delegation against one barrier per writer",
       {primitive_test(Primitive::rcu)}},
      {"bulk-7",
       "Bulk",
       "Figure 7",
       "Allocations per second until the pool is exhausted",
       {generic_test({.test = "exhaust",
                      .full = {.payload = exhausting},
                      .quick = {.payload = "16K,2K,256,16", .pool = "4M"},
                      .only = "atomic,halloc,scatter,ouroboros-p-s,bulk,heapwood,cuda",
                      .runs = 3})}},
      {"host-3",
       "Host-managed",
       "Figure 3",
       "Latency of malloc and free on the host",
       {host_managed()}},
      {"host-4", "Host-managed", "Figure 4", "Memory in use and memory mapped", {host_managed()}},
      {"own-triangles",
       "Heapwood",
       "Build time",
       "Build time over the number of triangles",
       {builds({growing_scenes,
                {{"2K", "", "atrium:2k"}, {"5K", "", "atrium:5k"}, {"10K", "", "atrium:10k"}},
                kdtree::RefKind::clipped,
                "auto"})}},
      {"own-builder",
       "Heapwood",
       "Builders",
       "One kernel against kernels for each level",
       {builds({own_scenes,
                {{"atrium", "", "atrium:10k"}},
                kdtree::RefKind::clipped,
                "auto",
                5,
                "atomic,awmalloc-safe,cfmmalloc,cmalloc-published,cfmalloc-published,"
                "cmmalloc-published,cfmmalloc-published,halloc-builtin,scatter-builtin,heapwood,"
                "heapwood-general",
                true})}},
      {"own-slowdown",
       "Heapwood",
       "Slowdown",
       "Slowdown with every allocator, clipped refs",
       {own}},
      {"own-share",
       "Heapwood",
       "Share",
       "Lower bound of the share of allocation in a build",
       {own}},
      {"own-ablation",
       "Heapwood",
       "Ablation",
       "From the published CFMMalloc to the redesigned one, one change at a time",
       {generic_test({.test = "ad",
                      .full = {.payload = "16,256,4K", .blocks = "120"},
                      .quick = {.payload = "64"},
                      .only = ablation_steps,
                      .memory = true}),
        generic_test({.test = "acd",
                      .full = {.payload = "4", .iterations = "10,100", .blocks = "120"},
                      .quick = {.payload = "4", .iterations = "10"},
                      .only = ablation_steps}),
        builds({.full = own_scenes,
                .quick = {{"atrium", "", "atrium:10k"}},
                .refs = kdtree::RefKind::clipped,
                .pool = "auto",
                .only = ablation_steps})}},
      {"own-pools",
       "Heapwood",
       "Pools",
       "Slowdown over the size of the pool",
       {builds({.full = {own_scenes.begin(), own_scenes.begin() + 2},
                .quick = {{"atrium", "", "atrium:10k"}},
                .refs = kdtree::RefKind::clipped,
                .pool = "live:2,live:4,live:8,20x,200x,fast",
                .runs = 3,
                .requests_of_all = false})}},
      {"own-profile",
       "Heapwood",
       "Profile",
       "Time of the warps by phase, and the share of the allocator",
       {profiles({{"Conference", "conference", "pipes:283k"}, {"atrium", "", "atrium:200k"}},
                 {{"atrium", "", "atrium:10k"}})}},
      {"own-pool",
       "Heapwood",
       "The pool",
       "Memory in use and fragmentation over a build",
       {recorded_builds(
           {.full = {{"atrium", "", "atrium:50k"}}, .quick = {{"atrium", "", "atrium:5k"}}})}},
      {"own-trace",
       "Heapwood",
       "Rays",
       "Rays per second through the tree",
       {traces(traced_scenes, {{"atrium", "", "atrium:5k"}, {"statue", "", "statue:5k"}})}},
  };
}

std::string group(const ReproduceItem& item) {
  const std::string id = item.id;
  return id.substr(0, id.find('-'));
}

}  // namespace

const std::vector<ReproduceItem>& reproduce_items() {
  static const std::vector<ReproduceItem> items = [] {
    std::vector<ReproduceItem> all = regeff();
    for (std::vector<ReproduceItem>& more : std::array{ouroboros(), ouroboros_graphs(), others()})
      std::move(more.begin(), more.end(), std::back_inserter(all));
    return all;
  }();
  return items;
}

std::vector<const ReproduceItem*> find_items(const std::string& list) {
  std::set<std::string> asked;
  for (const std::string& part : split(list, ',')) asked.insert(part);
  std::set<std::string> unknown = asked;
  unknown.erase("all");
  std::vector<const ReproduceItem*> found;
  for (const ReproduceItem& item : reproduce_items()) {
    unknown.erase(item.id);
    unknown.erase(group(item));
    if (asked.contains("all") || asked.contains(item.id) || asked.contains(group(item)))
      found.push_back(&item);
  }
  if (unknown.empty()) return found;
  throw Error(Exit::usage, fmt::format("reproduce: unknown item '{}': use all, a group (regeff, "
                                       "ouroboros, bulk, host, own) or an "
                                       "item of 'heapwood reproduce --list'",
                                       *unknown.begin()));
}

std::vector<ReproduceCase> reproduce_cases(const std::vector<const ReproduceItem*>& items,
                                           const ReproduceSetup& setup) {
  std::vector<ReproduceCase> cases;
  std::set<std::string> keys;
  for (const ReproduceItem* item : items) {
    for (const Experiment& experiment : item->experiments) {
      for (ReproduceCase& one : experiment(setup)) {
        if (keys.insert(one.key).second) cases.push_back(std::move(one));
      }
    }
  }
  return cases;
}

}  // namespace heapwood::bench
