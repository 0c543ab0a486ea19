// SPDX-License-Identifier: MIT
// Builds that run out of a resource. Memory: the build ends with a valid tree, marked incomplete,
// and leaks nothing. Output arrays: they grow. Queue entries or shared nodes: the build takes slow
// paths to the same tree.

#include "tests/kdtree/build_support.hpp"

namespace heapwood::kdtree {
namespace {

using namespace test;

class BuildExhaustion : public PerAllocator {
 protected:
  const Soup soup = random_soup(sanitized ? 1200 : 2000, 31, 0.02f);
};

// Pool sizes from one too small for the root's array to one almost large enough.
TEST_P(BuildExhaustion, SmallPoolsGiveSoundTrees) {
  const Subject& subject = GetParam();
  if (!subject.bounded()) GTEST_SKIP() << "the GPU's own heap does not shrink";
  if (!subject.traits->keeps_live_memory)
    GTEST_SKIP() << "may hand out live memory instead of failing";
  const DeviceMesh mesh(subject.device, soup.view());
  for (const RefKind kind : {RefKind::clipped, RefKind::ids}) {
    const Expected want = expected(soup.view(), kind);
    const std::size_t root = soup.triangles.size() * ref_bytes(kind);
    const std::uint64_t most = subject.frees() ? want.live_bytes : want.total_bytes;
    std::uint64_t last_leaves = 0;
    for (const double part : {0.0, 0.3, 0.6, 0.9}) {
      SCOPED_TRACE(std::string(kdtree::name(kind)) + ", " + std::to_string(part));
      const std::size_t bytes =
          part == 0 ? root / 2 : root + static_cast<std::size_t>(part * double(most - root));
      Workspace workspace(mesh, kind,
                          std::max(alloc::round_up(bytes, 256), subject.traits->smallest_pool));
      const Built built = build(subject, workspace);
      expect_sound(built, soup.view(), tolerant(kind));
      if (part == 0 && workspace.pool().bytes < root) {
        EXPECT_EQ(built.stats.leaves, 1u);
        EXPECT_EQ(built.run.failed_splits, 1u);
        EXPECT_EQ(built.run.failed_bytes, root);
      }
      // The pool has less than a build with one thread needs (live_bytes); more threads need more.
      EXPECT_TRUE(built.run.incomplete || (subject.frees() && part > 0.6));
      if (built.run.incomplete) {
        EXPECT_GT(built.run.failed_splits, 0u);
        EXPECT_GT(built.run.failed_bytes, 0u);
        EXPECT_EQ(built.run.failed_bytes % ref_bytes(kind), 0u);
      } else {
        EXPECT_EQ(built.stats.hash, want.built.stats.hash);
      }
      EXPECT_TRUE(subject.frees() || built.stats.leaves >= last_leaves);
      last_leaves = built.stats.leaves;
    }
    // With enough memory the same workspace builds the complete tree.
    Workspace workspace(mesh, kind, std::max<std::size_t>(root, subject.traits->smallest_pool));
    EXPECT_TRUE(build(subject, workspace).run.incomplete);
    workspace.resize_pool(ample_pool(subject, want));
    const Built built = build(subject, workspace);
    EXPECT_FALSE(built.run.incomplete);
    EXPECT_FALSE(built.tree.incomplete);
    EXPECT_EQ(built.stats.hash, want.built.stats.hash);
  }
}

INSTANTIATE_TEST_SUITE_P(Build, BuildExhaustion, ::testing::ValuesIn(subjects()), name_of);

class BuildSlowPaths : public BuildExhaustion {};

TEST_P(BuildSlowPaths, OutputArraysGrow) {
  for (const RefKind kind : all_ref_kinds) {
    if (sanitized && kind != RefKind::clipped) continue;  // arrays are handled alike for all kinds
    const Expected want = expected(soup.view(), kind);
    for (const auto& [nodes, output] :
         {std::pair<std::size_t, std::size_t>{2, 0}, {0, 1}, {100, 1000}, {4096, 4096}}) {
      Bench bench(GetParam(), soup, kind, want, {.nodes = nodes, .output = output});
      for (int turn = 0; turn < 2; ++turn) bench.build();
    }
    // In an instrumented build, the counts of the abandoned build are discarded.
    Bench(GetParam(), soup, kind, want, {.nodes = 64, .output = 64}).expect_all_freed();
  }
}

// The slow paths for a full queue and for a lack of shared nodes.
TEST_P(BuildSlowPaths, ATinyQueueChangesNoTree) {
  const Subject& subject = GetParam();
  const Soup large = random_soup(sanitized ? 2000 : 5000, 32, 0.01f);
  const unsigned warps = subject.on_gpu() ? 64 : 4;
  for (const RefKind kind : all_ref_kinds) {
    const Expected want = expected(large.view(), kind);
    for (const auto& [ring, shared] :
         {std::pair<std::size_t, std::size_t>{4, 1}, {4, 0}, {0, 1}, {8, 2}}) {
      SCOPED_TRACE(std::to_string(ring) +
                   " entries a warp, shared nodes: " + std::to_string(shared));
      Bench bench(subject, large, kind, want, {.ring = ring * warps, .shared_nodes = shared});
      bench.expect_all_freed(with_warps(warps));
      if (kind == RefKind::ids) break;  // this kind is slow, and the settings add no other path
      bench.build(with_warps(warps));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Build, BuildSlowPaths, ::testing::ValuesIn(few_subjects()), name_of);

// Request k of a build and all later ones are refused, for every k: the tree is valid, marked
// incomplete, and all memory is freed.
//
// HEAPWOOD_REFUSED_REQUESTS=FIRST-LAST tests these requests of a larger mesh, on a GPU in several
// processes (tests/gpu.sh).
struct Requests {
  std::size_t triangles = 60;
  std::uint64_t first = 1, last = 1000;  // the last request may also be that of the complete build
};

Requests chosen_requests() {
  Requests requests;
  unsigned long long first = 0, last = 0;
  const char* const text = std::getenv("HEAPWOOD_REFUSED_REQUESTS");
  if (text != nullptr && std::sscanf(text, "%llu-%llu", &first, &last) == 2 && first > 0) {
    requests.first = first;
    requests.last = last;
    requests.triangles += last;  // requests of a random soup: 1.4 to 2 per triangle
  }
  return requests;
}

class BuildEveryRequest : public PerAllocator {};

TEST_P(BuildEveryRequest, RefusedInTurn) {
  const Subject& subject = GetParam();
  const Requests requests = chosen_requests();
  const Soup soup = random_soup(requests.triangles, 91, 0.02f);
  for (const RefKind kind : all_ref_kinds) {
    Bench bench(subject, soup, kind);
    const Expected& want = bench.want;
    Workspace& workspace = bench.workspace;
    ASSERT_GE(want.allocations, std::min<std::uint64_t>(requests.last, requests.triangles));
    const std::uint64_t last = std::min(requests.last, want.allocations);
    for (std::uint64_t k = requests.first; k <= last;
         k += sanitized || kind != RefKind::clipped ? 7 : 1) {
      SCOPED_TRACE("request " + std::to_string(k));
      BuildOptions options;
      options.fail_at = k;
      const InstrumentedRun instrumented = subject.compiled->build_instrumented(workspace, options);
      EXPECT_TRUE(instrumented.run.incomplete);
      EXPECT_EQ(instrumented.requests.allocations, k - 1);
      EXPECT_EQ(instrumented.requests.deallocations, k - 1);
      EXPECT_GE(instrumented.requests.failures, instrumented.run.failed_splits);
      if (subject.frees() && instrumented.at_end.measured) {
        EXPECT_EQ(instrumented.at_end.used_bytes, 0u);
      }
      // Validation takes much longer than the build of a large mesh.
      if (last <= 1000 || k % 64 == 0) {
        const Built built = finish(workspace, instrumented.run);
        expect_sound(built, soup.view(), tolerant(kind));
        EXPECT_LE(arrays_of(built.stats), k);
      }
      if (HasFailure()) return;  // one request is enough to see why
    }
    // A failure beyond the last request does not occur.
    BuildOptions options;
    options.fail_at = want.allocations + 1;
    EXPECT_FALSE(subject.compiled->build_instrumented(workspace, options).run.incomplete);
  }
}

INSTANTIATE_TEST_SUITE_P(Allocators, BuildEveryRequest, ::testing::ValuesIn(few_subjects()),
                         name_of);

}  // namespace
}  // namespace heapwood::kdtree
