// SPDX-License-Identifier: MIT
// The items, as text: a line with id, paper, figure and title, then its experiments, one per line,
// in the words of the commands that measure them (reproduce.hpp), with the papers' parameters if
// given and, after the bar, those of the quick run. RegEff's ranges are taken at powers of two.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "bench/reproduce/case_results.hpp"

namespace heapwood::bench {

namespace {

// In experiments, $name stands for a text. Scenes are name/file/stand-in: a mesh of the paper if it
// is there, else a procedural scene of the same size; + stands for a space.
const std::map<std::string, std::string> texts{
    // RegEff table 3: scenes that fit the paper's pool of 200 root nodes without frees.
    {"small",
     "Hand/hand/statue:20k,Sponza/sponza/atrium:76k,Sibenik/sibenik/atrium:80k,"
     "Fairy+Forest/fairy_forest/stadium:174k,Crytek+Sponza/crytek_sponza/atrium:262k,"
     "Conference/conference/pipes:283k,Armadillo/armadillo/statue:307k"},
    {"medium",
     "Dragon/dragon/statue:871k,Happy+Buddha/happy_buddha/statue:1087k,Blade/blade/statue:1765k,"
     "Sodahall/sodahall/atrium:2169k"},
    {"large3",
     "House+3x3/house/atrium:3275k,Asian+Dragon/asian_dragon/statue:7219k,"
     "San+Miguel/san_miguel/stadium:7881k"},
    {"large2", "MPII+subset/mpii/atrium:10762k,Powerplant/powerplant/pipes:12749k"},
    {"own2", "atrium//atrium:200k,statue//statue:200k"},
    {"own", "$own2,stadium//stadium:200k,pipes//pipes:200k"},
    // Ouroboros table 1, without nlpkkt200, nlpkkt240 and europe_osm, which the host takes too long
    // to generate and inspect. Graphs are name/stand-in.
    {"graphs",
     "luxembourg_osm/road:115k,coAuthorsCiteseer/cliques:227k,coAuthorsDBLP/cliques:299k:2,"
     "delaunay_n20/delaunay:1048576,rgg_n_2_20_s0/rgg:1048576,hugetric-00000/honeycomb:5825k,"
     "germany_osm/road:11549k,ldoor/grid3d:952k:2,delaunay_n23/delaunay:8388608,"
     "audikw_1/grid3d:944k:3,nlpkkt120/grid3d:3542k"},
    {"quick_graphs", "luxembourg_osm/road:3k,rgg_n_2_20_s0/rgg:2k,nlpkkt120/grid3d:1k"},
    {"sizes", "16,32,64,128,256,512,1K,2K,4K,8K"},
    // Of bulk, 8 bytes to 512 KiB. The smallest block has 16 bytes, also for requests of 8.
    {"exhausting", "512K,256K,128K,64K,32K,16K,8K,4K,2K,1K,512,256,128,64,32,16,8"},
    {"ouroboros",
     "ouroboros-p-s,ouroboros-p-va,ouroboros-p-vl,ouroboros-c-s,ouroboros-c-va,ouroboros-c-vl"},
    // The paper's, and the fastest of other families.
    {"of_graphs", "cfmmalloc,scatter,halloc,$ouroboros,bulk,heapwood,cuda"},
    {"published", "cmalloc-published,cfmalloc-published,cmmalloc-published,cfmmalloc-published"},
    // In the order of the changes (docs/allocators.md).
    {"ablation",
     "cfmmalloc-published,cfmmalloc-table,cfmmalloc-draws,cfmmalloc-ungrouped,cfmmalloc"},
    {"ad", "stress ad payload=sweep blocks=120,fill memory | payload=4,64,1K,16K"},
    {"own_builds",
     "build scenes=$own refs=clipped pool=auto | scenes=atrium//atrium:10k,statue//statue:10k"},
    {"random",
     "graph graphs=$graphs phases=pagerank,triangles,insert,delete only=$of_graphs | "
     "graphs=$quick_graphs"},
    {"pressure",
     "graph graphs=$graphs phases=insert,delete updates=pressure only=$of_graphs | "
     "graphs=$quick_graphs"},
    {"counted",
     "graph graphs=$graphs phases=init init=counted layouts=blocks only=$of_graphs | "
     "graphs=$quick_graphs"},
    // The paper's means of 100 runs are mostly of memory that earlier runs have freed: round 2.
    {"t3_pages", "build scenes=$small refs=ids pool=200x only=scatter one"},
    {"t4_pages", "build scenes=$large3 refs=ids pool=20x runs=1 only=scatter one"},
    {"scaling", "stress scaling runs=3 rounds=2"},
    {"alloc", "stress alloc payload=$sizes runs=3"},
};

constexpr const char* items_text = R"(
regeff-t1 | RegEff | Table 1 | Registers of a malloc and a free
  registers
regeff-t2 | RegEff | Table 2 | Settings of the generic tests; calls of P
  stress p blocks=120 | blocks=120
  stress p blocks=120 probability=0.25 | blocks=120
regeff-3a | RegEff | Figure 3(a) | Alloc Dealloc over the payload
  $ad
regeff-3b | RegEff | Figure 3(b) | Alloc Cycle Dealloc over the pool
  stress acd payload=4 pool=sweep blocks=120 memory | payload=4 pool=1M,8M,64M
regeff-3c | RegEff | Figure 3(c) | Alloc Cycle Dealloc over successive allocations
  stress acd payload=4 iterations=sweep blocks=120,fill | payload=4 iterations=10,40,100
regeff-3d | RegEff | Figure 3(d) | Probability over the number of blocks
  stress p blocks=1,2,4,8,15,30,60,90,120,fill | blocks=1,8,30,120
regeff-3d-quarter | RegEff | Figure 3(d), probability 1/4
    | The same with the probability that gives the calls of table 2
  stress p blocks=1,2,4,8,15,30,60,90,120,fill probability=0.25 | blocks=1,8,30,120
regeff-4 | RegEff | Figure 4 | ScatterAlloc's pages in Alloc Cycle Dealloc
  stress acd payload=16,64,256,1K,4K,16K,128K blocks=120 page=sweep only=scatter
    | payload=16,1K page=4K,16K
regeff-coalesced | RegEff | Section 6, coalescing
    | Alloc Dealloc by one lane per warp through the coalescing adaptor
  stress ad payload=16,256,4K blocks=120 coalesced | payload=64
regeff-large | RegEff | Figure 3(a), large requests
    | Alloc Dealloc with large requests passed to the device's malloc, as published
  stress ad payload=64,1K,4K,16K,128K blocks=120 only=scatter,halloc,xmalloc builtin
    | payload=64,16K
regeff-t3 | RegEff | Table 3 | Builds with a pool of 200 root nodes
  build scenes=$small refs=ids pool=200x | scenes=Hand//statue:5k,Sponza//atrium:10k
  build scenes=$medium refs=ids pool=200x runs=3 one
regeff-t3-pages | RegEff | Table 3, page sizes
    | Builds with pages of 4, 8 and 16 KiB of ScatterAlloc
  $t3_pages page=4096 | scenes=Sponza//atrium:10k
  $t3_pages page=8192 | scenes=Sponza//atrium:10k
  $t3_pages page=16384 | scenes=Sponza//atrium:10k
regeff-t4 | RegEff | Table 4 | Builds with a pool of 20 root nodes
  build scenes=$large3,$large2 refs=ids pool=20x runs=1 one time=2
    only=atomic,awmalloc-safe,cmalloc,cfmalloc,cmmalloc,cfmmalloc,$published,scatter,halloc,
    halloc-builtin,ouroboros-p-s,heapwood,heapwood-general,cuda
    | scenes=House+3x3//atrium:10k
regeff-t4-pages | RegEff | Table 4, page sizes
    | Builds of large scenes with pages of 4, 8 and 16 KiB of ScatterAlloc
  $t4_pages page=4096 | scenes=House+3x3//atrium:10k
  $t4_pages page=8192 | scenes=House+3x3//atrium:10k
  $t4_pages page=16384 | scenes=House+3x3//atrium:10k
regeff-recorded | RegEff | Section 8, builds
    | Internal fragmentation during builds, from recordings
  recorded scenes=Hand/hand/statue:20k,Sponza/sponza/atrium:76k refs=ids pool=200x
    | scenes=Hand//statue:5k
regeff-5a | RegEff | Figure 5(a) | Internal fragmentation over the payload
  $ad
regeff-5b | RegEff | Figure 5(b) | External fragmentation over the payload
  $ad
regeff-uniform | RegEff | Section 8, pre-split
    | External fragmentation with a pre-split into chunks of one size
  stress ad payload=4,64,256,1K,4K,16K,128K blocks=120 only=$published memory presplit=uniform
    | payload=4,64,1K
regeff-t5 | RegEff | Table 5
    | Properties of the allocators: from tables 1 and 3, figures 3(a) and 3(c)

ouroboros-10k | Ouroboros | Figure 3, top left | 10,000 allocations over the size
  $alloc requests=10K | payload=16,256,4K requests=1K
  $alloc requests=10K rounds=2 | payload=16,256,4K requests=1K
  stress mixed requests=10K runs=3 rounds=2 | requests=1K
ouroboros-100k | Ouroboros | Figure 3, top right | 100,000 allocations over the size
  $alloc requests=100K | payload=16,256,4K requests=5K
  $alloc requests=100K rounds=2 | payload=16,256,4K requests=5K
  stress mixed requests=100K runs=3 rounds=2 | requests=5K
ouroboros-32 | Ouroboros | Figure 3, 32 B | 32 bytes over the number of threads
  $scaling payload=32 | payload=32 requests=1,100,10K
ouroboros-128 | Ouroboros | Figure 3, 128 B | 128 bytes over the number of threads
  $scaling payload=128 | payload=128 requests=1,100,10K
ouroboros-1k | Ouroboros | Figure 3, 1 KiB | 1 KiB over the number of threads
  $scaling payload=1K | payload=1K requests=1,100,10K
ouroboros-8k | Ouroboros | Figure 3, 8 KiB | 8 KiB over the number of threads
  $scaling payload=8K | payload=8K requests=1,100,10K
ouroboros-range | Ouroboros | Figure 3, bottom left | Address range of 100,000 allocations
  stress range payload=$sizes iterations=10 runs=1 | payload=16,256 iterations=5 requests=2K
ouroboros-churn | Ouroboros | Figure 3, bottom right
    | Address range while half is freed, until the pool is exhausted
  stress churn pool=512M only=atomic,scatter,halloc,$ouroboros,bulk,heapwood,cuda runs=1 time=5
    | pool=2M requests=2K
ouroboros-utilization | Ouroboros | Section 6.1.3 | Part of the memory usable by 16-byte blocks
  stress utilization runs=1 time=2 | pool=4M
ouroboros-graph-init | Ouroboros | Figure 4, top left | Initialization of a dynamic graph
  $random
  $counted
ouroboros-graph-memory | Ouroboros | Figure 4, top right
    | Memory of a dynamic graph after initialization
  $random
ouroboros-graph-updates | Ouroboros | Figure 4, middle
    | Insertion and deletion of 100,000 edges, random and within 1,000 vertices
  $random
  $pressure
ouroboros-graph-pagerank | Ouroboros | Figure 4, bottom left
    | PageRank on the adjacencies of each allocator and layout
  $random
ouroboros-graph-triangles | Ouroboros | Figure 4, bottom right
    | Triangle counting on the adjacencies of each allocator and layout
  $random

bulk-5 | Bulk | Figure 5 | Two-stage allocation by counting and bulk semaphores
  semaphore
bulk-6 | Bulk | Figure 6 | RCU with delegation against one barrier per writer
  rcu
bulk-7 | Bulk | Figure 7 | Allocations per second until the pool is exhausted
  stress exhaust payload=$exhausting only=atomic,halloc,scatter,ouroboros-p-s,bulk,heapwood,cuda
    runs=3 | payload=16K,2K,256,16 pool=4M
host-3 | Host-managed | Figure 3 | Latency of malloc and free on the host
  host
host-4 | Host-managed | Figure 4 | Memory in use and memory mapped
  host

own-triangles | Heapwood | Build time | Build time over the number of triangles
  build scenes=10K//atrium:10k,30K//atrium:30k,100K//atrium:100k,300K//atrium:300k,1M//atrium:1m,
    3M//atrium:3m refs=clipped pool=auto
    | scenes=2K//atrium:2k,5K//atrium:5k,10K//atrium:10k
own-builder | Heapwood | Builders | One kernel against kernels for each level
  build scenes=$own refs=clipped pool=auto per_level
    only=atomic,awmalloc-safe,cfmmalloc,$published,halloc-builtin,scatter-builtin,heapwood,
    heapwood-general
    | scenes=atrium//atrium:10k
own-slowdown | Heapwood | Slowdown | Slowdown with every allocator, clipped refs
  $own_builds
own-share | Heapwood | Share | Lower bound of the share of allocation in a build
  $own_builds
own-ablation | Heapwood | Ablation
    | From the published CFMMalloc to the redesigned one, one change at a time
  stress ad payload=16,256,4K blocks=120 only=$ablation memory | payload=64
  stress acd payload=4 iterations=10,100 blocks=120 only=$ablation | payload=4 iterations=10
  build scenes=$own refs=clipped pool=auto only=$ablation | scenes=atrium//atrium:10k
own-pools | Heapwood | Pools | Slowdown over the size of the pool
  build scenes=$own2 refs=clipped pool=live:2,live:4,live:8,20x,200x,fast runs=3 one
    | scenes=atrium//atrium:10k
own-profile | Heapwood | Profile | Time of the warps by phase, and the share of the allocator
  profile scenes=Conference/conference/pipes:283k,atrium//atrium:200k | scenes=atrium//atrium:10k
own-pool | Heapwood | The pool | Memory in use and fragmentation over a build
  recorded scenes=atrium//atrium:50k refs=clipped pool=auto | scenes=atrium//atrium:5k
own-trace | Heapwood | Rays | Rays per second through the tree
  trace scenes=Sponza/sponza/atrium:76k,Conference/conference/pipes:283k,
    Happy+Buddha/happy_buddha/statue:1087k,$own
    | scenes=atrium//atrium:5k,statue//statue:5k
)";

std::string expanded(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      out += text[at++];
      continue;
    }
    const std::size_t end = std::min(
        text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_", at + 1), text.size());
    out += expanded(texts.at(text.substr(at + 1, end - at - 1)));
    at = end;
  }
  return out;
}

