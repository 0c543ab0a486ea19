// SPDX-License-Identifier: MIT
// Rows of fresh pages (PageQueue::take_fresh) that threads request at the same time, in different
// lengths, until none are left.
#include <gtest/gtest.h>

#include <array>
#include <barrier>
#include <random>
#include <thread>
#include <vector>

#include "workloads/graph/page_queue.hpp"

namespace heapwood::workloads::graph {
namespace {

TEST(PageQueueRows, GoToOneThreadEach) {
  constexpr unsigned threads = 8, rounds = 4000, requests = 6;
  constexpr std::uint32_t pages = 64;
  PageQueueState state{};
  std::vector<std::uint32_t> ring(pages, LinkedPage::none);
  const PageQueue queue{&state, ring.data(), pages};

  struct Row {
    std::uint64_t first;
    std::uint32_t count;
  };
  std::array<std::vector<Row>, threads> rows;
  std::uint64_t taken_twice = 0, used_beyond_fresh = 0;
  std::barrier round_ends(threads, [&]() noexcept {
    std::array<unsigned, pages> owners{};
    for (std::vector<Row>& of_thread : rows) {
      for (const Row& row : of_thread) {
        for (std::uint64_t p = row.first; p < row.first + row.count; ++p) {
          taken_twice += ++owners[p] == 2;
          used_beyond_fresh += p >= state.fresh;
        }
      }
      of_thread.clear();
    }
    state = {};
  });
  const auto run = [&](unsigned thread) {
    std::minstd_rand random(thread + 1);
    for (unsigned round = 0; round < rounds; ++round) {
      for (unsigned i = 0; i < requests; ++i) {
        const auto count = static_cast<std::uint32_t>(random() % 2 == 0 ? 1 : random() % 16 + 1);
        const std::uint64_t first = queue.take_fresh(count);
        if (first != PageQueue::none_left) rows[thread].push_back({first, count});
      }
      round_ends.arrive_and_wait();
    }
  };
  std::vector<std::jthread> running;
  for (unsigned thread = 0; thread < threads; ++thread) running.emplace_back(run, thread);
  running.clear();
  EXPECT_EQ(taken_twice, 0u);
  EXPECT_EQ(used_beyond_fresh, 0u);
}

}  // namespace
}  // namespace heapwood::workloads::graph
