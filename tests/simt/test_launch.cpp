// SPDX-License-Identifier: MIT
// Every launch ends: normally, with the kernel's error, at the time limit, or on Ctrl-C.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <new>
#include <numeric>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "simt/lockstep.hpp"
#include "tests/simt/turned_clock.hpp"

namespace heapwood::simt {
namespace {

using tests::TurnedClock;

// Every warp waits for all others, which requires that all are resident, and then counts itself.
struct Meet {
  struct Scratch {};
  std::uint32_t* arrived;
  std::uint32_t* seen;  // [worker]
  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    const atomic_ref<std::uint32_t> count(*arrived);
    if (warp.lane() == 0) count.fetch_add(1, release);
    const bool met = wait_until(warp, [&] { return count.load(acquire) == warp.workers(); });
    warp.sync();
    if (warp.lane() == 0) seen[warp.worker()] += met ? 1 : 0;
  }
};

// As Meet, but all lanes wait with wait_until_all: the condition of some lanes is true from the
// start, and no lane continues before the others.
struct MeetAllLanes {
  struct Scratch {};
  std::uint32_t* arrived;
  std::uint32_t* seen;
  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    const atomic_ref<std::uint32_t> count(*arrived);
    if (warp.lane() == 0) count.fetch_add(1, release);
    const bool waits = warp.lane() == warp.width - 1;
    const bool met =
        wait_until_all(warp, [&] { return !waits || count.load(acquire) == warp.workers(); });
    const bool all = count.load(acquire) == warp.workers();
    if (warp.ballot(met && all) == (2u << (warp.width - 1)) - 1 && warp.lane() == 0)
      seen[warp.worker()] += 1;
  }
};

template <class Kernel = Meet, class Device>
void expect_meeting(const Device& device, unsigned workers) {
  std::uint32_t arrived = 0;
  std::vector<std::uint32_t> seen(workers);
  device.launch(Kernel{&arrived, seen.data()}, workers);
  EXPECT_EQ(arrived, workers);
  EXPECT_EQ(seen, std::vector<std::uint32_t>(workers, 1));
}

TEST(Launch, AllWarpsRunAtOnce) {
  expect_meeting(Cpu(), 1);
  expect_meeting(Cpu(), 9);
  expect_meeting(Lockstep<4>(), 3);
}

TEST(Launch, LanesWaitTogether) {
  expect_meeting<MeetAllLanes>(Cpu(), 9);
  expect_meeting<MeetAllLanes>(Lockstep<4>(), 3);
  expect_meeting<MeetAllLanes>(Lockstep<32>(), 2);
}

TEST(Launch, ThreadsOfTheDeviceAreTheDefault) {
  const Cpu cpu({.kind = DeviceKind::cpu, .index = 0, .threads = 3});
  EXPECT_EQ(cpu.threads(), 3u);
  EXPECT_EQ(cpu.resident_warps<Meet>(), 3u);
  EXPECT_GE(Cpu().threads(), 1u);
  std::uint32_t arrived = 0;
  std::vector<std::uint32_t> seen(3);
  cpu.launch(Meet{&arrived, seen.data()});
  EXPECT_EQ(arrived, 3u);
  EXPECT_EQ(Lockstep<4>(5).resident_warps<Meet>(), 5u);
}

TEST(Launch, ForEachVisitsEveryIndexOnce) {
  for (const std::size_t n : {0u, 1u, 5u, 4095u, 4096u, 100001u}) {
    std::vector<std::uint32_t> visits(n);
    Cpu({.kind = DeviceKind::cpu, .index = 0, .threads = 3}).for_each(n, [&](std::size_t i) {
      ++visits[i];
    });
    EXPECT_EQ(visits, std::vector<std::uint32_t>(n, 1));
  }
}

// Every warp counts itself.
struct Visit {
  struct Scratch {};
  std::uint32_t* visits;  // [worker]
  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    if (warp.lane() == 0)
      atomic_ref<std::uint32_t>(visits[warp.worker()]).fetch_add(warp.workers(), relaxed);
  }
};

TEST(Launch, ForEachUsesAllThreadsForItemsThatAreWorthIt) {
  const Cpu cpu({.kind = DeviceKind::cpu, .index = 0, .threads = 3});
  for (const auto& [min_items, threads] : {std::pair{std::size_t{2}, 3u}, {std::size_t{101}, 1u}}) {
    std::array<std::thread::id, 100> ids;
    cpu.for_each(
        ids.size(), [&](std::size_t i) { ids[i] = std::this_thread::get_id(); }, min_items);
    EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), threads);
  }
}

