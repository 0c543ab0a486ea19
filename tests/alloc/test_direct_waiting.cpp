// SPDX-License-Identifier: MIT
// Synchronization primitives of the Bulk allocator, each by itself, on threads and on simulated
// warps: semaphores, delegation, RCU, the collective mutex.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "alloc/bulk/bulk_semaphore.hpp"
#include "alloc/bulk/collective_mutex.hpp"
#include "alloc/bulk/counting_semaphore.hpp"
#include "alloc/bulk/delegation.hpp"
#include "alloc/bulk/rcu.hpp"
#include "simt/cpu.hpp"
#include "simt/lockstep.hpp"

namespace heapwood::alloc {
namespace {

using simt::atomic_ref;

struct Bare {
  struct Scratch {};
  static constexpr unsigned block_threads = 256, blocks_per_multiprocessor = 1;
};

template <class Device>
class Waiting : public testing::Test {
 public:
  static Device device() {
    if constexpr (std::is_same_v<Device, simt::Cpu>) {
      return Device({.kind = simt::DeviceKind::cpu, .index = 0, .threads = 4});
    } else {
      return Device(3);
    }
  }
  // The lanes of a launch. A launch counts as hung after 60 seconds.
  static constexpr unsigned lanes = std::is_same_v<Device, simt::Cpu> ? 4 : 12;
  template <class Kernel>
  static void run(const Kernel& kernel) {
    device().launch(kernel, 0, {.seconds = 60, .what = "the test"});
  }
};
using Devices = testing::Types<simt::Cpu, simt::Lockstep<4>>;
TYPED_TEST_SUITE(Waiting, Devices);

// A resource with batches of 64 units, one bit each. Every lane takes units one by one, up to
// `each`.
struct Taker : Bare {
  std::uint64_t* word;       // the semaphore's
  std::uint32_t* batches;    // fetched so far
  std::uint64_t* units;      // one word per batch: free units
  std::uint32_t* given;      // per unit: times taken
  std::uint32_t* successes;  // of all lanes
  std::uint32_t each, max_batches;
  bool bulk;
  static constexpr std::uint32_t batch = 64;

  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    for (std::uint32_t i = 0; i < each && !warp.aborted(); ++i) {
      if (acquire_unit(warp)) find(warp);
    }
  }