// The parts between bars, without the spaces around them.
std::vector<std::string> parts_of(const std::string& line) {
  std::vector<std::string> parts = split(line, '|');
  for (std::string& part : parts) {
    const std::size_t begin = part.find_first_not_of(' '), end = part.find_last_not_of(' ');
    part = begin == std::string::npos ? "" : part.substr(begin, end + 1 - begin);
  }
  return parts;
}

std::vector<ReproduceItem> read_items() {
  // A line that is indented further continues the one above; after a comma it is the same word.
  std::vector<std::string> lines;
  std::istringstream text(items_text);
  for (std::string line; std::getline(text, line);) {
    if (line.empty()) continue;
    if (line.starts_with("    "))
      lines.back() += line.substr(lines.back().ends_with(',') ? 4 : 3);
    else
      lines.push_back(line);
  }
  std::vector<ReproduceItem> items;
  for (const std::string& line : lines) {
    if (line.starts_with(' ')) {
      const std::vector<std::string> parts = parts_of(expanded(line));
      items.back().experiments.emplace_back(parts[0], parts.size() > 1 ? parts[1] : "");
      continue;
    }
    const std::vector<std::string> parts = parts_of(line);
    items.push_back({parts.at(0), parts.at(1), parts.at(2), parts.at(3), {}, ""});
    if (parts[0] == "regeff-uniform" && !registry::find("cmalloc-published"))
      items.back().absent =
          "the published lists are not compiled: configure with -DHEAPWOOD_PUBLISHED=ON";
  }
  return items;
}

