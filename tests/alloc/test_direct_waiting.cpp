// SPDX-License-Identifier: MIT
// Synchronization primitives of the Bulk allocator, each by itself, on threads and on simulated
// warps: semaphores, delegation, RCU, the collective mutex.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "alloc/bulk/baselines.hpp"
#include "alloc/bulk/bulk_semaphore.hpp"
#include "alloc/bulk/rcu.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {
namespace {

using simt::atomic_ref;
using Word = atomic_ref<std::uint32_t>;
using test::count;
using Wait = BulkSemaphore::Wait;

template <class Device>
class Waiting : public testing::Test {
 public:
  // The number of lanes of a launch.
  static constexpr unsigned lanes = std::is_same_v<Device, simt::Cpu> ? 4 : 12;

  template <class F>
  static void run(const F& f) {
    if constexpr (std::is_same_v<Device, simt::Cpu>) {
      test::launch(Device({.threads = 4}), 0, f);
    } else {
      test::launch(Device(3), 0, f);
    }
  }
};
using Devices = testing::Types<simt::Cpu, simt::Lockstep<4>>;
TYPED_TEST_SUITE(Waiting, Devices);

// A resource that is made in batches, up to `most` units.
struct Resource {
  std::uint32_t batch, most;
  std::uint64_t word = 0;                                    // the semaphore's word
  std::uint32_t made = 0, live = 0, refused = 0, wrong = 0;  // wrong: more units held than `most`

  bool grow() {
    if (Word(made).fetch_add(batch, simt::acq_rel) + batch <= most) return true;
    Word(made).fetch_sub(batch, simt::acq_rel);
    count(refused);
    return false;
  }
};
struct Bulk {
  static bool acquire(auto& warp, Resource& r, std::uint32_t n) {
    const BulkSemaphore semaphore(&r.word);
    const Wait answer = semaphore.wait(warp, n, r.batch);
    if (answer != Wait::grow) return answer == Wait::got;
    const bool grown = r.grow();
    semaphore.signal(grown ? r.batch - n : 0, r.batch - n);
    return grown;
  }
  static void release(Resource& r, std::uint32_t n) { BulkSemaphore(&r.word).signal(n, 0); }
  // All units have been returned, and none is promised or reserved.
  static void expect_left(const Resource& r) {
    EXPECT_EQ(BulkSemaphore::available(r.word), static_cast<std::int32_t>(r.made));
    EXPECT_EQ(BulkSemaphore::balance(r.word), static_cast<std::int32_t>(r.made));
  }
};
struct Counting {
  static CountingSemaphore of(Resource& r) {
    return CountingSemaphore(reinterpret_cast<std::uint32_t*>(&r.word));
  }
  static bool acquire(auto& warp, Resource& r, std::uint32_t n) {
    const std::uint32_t taken = of(r).wait(warp, n);
    if (taken == n || taken == CountingSemaphore::failed) return taken == n;
    const bool grown = r.grow();
    of(r).grown(grown ? r.batch + taken - n : taken);
    return grown;
  }
  static void release(Resource& r, std::uint32_t n) { of(r).signal(n); }
  static void expect_left(const Resource& r) { EXPECT_EQ(r.word, r.made); }
};

// Every lane takes up to `largest` units and returns them, many times.
template <class Semaphore, class Fixture>
void churn(std::uint32_t batch, std::uint32_t most, std::uint32_t largest) {
  Resource r{batch, most};
  Fixture::run([&](auto& warp) {
    for (std::uint32_t i = 0; i < 6000 / Fixture::lanes && !warp.aborted(); ++i) {
      const std::uint32_t n = 1 + (i + warp.worker() * 3 + warp.lane()) % largest;
      if (!Semaphore::acquire(warp, r, n)) continue;
      if (Word(r.live).fetch_add(n, simt::acq_rel) + n > most) count(r.wrong);
      if (i % 7 == 0) warp.pause(100);
      Word(r.live).fetch_sub(n, simt::acq_rel);
      Semaphore::release(r, n);
    }
  });
  EXPECT_EQ(r.wrong, 0u);
  EXPECT_EQ(r.live, 0u);
  EXPECT_GT(r.made, 0u);
  if (most >= Fixture::lanes * largest) {
    EXPECT_EQ(r.refused, 0u) << "grows though there are units for all";
  }
  Semaphore::expect_left(r);
}

TYPED_TEST(Waiting, SemaphoresLoseAndInventNothing) {
  for (const std::uint32_t batch : {1u, 2u, 5u, 64u}) {
    const std::uint32_t largest = std::min(batch, 4u);
    for (const auto& [most, n] : {std::pair(64u, 1u), {batch, 1u}, {2 * batch, largest}}) {
      churn<Bulk, TestFixture>(batch, most, n);
      churn<Counting, TestFixture>(batch, most, n);
    }
  }
}

struct OneThread {
  std::uint64_t word = BulkSemaphore::initial(0);
  simt::Control control{};
  simt::SerialWarp warp{0, 1, &control};
  BulkSemaphore semaphore{&word};
  std::uint64_t now() { return simt::atomic_ref<std::uint64_t>(word).load(simt::relaxed); }
  std::int32_t available() { return BulkSemaphore::available(now()); }
  std::int32_t balance() { return BulkSemaphore::balance(now()); }
};

TEST(BulkSemaphore, AThreadThatFindsNothingGrowsAndKeepsItsPart) {
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

// A thread waits for 3 of 4 promised units, until another thread delivers them or breaks the
// promise.
TEST(BulkSemaphore, WaitsForWhatIsPromised) {
  for (const bool delivers : {true, false}) {
    OneThread t;
    t.semaphore.promise(4);
    const std::jthread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      t.semaphore.signal(delivers ? 4 : 0, 4);
    });
    EXPECT_EQ(t.semaphore.wait(t.warp, 3, 8), delivers ? Wait::got : Wait::grow);
    EXPECT_EQ(t.available(), delivers ? 1 : 0);
    EXPECT_EQ(t.balance(), delivers ? 1 : 5);
  }
}