  template <class Warp>
  bool acquire_unit(Warp& warp) const {
    if (bulk) {
      const BulkSemaphore semaphore(word);
      const auto answer = semaphore.wait(warp, 1, batch);
      if (answer != BulkSemaphore::Wait::grow) return answer == BulkSemaphore::Wait::got;
      const bool grown = grow();
      semaphore.signal(grown ? batch - 1 : 0, batch - 1);
      return grown;
    }
    const CountingSemaphore semaphore(reinterpret_cast<std::uint32_t*>(word));
    const std::uint32_t taken = semaphore.wait(warp, 1);
    if (taken != 0) return taken == 1;
    const bool grown = grow();
    semaphore.grown(grown ? batch - 1 : 0);
    return grown;
  }
  bool grow() const {
    const std::uint32_t b = atomic_ref<std::uint32_t>(*batches).fetch_add(1, simt::relaxed);
    if (b >= max_batches) return false;
    atomic_ref<std::uint64_t>(units[b]).store(~std::uint64_t{0}, simt::relaxed);
    return true;
  }
  // A lane with the right to a unit finds one; otherwise the loop would run until the time limit.
  template <class Warp>
  void find(Warp& warp) const {
    for (std::uint32_t b = 0; !warp.aborted(); b = (b + 1) % max_batches) {
      std::uint64_t seen = atomic_ref<std::uint64_t>(units[b]).load(simt::relaxed);
      while (seen != 0) {
        const unsigned i = simt::lowest_bit(seen);
        const std::uint64_t bit = std::uint64_t{1} << i;
        seen = atomic_ref<std::uint64_t>(units[b]).fetch_and(~bit, simt::relaxed);
        if ((seen & bit) == 0) continue;
        ++given[b * batch + i];
        atomic_ref<std::uint32_t>(*successes).fetch_add(1, simt::relaxed);
        return;
      }
      warp.pause(b);
    }
  }
};

template <class Fixture>
void take_all(bool bulk, std::uint32_t each, std::uint32_t max_batches) {
  std::uint64_t word = 0;
  std::uint32_t batches = 0, successes = 0;
  std::vector<std::uint64_t> units(max_batches);
  std::vector<std::uint32_t> given(max_batches * Taker::batch);
  Taker k;
  k.word = &word;
  k.batches = &batches;
  k.units = units.data();
  k.given = given.data();
  k.successes = &successes;
  k.each = each;
  k.max_batches = max_batches;
  k.bulk = bulk;
  Fixture::run(k);
  const std::uint32_t wanted = each * Fixture::lanes, there = max_batches * Taker::batch;
  // No request fails while units are left: the number taken is exact.
  EXPECT_EQ(successes, std::min(wanted, there));
  for (const std::uint32_t n : given) EXPECT_LE(n, 1u);
  if (wanted < there) {
    const std::int64_t left =
        bulk ? BulkSemaphore::available(word) : static_cast<std::int64_t>(word);
    EXPECT_EQ(left, std::int64_t{std::min(batches, max_batches)} * Taker::batch - wanted);
  }
}

TYPED_TEST(Waiting, CountingSemaphoreGivesOutWhatThereIs) {
  take_all<TestFixture>(false, 200, 100);
  take_all<TestFixture>(false, 200, 10);
}

TYPED_TEST(Waiting, BulkSemaphoreGivesOutWhatThereIs) {
  take_all<TestFixture>(true, 200, 100);
  take_all<TestFixture>(true, 200, 10);
}

// Every lane posts every item many times; the working lane counts in non-atomic memory.
struct Poster : Bare {
  std::uint32_t* work;
  std::uint32_t* link;
  std::uint32_t* queued;  // per item
  std::uint32_t* posts;   // of all lanes
  std::uint64_t* done;    // non-atomic: written by the working lane
  std::uint32_t items, rounds;

  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    const Delegation d(work);
    const auto at = [this](std::uint32_t i) { return &link[i]; };
    for (std::uint32_t r = 0; r < rounds && !warp.aborted(); ++r) {
      const std::uint32_t item = (r * 7 + warp.worker() * 3 + warp.lane()) % items;
      if (atomic_ref<std::uint32_t>(queued[item]).exchange(1, simt::acq_rel) != 0) continue;
      atomic_ref<std::uint32_t>(*posts).fetch_add(1, simt::relaxed);
      if (!d.post(item, at)) continue;
      do {
        for (std::uint32_t next = d.take(); next != 0;) {
          const std::uint32_t i = next - 1;
          next = Delegation::next_after(i, at);
          ++*done;
          atomic_ref<std::uint32_t>(queued[i]).exchange(0, simt::acq_rel);
        }
      } while (!d.finish());
    }
  }
};

TYPED_TEST(Waiting, DelegatedWorkIsDoneOnceByOneAtATime) {
  constexpr std::uint32_t items = 5;
  std::uint32_t work = 0, posts = 0;
  std::uint64_t done = 0;
  std::vector<std::uint32_t> link(items), queued(items);
  Poster k;
  k.work = &work;
  k.link = link.data();
  k.queued = queued.data();
  k.posts = &posts;
  k.done = &done;
  k.items = items;
  k.rounds = 2000;
  TestFixture::run(k);
  EXPECT_GE(done, 100u);
  EXPECT_EQ(done, posts);
  EXPECT_EQ(work, 0u);
}