TEST(Launch, IndependentWarpsMayBeMoreThanFit) {
  for (const unsigned warps : {1u, 3u, 1000u}) {
    std::vector<std::uint32_t> visits(warps);
    const Cpu cpu({.kind = DeviceKind::cpu, .index = 0, .threads = 3});
    EXPECT_GE(cpu.launch_independent(Visit{visits.data()}, warps), 0);
    EXPECT_EQ(visits, std::vector<std::uint32_t>(warps, warps));
  }
  std::vector<std::uint32_t> visits(5);
  Lockstep<4>(2).launch_independent(Visit{visits.data()}, 5);
  EXPECT_EQ(visits, std::vector<std::uint32_t>(5, 5));
}

// Never ends; each iteration takes a millisecond of a TurnedClock.
struct Spin {
  struct Scratch {};
  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    wait_until(warp, [] { return TurnedClock::turn(1e-3), false; });
  }
};

struct SpinAllLanes {
  struct Scratch {};
  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    const bool met =
        wait_until_all(warp, [&] { return TurnedClock::turn(1e-3), warp.lane() != 0; });
    if (met) warp.fail(1);
  }
};

template <class Kernel = Spin, class Device>
void expect_time_limit(const Device& device) {
  const TurnedClock clock;
  const HostClock::time_point start = HostClock::now();
  try {
    device.launch(Kernel{}, 2, {.seconds = 0.05, .what = "the spinning kernel"});
    FAIL() << "not stopped";
  } catch (const Stopped& stopped) {
    EXPECT_EQ(stopped.reason(), Stopped::Reason::time_limit);
    EXPECT_EQ(stopped.exit(), Exit::failed);
    EXPECT_STREQ(stopped.what(),
                 "the spinning kernel: not finished after 0.05 s, stopped; raise --timeout if it "
                 "may take longer");
  }
  EXPECT_GE(seconds_since(start), 0.05);
}

TEST(Launch, TimeLimit) {
  expect_time_limit(Cpu());
  expect_time_limit(Lockstep<4>());
  expect_time_limit<SpinAllLanes>(Cpu());
  expect_time_limit<SpinAllLanes>(Lockstep<4>());
}

// The first warp interrupts its launch; none ends by itself.
struct InterruptAndSpin : Spin {
  template <class Warp>
  void operator()(Warp& warp, Scratch& scratch) const {
    if (warp.worker() == 0) interrupt();
    Spin::operator()(warp, scratch);
  }
};

TEST(Launch, Interrupt) {
  clear_interrupt();
  EXPECT_FALSE(interrupted());
  try {
    Cpu().launch(InterruptAndSpin{}, 2);
    ADD_FAILURE() << "not stopped";
  } catch (const Stopped& stopped) {
    EXPECT_EQ(stopped.reason(), Stopped::Reason::interrupted);
  }
  EXPECT_TRUE(interrupted());
  std::vector<std::uint32_t> visits(1);
  // No launch begins after an interruption.
  EXPECT_THROW(Cpu().launch(Visit{visits.data()}, 1), Stopped);
  EXPECT_EQ(visits.front(), 0u);
  clear_interrupt();
  EXPECT_FALSE(interrupted());
  expect_meeting(Cpu(), 2);  // launches work again
}

// One warp fails, all others wait for a condition that never becomes true.
struct Fail {
  struct Scratch {};
  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    if (warp.worker() == 0) {
      if (warp.lane() == 0) warp.fail(42, 1, std::uint64_t{1} << 40, ~std::uint64_t{0});
    } else {
      EXPECT_FALSE(wait_until(warp, [] { return false; }));
      EXPECT_TRUE(warp.aborted());
    }
  }
};

template <class Device>
void expect_failure(const Device& device) {
  try {
    device.launch(Fail{}, 3, {.what = "the failing kernel"});
    FAIL() << "no error";
  } catch (const KernelFailure& failure) {
    EXPECT_EQ(failure.code, 42u);
    EXPECT_EQ(failure.operand[0], 1u);
    EXPECT_EQ(failure.operand[1], std::uint64_t{1} << 40);
    EXPECT_EQ(failure.operand[2], ~std::uint64_t{0});
    EXPECT_EQ(failure.exit(), Exit::failed);
    EXPECT_NE(std::string(failure.what()).find("the failing kernel"), std::string::npos);
  }
}

TEST(Launch, FailureCarriesCodeAndOperands) {
  expect_failure(Cpu());
  expect_failure(Lockstep<4>());
}