TEST(BulkSemaphore, AbortEndsWaitingAndTakesTheRequestBack) {
  OneThread t;
  t.semaphore.promise(4);
  t.control.abort = 1;
  EXPECT_EQ(t.semaphore.wait(t.warp, 3, 8), Wait::fail);
  EXPECT_EQ(t.balance(), 4);
  EXPECT_EQ(t.available(), 0);
}

// Threads that request units concurrently make no more batches than they need.
TEST(BulkSemaphore, GrowsOncePerBatch) {
  std::uint64_t word = BulkSemaphore::initial(0);
  std::uint32_t grown = 0;
  test::launch(simt::Cpu(), 8, [&](auto& warp) {
    const BulkSemaphore semaphore(&word);
    for (int i = 0; i < 1000; ++i) {
      if (semaphore.wait(warp, 1, 100) != Wait::grow) continue;
      count(grown);
      warp.pause(100);
      semaphore.signal(99, 99);
    }
  });
  EXPECT_GE(grown, 80u);
  EXPECT_LE(grown, 100u);  // more than 80 only if a thread that grows is delayed
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

// Every lane posts every item many times; the working lane counts in non-atomic memory.
TYPED_TEST(Waiting, DelegatedWorkIsDoneOnceByOneAtATime) {
  constexpr std::uint32_t items = 5, rounds = 2000;
  std::uint32_t work = 0, posts = 0;
  std::uint64_t done = 0;  // non-atomic: written by the working lane
  std::vector<std::uint32_t> link(items), queued(items);
  const auto link_of = [&](std::uint32_t i) { return &link[i]; };
  TestFixture::run([&](auto& warp) {
    const Delegation d(&work);
    for (std::uint32_t r = 0; r < rounds && !warp.aborted(); ++r) {
      const std::uint32_t item = (r * 7 + warp.worker() * 3 + warp.lane()) % items;
      if (Word(queued[item]).exchange(1, simt::acq_rel) != 0) continue;
      count(posts);
      if (!d.post(item, link_of)) continue;
      do {
        for (std::uint32_t next = d.take(); next != 0;) {
          const std::uint32_t i = next - 1;
          next = Delegation::next_after(i, link_of);
          ++done;
          Word(queued[i]).exchange(0, simt::acq_rel);
        }
      } while (!d.finish());
    }
  });
  EXPECT_GE(done, 100u);
  EXPECT_EQ(done, posts);
  EXPECT_EQ(work, 0u);
}

// One of `objects` is current. Readers access it; writers replace it and reclaim the old one by a
// non-atomic store: a reader still in its critical section sees the store, and ThreadSanitizer
// reports the race.
TYPED_TEST(Waiting, RcuReclaimsNothingThatIsStillRead) {
  for (const bool delegated : {false, true}) {
    constexpr std::uint32_t objects = 64, rounds = 400;
    RcuState state;
    std::uint32_t work = 0, mutex = 0, current = 0;  // current: object + 1, or 0
    std::uint32_t reclaimed = 0, seen_after = 0;
    // For each object: 1 while it is used, not atomic; 1 if a writer may take it.
    std::vector<std::uint32_t> link(objects), alive(objects), spare(objects, 1);
    const auto write = [&](auto& warp, const Rcu& rcu, std::uint32_t r) {
      std::uint32_t mine = (r * 5 + warp.worker()) % objects;
      while (Word(spare[mine]).exchange(0, simt::acquire) == 0) {
        mine = (mine + 1) % objects;
        if (warp.aborted()) return;
        warp.pause(r);
      }
      alive[mine] = 1;
      const std::uint32_t old = Word(current).exchange(mine + 1, simt::acq_rel);
      if (old == 0) return;
      const auto reclaim = [&](std::uint32_t i) {
        alive[i] = 0;
        count(reclaimed);
        Word(spare[i]).exchange(1, simt::release);
      };
      if (delegated) {
        rcu.retire(
            warp, Delegation(&work), old - 1, [&](std::uint32_t i) { return &link[i]; }, reclaim);
      } else {
        const std::uint32_t alone = 1u << warp.lane();
        if (!CollectiveMutex(&mutex).lock(warp, alone)) return;
        const bool over = rcu.barrier(warp);
        CollectiveMutex(&mutex).unlock(warp, alone);
        if (over) reclaim(old - 1);
      }
    };
    TestFixture::run([&](auto& warp) {
      const Rcu rcu(&state);
      for (std::uint32_t r = 0; r < rounds && !warp.aborted(); ++r) {
        if ((r + warp.worker() + warp.lane()) % 4 == 0) {
          write(warp, rcu, r);
        } else {
          const std::uint32_t section = rcu.enter();
          const std::uint32_t seen = Word(current).load(simt::acquire);
          if (seen != 0 && alive[seen - 1] != 1) count(seen_after);
          rcu.leave(section);
        }
      }
    });
    EXPECT_EQ(reclaimed, TestFixture::lanes * 100u - 1);  // all objects but the current one
    EXPECT_EQ(seen_after, 0u);
    EXPECT_EQ(std::accumulate(alive.begin(), alive.end(), 0u), 1u);
    EXPECT_EQ(work | mutex, 0u);
  }
}

// Lanes that arrive together enter together. Each increments a non-atomic word that it shares with
// the same lane of other warps.
TYPED_TEST(Waiting, CollectiveMutexHasOneOwningSet) {
  constexpr std::uint32_t rounds = 300;
  std::uint32_t mutex = 0, owners = 0, wrong = 0;  // owners: sets of lanes that own the mutex
  std::vector<std::uint64_t> counted(32);          // one counter per lane, not atomic
  TestFixture::run([&](auto& warp) {
    const CollectiveMutex m(&mutex);
    for (std::uint32_t r = 0; r < rounds; ++r) {
      const std::uint32_t lanes = warp.together();
      if (!m.lock(warp, lanes)) return;
      const bool leads = warp.lane() == simt::lowest_bit(lanes);
      if (leads && Word(owners).fetch_add(1, simt::relaxed) != 0) ++wrong;
      ++counted[warp.lane()];
      const std::uint32_t all = warp.ballot(lanes, true);
      if (all != lanes) ++wrong;
      if (leads) Word(owners).fetch_sub(1, simt::relaxed);
      m.unlock(warp, lanes);
    }
  });
  EXPECT_EQ(std::accumulate(counted.begin(), counted.end(), std::uint64_t{0}),
            rounds * TestFixture::lanes);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(mutex, 0u);
}

}  // namespace
}  // namespace heapwood::alloc
