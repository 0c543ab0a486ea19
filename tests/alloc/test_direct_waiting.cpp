// SPDX-License-Identifier: MIT
// Synchronization primitives of the Bulk allocator, each by itself, on threads and on simulated
// warps: semaphores, delegation, RCU, the collective mutex.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "alloc/bulk/baseline_semaphores.hpp"
#include "alloc/bulk/bulk_semaphore.hpp"
#include "alloc/bulk/collective_mutex.hpp"
#include "alloc/bulk/delegation.hpp"
#include "alloc/bulk/rcu.hpp"
#include "tests/alloc/launch.hpp"

namespace heapwood::alloc {
namespace {

using simt::atomic_ref;
using Word = atomic_ref<std::uint32_t>;
using test::count;

template <class Device>
class Waiting : public testing::Test {
 public:
  // The lanes of a launch.
  static constexpr unsigned lanes = std::is_same_v<Device, simt::Cpu> ? 4 : 12;

  template <class F>
  static void run(const F& f) {
    if constexpr (std::is_same_v<Device, simt::Cpu>) {
      test::launch(Device({.kind = simt::DeviceKind::cpu, .index = 0, .threads = 4}), 0, f);
    } else {
      test::launch(Device(3), 0, f);
    }
  }
};
using Devices = testing::Types<simt::Cpu, simt::Lockstep<4>>;
TYPED_TEST_SUITE(Waiting, Devices);

// A resource with batches of 64 units, one bit each. Every lane takes units one by one, up to
// `each`.
template <class Fixture>
void take_all(bool bulk, std::uint32_t each, std::uint32_t max_batches) {
  constexpr std::uint32_t batch = 64;
  std::uint64_t word = 0;                         // the semaphore's
  std::uint32_t batches = 0, successes = 0;       // fetched so far; of all lanes
  std::vector<std::uint64_t> units(max_batches);  // free units of each batch
  std::vector<std::uint32_t> given(max_batches * batch);
  const auto grow = [&] {
    const std::uint32_t b = Word(batches).fetch_add(1, simt::relaxed);
    if (b >= max_batches) return false;
    atomic_ref<std::uint64_t>(units[b]).store(~std::uint64_t{0}, simt::relaxed);
    return true;
  };
  const auto acquire_unit = [&](auto& warp) {
    if (bulk) {
      const BulkSemaphore semaphore(&word);
      const auto answer = semaphore.wait(warp, 1, batch);
      if (answer != BulkSemaphore::Wait::grow) return answer == BulkSemaphore::Wait::got;
      const bool grown = grow();
      semaphore.signal(grown ? batch - 1 : 0, batch - 1);
      return grown;
    }
    const CountingSemaphore semaphore(reinterpret_cast<std::uint32_t*>(&word));
    const std::uint32_t taken = semaphore.wait(warp, 1);
    if (taken != 0) return taken == 1;
    const bool grown = grow();
    semaphore.grown(grown ? batch - 1 : 0);
    return grown;
  };
  // A lane with the right to a unit finds one; otherwise the loop would run until the time limit.
  const auto find = [&](auto& warp) {
    for (std::uint32_t b = 0; !warp.aborted(); b = (b + 1) % max_batches) {
      std::uint64_t seen = atomic_ref<std::uint64_t>(units[b]).load(simt::relaxed);
      while (seen != 0) {
        const unsigned i = simt::lowest_bit(seen);
        const std::uint64_t bit = std::uint64_t{1} << i;
        seen = atomic_ref<std::uint64_t>(units[b]).fetch_and(~bit, simt::relaxed);
        if ((seen & bit) == 0) continue;
        ++given[b * batch + i];
        count(successes);
        return;
      }
      warp.pause(b);
    }
  };
  Fixture::run([&](auto& warp) {
    for (std::uint32_t i = 0; i < each && !warp.aborted(); ++i) {
      if (acquire_unit(warp)) find(warp);
    }
  });
  const std::uint32_t wanted = each * Fixture::lanes, there = max_batches * batch;
  // No request fails while units are left: the number taken is exact.
  EXPECT_EQ(successes, std::min(wanted, there));
  for (const std::uint32_t n : given) EXPECT_LE(n, 1u);
  if (wanted < there) {
    const std::int64_t left =
        bulk ? BulkSemaphore::available(word) : static_cast<std::int64_t>(word);
    EXPECT_EQ(left, std::int64_t{std::min(batches, max_batches)} * batch - wanted);
  }
}

TYPED_TEST(Waiting, SemaphoresGiveOutWhatThereIs) {
  for (const bool bulk : {false, true}) {
    take_all<TestFixture>(bulk, 200, 100);
    take_all<TestFixture>(bulk, 200, 10);
  }
}

// Every lane posts every item many times; the working lane counts in non-atomic memory.
TYPED_TEST(Waiting, DelegatedWorkIsDoneOnceByOneAtATime) {
  constexpr std::uint32_t items = 5, rounds = 2000;
  std::uint32_t work = 0, posts = 0;
  std::uint64_t done = 0;  // non-atomic: written by the working lane
  std::vector<std::uint32_t> link(items), queued(items);
  const auto at = [&](std::uint32_t i) { return &link[i]; };
  TestFixture::run([&](auto& warp) {
    const Delegation d(&work);
    for (std::uint32_t r = 0; r < rounds && !warp.aborted(); ++r) {
      const std::uint32_t item = (r * 7 + warp.worker() * 3 + warp.lane()) % items;
      if (Word(queued[item]).exchange(1, simt::acq_rel) != 0) continue;
      count(posts);
      if (!d.post(item, at)) continue;
      do {
        for (std::uint32_t next = d.take(); next != 0;) {
          const std::uint32_t i = next - 1;
          next = Delegation::next_after(i, at);
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
TYPED_TEST(Waiting, RcuGivesNothingBackThatIsStillRead) {
  for (const bool delegated : {false, true}) {
    constexpr std::uint32_t objects = 64, rounds = 400;
    RcuState state;
    std::uint32_t work = 0, mutex = 0, current = 0;  // current: object + 1, or 0
    std::uint32_t reclaimed = 0, seen_after = 0;
    // Per object: 1 while it is used, non-atomic; 1 if a writer may take it.
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
    EXPECT_EQ(reclaimed, TestFixture::lanes * 100u - 1);  // all but the current one
    EXPECT_EQ(seen_after, 0u);
    EXPECT_EQ(std::accumulate(alive.begin(), alive.end(), 0u), 1u);
    EXPECT_EQ(work | mutex, 0u);
  }
}

// The lanes that arrive together enter together. Each increments a non-atomic word that it shares
// with the same lane of other warps.
TYPED_TEST(Waiting, CollectiveMutexHasOneOwningSet) {
  constexpr std::uint32_t rounds = 300;
  std::uint32_t mutex = 0, owners = 0, wrong = 0;  // owners: sets of lanes that own the mutex
  std::vector<std::uint64_t> counted(32);          // per lane, non-atomic
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