// Each item checks that it sees the writes of all preceding launches.
struct Advance {
  struct Scratch {};
  std::uint32_t* steps;  // [items]
  std::size_t items;
  std::uint32_t step;
  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    for_items(warp, items, [&](std::size_t item) {
      if (steps[item] != step) warp.fail(7, item, steps[item]);
      warp.sync();
      if (warp.lane() == 0) steps[item] = step + 1;
    });
  }
};

template <class Device>
void expect_order(const Device& device) {
  std::vector<std::uint32_t> steps(100);
  auto stream = device.stream({.seconds = 60, .what = "the stream"});
  for (std::uint32_t step = 0; step < 3; ++step) {
    stream.launch(Advance{steps.data(), steps.size(), step}, steps.size());
    EXPECT_EQ(stream.read(&steps[99]), step + 1);
  }
  EXPECT_EQ(steps, std::vector<std::uint32_t>(100, 3));
  EXPECT_EQ(stream.launches(), 3u);
  EXPECT_GT(stream.finish(), 0.0);
  EXPECT_THROW(stream.launch(Advance{steps.data(), steps.size(), 0}, steps.size()), KernelFailure);
}

TEST(Stream, LaunchesRunInOrder) {
  expect_order(Cpu({.kind = DeviceKind::cpu, .index = 0, .threads = 3}));
  expect_order(Lockstep<4>());
}

// The time limit covers all launches of a stream and the host code between them.
TEST(Stream, LimitAndInterrupt) {
  std::uint32_t step = 0;
  const TurnedClock clock;
  auto stream = Cpu().stream({.seconds = 0.02, .what = "the stream"});
  stream.launch(Advance{&step, 1, 0}, 1);
  TurnedClock::turn(0.03);
  EXPECT_THROW(stream.read(&step), Stopped);
  EXPECT_THROW(stream.launch(Advance{&step, 1, 1}, 1), Stopped);
  EXPECT_EQ(step, 1u);
  auto other = Cpu().stream({.seconds = 60, .what = "the stream"});
  interrupt();
  EXPECT_THROW(other.launch(Advance{&step, 1, 1}, 1), Stopped);
  clear_interrupt();
  other.launch(Advance{&step, 1, 1}, 1);
  EXPECT_EQ(other.read(&step), 2u);
}

// A launch may get what is left of a longer limit: the message states that one.
TEST(Launch, MessageStatesTheWholeLimit) {
  const TurnedClock clock;
  try {
    Cpu().launch(Spin{}, 1, {.seconds = 0.03, .what = "the part", .stated_seconds = 7});
    ADD_FAILURE() << "not stopped";
  } catch (const Stopped& stopped) {
    EXPECT_EQ(std::string(stopped.what()).find("the part: not finished after 7 s"), 0u)
        << stopped.what();
  }
}

// The message states the limit of the stream, not what earlier launches left of it.
TEST(Stream, MessageStatesTheWholeLimit) {
  const TurnedClock clock;
  auto stream = Cpu().stream({.seconds = 0.25, .what = "the stream"});
  TurnedClock::turn(0.03);
  try {
    stream.launch(Spin{}, 16);
    ADD_FAILURE() << "not stopped";
  } catch (const Stopped& stopped) {
    EXPECT_EQ(stopped.reason(), Stopped::Reason::time_limit);
    EXPECT_EQ(std::string(stopped.what()).find("the stream: not finished after 0.25 s"), 0u)
        << stopped.what();
  }
}

TEST(Control, RecordsTheFirstError) {
  Control control;
  EXPECT_FALSE(control.aborted());
  control.fail(3, 30, 31, 32);
  control.fail(4, 40);
  EXPECT_TRUE(control.aborted());
  EXPECT_EQ(control.code, 3u);
  EXPECT_EQ(control.operand[0], 30u);
  EXPECT_EQ(control.operand[2], 32u);
}

// One warp fails while the others wait for it.
struct FailInOne {
  struct Scratch {};
  template <class Warp>
  void operator()(Warp& warp, Scratch&) const {
    if (warp.worker() == 1) throw std::bad_alloc();
    wait_until(warp, [] { return false; });
  }
};

TEST(Launch, AnExceptionOfAWarpEndsTheLaunch) {
  const Cpu launcher({.threads = 4});
  EXPECT_THROW(launcher.launch(FailInOne{}, 0, {.seconds = 100}), std::bad_alloc);
}

}  // namespace
}  // namespace heapwood::simt
