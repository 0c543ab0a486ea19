// SPDX-License-Identifier: MIT
#include "bench/program/out_of_memory.hpp"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "simt/error.hpp"

namespace heapwood::bench {

namespace {

constexpr std::size_t reserve_bytes = std::size_t{4} << 20;  // a report of thousands of results
std::atomic<char*> reserve = nullptr;
thread_local int scopes_that_end = 0;
thread_local bool has_run_out = false;

void release_reserve() {
  if (const char* held = reserve.exchange(nullptr)) {
    delete[] held;
    return;
  }
  if (scopes_that_end > 0) ::_exit(out_of_memory());
  has_run_out = true;
  throw std::bad_alloc();
}

void on_uncaught_exception() {
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    ::_exit(out_of_memory());
  } catch (...) {
  }
  // A function that does not throw has cleaned up: the exception is not known here.
  if (!std::current_exception() && has_run_out) ::_exit(out_of_memory());
  std::abort();
}

}  // namespace

void prepare_for_lack_of_memory() {
  std::set_terminate(on_uncaught_exception);
  reserve = new char[reserve_bytes];
  std::set_new_handler(release_reserve);
}

int out_of_memory() {
  constexpr std::string_view line =
      "heapwood: error: out of host memory; use a smaller scene or --pool\n";
  std::fflush(stdout);
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line.data(), line.size());
  return static_cast<int>(Exit::failed);
}

LackOfMemoryEnds::LackOfMemoryEnds() { ++scopes_that_end; }
LackOfMemoryEnds::~LackOfMemoryEnds() { --scopes_that_end; }

}  // namespace heapwood::bench
