// SPDX-License-Identifier: MIT
// Every launch ends: normally, with the kernel's error, at the time limit, or on Ctrl-C. No warp
// passes a barrier early, and every warp sees all writes before it.
#include <gtest/gtest.h>

#include <array>
#include <new>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "simt/barrier.hpp"
#include "tests/errors.hpp"
#include "tests/simt/function_kernel.hpp"
#include "tests/simt/lockstep.hpp"
#include "tests/simt/turned_clock.hpp"

namespace heapwood::simt {
namespace {

using tests::caught, tests::FunctionKernel, tests::TurnedClock;

// Every warp waits for all others, which requires that all are resident, and then counts itself.
// workers = 0: as many warps as the device has threads.
template <class Device>
void expect_meeting(const Device& device, unsigned workers) {
  const unsigned all = workers != 0 ? workers : device.multiprocessors();
  std::uint32_t arrived = 0;
  std::vector<std::uint32_t> seen(all);
  const FunctionKernel meet{[&](auto& warp) {
    const atomic_ref<std::uint32_t> count(arrived);
    if (warp.lane() == 0) count.fetch_add(1, release);
    const bool met = wait_until(warp, [&] { return count.load(acquire) == warp.workers(); });
    warp.sync();
    if (warp.lane() == 0) seen[warp.worker()] += met ? 1 : 0;
  }};
  device.launch(meet, workers);
  EXPECT_EQ(device.template resident_warps<decltype(meet)>(), device.multiprocessors());
  EXPECT_EQ(arrived, all);
  EXPECT_EQ(seen, std::vector<std::uint32_t>(all, 1));
}

// All lanes wait with wait_until_all: the condition of some lanes is true from the start, and no
// lane continues before the others.
template <class Device>
void expect_meeting_of_lanes(const Device& device, unsigned workers) {
  std::uint32_t arrived = 0;
  std::vector<std::uint32_t> seen(workers);
  device.launch(FunctionKernel{[&](auto& warp) {
                  const atomic_ref<std::uint32_t> count(arrived);
                  if (warp.lane() == 0) count.fetch_add(1, release);
                  const bool waits = warp.lane() == warp.width - 1;
                  const bool met = wait_until_all(
                      warp, [&] { return !waits || count.load(acquire) == warp.workers(); });
                  const bool all = count.load(acquire) == warp.workers();
                  if (warp.ballot(met && all) == (2u << (warp.width - 1)) - 1 && warp.lane() == 0)
                    seen[warp.worker()] += 1;
                }},
                workers);
  EXPECT_EQ(seen, std::vector<std::uint32_t>(workers, 1));
}

TEST(Launch, AllWarpsRunAtOnce) {
  expect_meeting(Cpu(), 1);
  expect_meeting(Cpu(), 9);
  expect_meeting(Lockstep<4>(), 3);
}

TEST(Launch, LanesWaitTogether) {
  expect_meeting_of_lanes(Cpu(), 9);
  expect_meeting_of_lanes(Lockstep<4>(), 3);
  expect_meeting_of_lanes(Lockstep<32>(), 2);
}

TEST(Launch, ThreadsOfTheDeviceAreTheDefault) {
  const Cpu cpu({.threads = 3});
  EXPECT_EQ(cpu.threads(), 3u);
  EXPECT_GE(Cpu().threads(), 1u);
  expect_meeting(cpu, 0);
  expect_meeting(Lockstep<4>(5), 0);
}

TEST(Launch, ForEachVisitsEveryIndexOnce) {
  for (const std::size_t n : {0u, 1u, 5u, 4095u, 4096u, 100001u}) {
    std::vector<std::uint32_t> visits(n);
    Cpu({.threads = 3}).for_each(n, [&](std::size_t i) { ++visits[i]; });
    EXPECT_EQ(visits, std::vector<std::uint32_t>(n, 1));
  }
}

// Every warp adds the number of warps to its word.
auto visit(std::vector<std::uint32_t>& visits) {
  return FunctionKernel{[&](auto& warp) {
    if (warp.lane() == 0)
      atomic_ref<std::uint32_t>(visits[warp.worker()]).fetch_add(warp.workers(), relaxed);
  }};
}

TEST(Launch, ForEachUsesAllThreadsForItemsThatAreWorthIt) {
  const Cpu cpu({.threads = 3});
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
    const Cpu cpu({.threads = 3});
    EXPECT_GE(cpu.launch_independent(visit(visits), warps), 0);
    EXPECT_EQ(visits, std::vector<std::uint32_t>(warps, warps));
  }
  std::vector<std::uint32_t> visits(6);
  Lockstep<4>(2).launch_independent(visit(visits), 5);
  EXPECT_EQ(visits, std::vector<std::uint32_t>(6, 6));
}

// Never ends; each iteration takes a millisecond of a TurnedClock.
const FunctionKernel spin{
    [](auto& warp) { wait_until(warp, [] { return TurnedClock::turn(1e-3), false; }); }};
const FunctionKernel spin_all_lanes{[](auto& warp) {
  if (wait_until_all(warp, [&] { return TurnedClock::turn(1e-3), warp.lane() != 0; })) warp.fail(1);
}};

template <class Device, class Kernel>
void expect_time_limit(const Device& device, const Kernel& kernel) {
  const TurnedClock clock;
  const HostClock::time_point start = HostClock::now();
  const auto stopped = caught<Stopped>(
      [&] { device.launch(kernel, 2, {.seconds = 0.05, .what = "the spinning kernel"}); });
  EXPECT_EQ(stopped.reason(), Stopped::Reason::time_limit);
  EXPECT_EQ(stopped.exit(), Exit::failed);
  EXPECT_STREQ(stopped.what(),
               "the spinning kernel: not finished after 0.05 s, stopped; raise --timeout if it "
               "may take longer");
  EXPECT_GE(seconds_since(start), 0.05);
}

TEST(Launch, EndsAtTheTimeLimit) {
  expect_time_limit(Cpu(), spin);
  expect_time_limit(Lockstep<4>(), spin);
  expect_time_limit(Cpu(), spin_all_lanes);
  expect_time_limit(Lockstep<4>(), spin_all_lanes);
}

TEST(Launch, EndsOnAnInterrupt) {
  clear_interrupt();
  EXPECT_FALSE(interrupted());
  const FunctionKernel interrupt_itself{[](auto& warp) {
    if (warp.worker() == 0) interrupt();
    wait_until(warp, [] { return false; });
  }};
  EXPECT_EQ(caught<Stopped>([&] { Cpu().launch(interrupt_itself, 2); }).reason(),
            Stopped::Reason::interrupted);
  EXPECT_TRUE(interrupted());
  std::vector<std::uint32_t> visits(1);
  // No launch begins after an interruption.
  EXPECT_THROW(Cpu().launch(visit(visits), 1), Stopped);
  EXPECT_EQ(visits.front(), 0u);
  clear_interrupt();
  EXPECT_FALSE(interrupted());
  expect_meeting(Cpu(), 2);  // launches work again
}

// One warp fails, all others wait for a condition that never becomes true, or at a barrier.
template <class Device>
void expect_failure(const Device& device) {
  std::uint32_t arrived = 0;
  const FunctionKernel fail{[&](auto& warp) {
    if (warp.worker() == 0) {
      if (warp.lane() == 0) warp.fail(42, 1, std::uint64_t{1} << 40, ~std::uint64_t{0});
    } else if (warp.worker() == 1) {
      EXPECT_FALSE(wait_until(warp, [] { return false; }));
      EXPECT_TRUE(warp.aborted());
    } else {
      Barrier barrier(&arrived);
      EXPECT_FALSE(barrier.arrive_and_wait(warp));
    }
  }};
  const auto failure =
      caught<KernelFailure>([&] { device.launch(fail, 4, {.what = "the failing kernel"}); });
  EXPECT_EQ(failure.code, 42u);
  EXPECT_EQ(failure.operand[0], 1u);
  EXPECT_EQ(failure.operand[1], std::uint64_t{1} << 40);
  EXPECT_EQ(failure.operand[2], ~std::uint64_t{0});
  EXPECT_EQ(failure.exit(), Exit::failed);
  EXPECT_NE(std::string(failure.what()).find("the failing kernel"), std::string::npos);
}

TEST(Launch, FailureCarriesCodeAndOperands) {
  expect_failure(Cpu());
  expect_failure(Lockstep<4>());
}

// A launch may get what is left of a longer limit: the message states the whole limit.
TEST(Launch, MessageStatesTheWholeLimit) {
  const TurnedClock clock;
  const auto stopped = caught<Stopped>(
      [] { Cpu().launch(spin, 1, {.seconds = 0.03, .what = "the part", .stated_seconds = 7}); });
  EXPECT_EQ(stopped.reason(), Stopped::Reason::time_limit);
  EXPECT_EQ(std::string(stopped.what()).find("the part: not finished after 7 s"), 0u)
      << stopped.what();
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

TEST(Launch, AnExceptionOfAWarpEndsTheLaunch) {
  const FunctionKernel fail_in_one{[](auto& warp) {
    if (warp.worker() == 1) throw std::bad_alloc();
    wait_until(warp, [] { return false; });
  }};
  EXPECT_THROW(Cpu({.threads = 4}).launch(fail_in_one), std::bad_alloc);
}

// Barrier: in each round every lane writes its own word and then checks the words of all lanes.
template <class Device>
void expect_rounds(const Device& device, unsigned warps) {
  const std::uint32_t lanes = warps * Device::Warp::width;
  std::uint32_t arrived = 0, wrong = 0;
  // [round % 2][worker * width + lane]: a warp that is a round ahead writes to the other half.
  std::vector<std::uint32_t> words(2 * std::size_t{lanes});
  device.launch(FunctionKernel{[&](auto& warp) {
                  Barrier barrier(&arrived);
                  for (std::uint32_t round = 1; round <= 50; ++round) {
                    std::uint32_t* const half = words.data() + round % 2 * lanes;
                    half[warp.worker() * warp.width + warp.lane()] = round;
                    if (!barrier.arrive_and_wait(warp)) return;
                    for (std::uint32_t i = 0; i < lanes; ++i) {
                      if (half[i] != round) atomic_ref<std::uint32_t>(wrong).fetch_add(1, relaxed);
                    }
                  }
                }},
                warps);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(arrived, 50 * warps);
}

TEST(Barrier, NoWarpRunsAhead) {
  for (const unsigned warps : {1u, 2u, 7u}) expect_rounds(Cpu(), warps);
  expect_rounds(Lockstep<4>(), 1);
  expect_rounds(Lockstep<4>(), 3);
}

}  // namespace
}  // namespace heapwood::simt