std::string group(const ReproduceItem& item) { return item.id.substr(0, item.id.find('-')); }

using MakeCases = std::vector<ReproduceCase> (*)(const Experiment&, const ReproduceSetup&);
const std::map<std::string, MakeCases> makers{
    {"stress", stress_cases}, {"build", build_cases},        {"recorded", recorded_cases},
    {"trace", trace_cases},   {"profile", profile_cases},    {"graph", graph_cases},
    {"host", host_cases},     {"registers", register_cases}, {"semaphore", primitive_cases},
    {"rcu", primitive_cases},
};

}  // namespace

Experiment::Experiment(const std::string& papers, const std::string& quick) {
  const auto read = [](std::istringstream words, std::map<std::string, std::string>& values) {
    for (std::string word; words >> word;) {
      const std::size_t equals = std::min(word.find('='), word.size());
      values[word.substr(0, equals)] = word.substr(std::min(equals + 1, word.size()));
    }
  };
  std::istringstream words(papers);
  words >> kind;
  if (kind == "stress") words >> test;
  read(std::move(words), papers_);
  read(std::istringstream(quick), quick_);
}

std::string Experiment::text(const char* key, const std::string& otherwise) const {
  const auto at = papers_.find(key);
  return at == papers_.end() ? otherwise : at->second;
}

