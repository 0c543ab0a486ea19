// SPDX-License-Identifier: MIT
// The bulk semaphore: which threads get units, grow or wait, with one thread and under contention.
#include "alloc/bulk/bulk_semaphore.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "alloc/bulk/baseline_semaphores.hpp"
#include "simt/cpu.hpp"
#include "tests/simt/lockstep.hpp"

namespace heapwood::alloc {

namespace {

using Wait = BulkSemaphore::Wait;

// Counters of threads that call wait() and signal() concurrently.
struct Seen {
  std::uint64_t word;
  std::uint32_t made;     // units
  std::uint32_t live;     // units held by threads
  std::uint32_t grown;    // batches
  std::uint32_t refused;  // batches that could not be made
  std::uint32_t wrong;    // times that more units were held than `most`
};

// Every thread repeatedly takes and returns units. Batches can be made up to `most` units in all.
struct Churn {
  struct Scratch {};
  Seen* seen;
  std::uint32_t rounds, batch, most, largest;

  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    const BulkSemaphore semaphore(&seen->word);
    const auto word = [](std::uint32_t& w) { return simt::atomic_ref<std::uint32_t>(w); };
    for (std::uint32_t i = 0; i < rounds; ++i) {
      const std::uint32_t n = 1 + (i + warp.worker() * 3 + warp.lane()) % largest;
      const Wait answer = semaphore.wait(warp, n, batch);
      if (answer == Wait::fail) return;
      if (answer == Wait::grow) {
        if (word(seen->made).fetch_add(batch, simt::acq_rel) + batch > most) {
          word(seen->made).fetch_sub(batch, simt::acq_rel);
          word(seen->refused).fetch_add(1, simt::relaxed);
          semaphore.signal(0, batch - n);
          continue;
        }
        word(seen->grown).fetch_add(1, simt::relaxed);
        semaphore.signal(batch - n, batch - n);
      }
      const std::uint32_t live = word(seen->live).fetch_add(n, simt::acq_rel) + n;
      if (live > most) word(seen->wrong).fetch_add(1, simt::relaxed);
      if (i % 7 == 0) warp.pause(100);
      word(seen->live).fetch_sub(n, simt::acq_rel);
      semaphore.signal(n, 0);
    }
  }
};

template <class Device>
void expect_exact(const Device& device, std::uint32_t threads, std::uint32_t batch,
                  std::uint32_t most, std::uint32_t largest) {
  Seen seen{};
  seen.word = BulkSemaphore::initial(0);
  device.launch(Churn{&seen, 2000, batch, most, largest}, threads, {.seconds = 60});
  EXPECT_EQ(seen.wrong, 0u);
  EXPECT_EQ(seen.live, 0u);
  EXPECT_EQ(seen.made, seen.grown * batch);
  // All units have been returned, and none is promised or reserved.
  EXPECT_EQ(BulkSemaphore::available(seen.word), static_cast<std::int32_t>(seen.made));
  EXPECT_EQ(BulkSemaphore::balance(seen.word), static_cast<std::int32_t>(seen.made));
  EXPECT_GT(seen.grown, 0u);
}

struct OneThread {
  std::uint64_t word = BulkSemaphore::initial(0);
  simt::Control control;
  simt::SerialWarp warp{0, 1, &control};
  BulkSemaphore semaphore{&word};
  std::uint64_t now() { return simt::atomic_ref<std::uint64_t>(word).load(simt::relaxed); }
  std::int32_t available() { return BulkSemaphore::available(now()); }
  std::int32_t balance() { return BulkSemaphore::balance(now()); }
};

}  // namespace

TEST(BulkSemaphore, WhoFindsNothingGrowsAndKeepsItsPart) {
  OneThread t;
  EXPECT_EQ(t.semaphore.wait(t.warp, 1, 8), Wait::grow);
  EXPECT_EQ(t.available(), 0);
  EXPECT_EQ(t.balance(), 7);
  t.semaphore.signal(7, 7);
  EXPECT_EQ(t.available(), 7);
  EXPECT_EQ(t.balance(), 7);
  EXPECT_EQ(t.semaphore.wait(t.warp, 5, 8), Wait::got);
  EXPECT_EQ(t.semaphore.wait(t.warp, 3, 8), Wait::grow);  // the 2 units stay available
  EXPECT_EQ(t.available(), 2);
  EXPECT_EQ(t.balance(), 7);
  t.semaphore.signal(0, 5);
  EXPECT_EQ(t.balance(), 2);
  EXPECT_EQ(t.semaphore.wait(t.warp, 2, 8), Wait::got);
  EXPECT_EQ(t.available(), 0);
}