// One of `objects` is current. Readers access it; writers replace it and reclaim the old one by a
// non-atomic store: a reader still in its critical section sees the store, and ThreadSanitizer
// reports the race.
struct Replacer : Bare {
  RcuState* state;
  std::uint32_t* work;
  std::uint32_t* mutex;
  std::uint32_t* link;
  std::uint32_t* alive;    // per object, non-atomic
  std::uint32_t* current;  // object + 1, or 0
  std::uint32_t* spare;    // per object: 1 if a writer may take it
  std::uint32_t* counts;   // objects reclaimed; objects seen after that
  std::uint32_t objects, rounds;
  bool delegated;

  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    const Rcu rcu(state);
    for (std::uint32_t r = 0; r < rounds && !warp.aborted(); ++r) {
      if ((r + warp.worker() + warp.lane()) % 4 == 0) {
        write(warp, rcu, r);
      } else {
        const std::uint32_t section = rcu.enter();
        const std::uint32_t seen = atomic_ref<std::uint32_t>(*current).load(simt::acquire);
        if (seen != 0 && alive[seen - 1] != 1)
          atomic_ref<std::uint32_t>(counts[1]).fetch_add(1, simt::relaxed);
        rcu.leave(section);
      }
    }
  }

  template <class Warp>
  void write(Warp& warp, const Rcu& rcu, std::uint32_t r) const {
    std::uint32_t mine = (r * 5 + warp.worker()) % objects;
    while (atomic_ref<std::uint32_t>(spare[mine]).exchange(0, simt::acquire) == 0) {
      mine = (mine + 1) % objects;
      if (warp.aborted()) return;
      warp.pause(r);
    }
    alive[mine] = 1;
    const std::uint32_t old = atomic_ref<std::uint32_t>(*current).exchange(mine + 1, simt::acq_rel);
    if (old == 0) return;
    const auto reclaim = [&](std::uint32_t i) {
      alive[i] = 0;
      atomic_ref<std::uint32_t>(counts[0]).fetch_add(1, simt::relaxed);
      atomic_ref<std::uint32_t>(spare[i]).exchange(1, simt::release);
    };
    if (delegated) {
      rcu.retire(
          warp, Delegation(work), old - 1, [this](std::uint32_t i) { return &link[i]; }, reclaim);
    } else {
      const std::uint32_t alone = 1u << warp.lane();
      if (!CollectiveMutex(mutex).lock(warp, alone)) return;
      const bool over = rcu.barrier(warp);
      CollectiveMutex(mutex).unlock(warp, alone);
      if (over) reclaim(old - 1);
    }
  }
};

TYPED_TEST(Waiting, RcuGivesNothingBackThatIsStillRead) {
  for (const bool delegated : {false, true}) {
    constexpr std::uint32_t objects = 64;
    RcuState state;
    std::uint32_t work = 0, mutex = 0, current = 0, counts[2] = {};
    std::vector<std::uint32_t> link(objects), alive(objects), spare(objects, 1);
    Replacer k;
    k.state = &state;
    k.work = &work;
    k.mutex = &mutex;
    k.link = link.data();
    k.alive = alive.data();
    k.current = &current;
    k.spare = spare.data();
    k.counts = counts;
    k.objects = objects;
    k.rounds = 400;
    k.delegated = delegated;
    TestFixture::run(k);
    EXPECT_EQ(counts[0], TestFixture::lanes * 100u - 1);  // all but the current one
    EXPECT_EQ(counts[1], 0u);
    EXPECT_EQ(std::accumulate(alive.begin(), alive.end(), 0u), 1u);
    EXPECT_EQ(work | mutex, 0u);
  }
}

// The lanes that arrive together enter together. Each increments a non-atomic word that it shares
// with the same lane of other warps.
struct Together : Bare {
  std::uint32_t* mutex;
  std::uint64_t* counted;  // per lane, non-atomic
  std::uint32_t* owners;   // sets of lanes that own the mutex
  std::uint32_t* wrong;
  std::uint32_t rounds;

  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    const CollectiveMutex m(mutex);
    for (std::uint32_t r = 0; r < rounds; ++r) {
      const std::uint32_t lanes = warp.together();
      if (!m.lock(warp, lanes)) return;
      const bool leads = warp.lane() == simt::lowest_bit(lanes);
      if (leads && atomic_ref<std::uint32_t>(*owners).fetch_add(1, simt::relaxed) != 0) ++*wrong;
      ++counted[warp.lane()];
      const std::uint32_t all = warp.ballot(lanes, true);
      if (all != lanes) ++*wrong;
      if (leads) atomic_ref<std::uint32_t>(*owners).fetch_sub(1, simt::relaxed);
      m.unlock(warp, lanes);
    }
  }
};

TYPED_TEST(Waiting, CollectiveMutexHasOneOwningSet) {
  std::uint32_t mutex = 0, owners = 0, wrong = 0;
  std::vector<std::uint64_t> counted(32);
  Together k;
  k.mutex = &mutex;
  k.counted = counted.data();
  k.owners = &owners;
  k.wrong = &wrong;
  k.rounds = 300;
  TestFixture::run(k);
  EXPECT_EQ(std::accumulate(counted.begin(), counted.end(), std::uint64_t{0}),
            300u * TestFixture::lanes);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(mutex, 0u);
}

}  // namespace
}  // namespace heapwood::alloc