double Experiment::number(const char* key, double otherwise) const {
  const std::string value = text(key);
  return value.empty() ? otherwise : std::stod(value);
}

std::string Experiment::list(const char* key, const ReproduceSetup& setup) const {
  const std::map<std::string, std::string>& values = setup.full ? papers_ : quick_;
  const auto at = values.find(key);
  return at == values.end() ? "" : at->second;
}

int Experiment::runs(const ReproduceSetup& setup) const {
  const int runs = static_cast<int>(number("runs", 5));
  return setup.full ? runs : std::min(runs, 3);
}

std::vector<const registry::RegisteredAllocator*> Experiment::allocators(
    const ReproduceSetup& setup) const {
  std::vector<const registry::RegisteredAllocator*> some = setup.allocators;
  const std::vector<std::string> wanted = split(text("only"), ',');
  std::erase_if(some, [&](const registry::RegisteredAllocator* entry) {
    return has("only") &&
           std::find(wanted.begin(), wanted.end(), entry->traits->id) == wanted.end();
  });
  return some;
}

const std::vector<ReproduceItem>& reproduce_items() {
  static const std::vector<ReproduceItem> items = read_items();
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
      for (ReproduceCase& one : makers.at(experiment.kind)(experiment, setup)) {
        if (keys.insert(one.key).second) cases.push_back(std::move(one));
      }
    }
  }
  return cases;
}

}  // namespace heapwood::bench