TEST(BulkSemaphore, TryWaitLeavesWhatOthersNeed) {
  OneThread t;
  t.semaphore.signal(10, 0);
  EXPECT_FALSE(t.semaphore.try_wait(11));
  EXPECT_FALSE(t.semaphore.try_wait(4, 7));
  EXPECT_TRUE(t.semaphore.try_wait(4, 6));
  EXPECT_EQ(t.available(), 6);
  t.semaphore.promise(3);
  EXPECT_FALSE(t.semaphore.try_wait(7));  // promised units are not available
  EXPECT_TRUE(t.semaphore.try_wait(6));
  EXPECT_EQ(t.balance(), 3);
}

TEST(BulkSemaphore, WaitsForWhatIsPromised) {
  OneThread t;
  t.semaphore.promise(4);
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    t.semaphore.signal(4, 4);
  });
  EXPECT_EQ(t.semaphore.wait(t.warp, 3, 8), Wait::got);
  EXPECT_EQ(t.available(), 1);
}

TEST(BulkSemaphore, ABrokenPromiseMakesTheWaitingThreadGrow) {
  OneThread t;
  t.semaphore.promise(4);
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    t.semaphore.signal(0, 4);
  });
  EXPECT_EQ(t.semaphore.wait(t.warp, 3, 8), Wait::grow);
  EXPECT_EQ(t.balance(), 5);
  EXPECT_EQ(t.available(), 0);
}

TEST(BulkSemaphore, AbortEndsWaitingAndTakesTheRequestBack) {
  OneThread t;
  t.semaphore.promise(4);
  t.control.abort = 1;
  EXPECT_EQ(t.semaphore.wait(t.warp, 3, 8), Wait::fail);
  EXPECT_EQ(t.balance(), 4);
  EXPECT_EQ(t.available(), 0);
}

TEST(BulkSemaphore, LosesAndInventsNothing) {
  const simt::Cpu device({.kind = simt::DeviceKind::cpu, .index = 0, .threads = 4});
  for (const std::uint32_t batch : {1u, 2u, 5u, 64u}) {
    expect_exact(device, 4, batch, 64, 1);     // a thread that grows always gets a batch
    expect_exact(device, 4, batch, batch, 1);  // threads wait for the only batch, or fail
    expect_exact(device, 4, batch, 2 * batch, batch > 4 ? 4 : batch);
  }
}

TEST(BulkSemaphore, LosesAndInventsNothingOnWarps) {
  const simt::Lockstep<4> device(3);
  expect_exact(device, 3, 8, 8, 3);
  expect_exact(device, 3, 2, 16, 2);
}

// Threads that request units concurrently make no more batches than they need.
TEST(BulkSemaphore, GrowsOnceABatch) {
  struct Once {
    struct Scratch {};
    std::uint64_t* word;
    std::uint32_t* grown;
    void operator()(simt::SerialWarp& warp, Scratch&) const {
      const BulkSemaphore semaphore(word);
      for (int i = 0; i < 1000; ++i) {
        if (semaphore.wait(warp, 1, 100) != Wait::grow) continue;
        simt::atomic_ref<std::uint32_t>(*grown).fetch_add(1, simt::relaxed);
        warp.pause(100);
        semaphore.signal(99, 99);
      }
    }
  };
  std::uint64_t word = BulkSemaphore::initial(0);
  std::uint32_t grown = 0;
  simt::Cpu().launch(Once{&word, &grown}, 8);
  EXPECT_GE(grown, 80u);
  EXPECT_LE(grown, 88u);  // more only if a thread that grows is delayed
  EXPECT_EQ(BulkSemaphore::available(word), static_cast<std::int32_t>(grown * 100 - 8000));
  EXPECT_EQ(BulkSemaphore::balance(word), BulkSemaphore::available(word));
}

// A thread of an aborted launch. Another one would bring units, but never does.
struct AbortedThread {
  bool aborted() const { return true; }
  void pause(unsigned turn) const { ASSERT_LT(turn, 1000u); }
};
TEST(PublishedBulkSemaphore, AnAbortedThreadStopsWaiting) {
  std::uint64_t word = std::uint64_t{2} << 22;  // two units are expected
  EXPECT_FALSE(PublishedBulkSemaphore(&word).wait(AbortedThread{}, 1, 512, [] {}));
}

}  // namespace heapwood::alloc
