// SPDX-License-Identifier: MIT
// The Allocator concept: a device-memory allocator manages one pool of device memory.
//
//   struct Example {                                   // a trivially copyable handle, passed to kernels by value
//     static constexpr AllocatorTraits traits{.id = "example", .label = "Example", .paper = "...", ...};
//     template <class Device>                          // host: lays the pool out (also resets it), in parallel
//     static Example create(Pool, const AllocatorOptions&, const Device&);
//     template <class Thread> SIMT_FN void* allocate(Thread&, std::size_t bytes);   // any subset of a warp's lanes
//     template <class Thread> SIMT_FN void deallocate(Thread&, void*);              // nullptr is a no-op
//     template <class Visitor> void walk(const HostView&, Visitor) const;           // at quiescence: every region
//     static void release(Pool, const simt::DeviceId&);  // optional: gives back what was taken outside the pool
//     struct WarpState; template <class Warp> class Context;  // optional: a warp's own part of it, below
//   };
//
// allocate returns 16-byte aligned memory or nullptr (full, or the request is larger than it can serve), and never
// hangs; a request of 0 bytes gets a valid unique pointer, as if it were 1. Thread is one lane of a simt::Warp. An
// allocator keeps its tables inside the pool, so that the pool's size is its whole footprint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "simt/config.hpp"
#include "simt/error.hpp"
#include "simt/memory.hpp"

namespace heapwood::alloc {

inline constexpr std::size_t granule = 16;  // bytes: unit of every size and alignment

SIMT_INLINE std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }
// Bytes that a request occupies at least: a multiple of the granule, never 0.
SIMT_INLINE std::size_t padded(std::size_t bytes) { return bytes == 0 ? granule : round_up(bytes, granule); }

enum class Frees : std::uint8_t { never, all_at_once, individually };

struct AllocatorTraits {
  const char* id;         // on the command line and in JSON
  const char* label;      // in tables: "CFMalloc"
  const char* paper;      // where it was published, short: "RegEff 5.3"
  const char* note = "";  // what a user should know, one sentence; shown by `list`
  Frees frees = Frees::individually;
  bool lower_bound = false;          // cannot free: marked with * in tables, never named the winner
  bool keeps_live_memory = true;     // false: may hand out memory that is still in use (AWMalloc as published)
  std::size_t smallest_pool = 4096;  // bytes below which create() throws Error{Exit::usage}
  std::size_t cache_bytes_per_warp =
      0;                // made use of for each warp that stays and allocates all the time; for `--pool fast`
  bool in_pool = true;  // blocks lie inside the pool; false: elsewhere (device malloc), walk() reports nothing
};

// One block of device memory, aligned to 256 bytes.
struct Pool {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};

// Where allocators that serve small requests only send large ones: to a buddy in their pool, or to the platform's malloc,
// as the published ones do (primitives/large_part.hpp, heap_part.hpp).
enum class LargeBackend : std::uint8_t { buddy, builtin };

struct AllocatorOptions {
  bool wait_when_full = false;  // retry until the launch is aborted instead of returning nullptr (RegEff's behaviour)
  std::size_t smallest_chunk =
      0;                       // circular lists: bytes of the smallest chunk of the pre-split (RegEff: 16); 0 = chosen
  std::size_t page_bytes = 0;  // scatter: 0 = chosen
  // heapwood: warps with contexts of their own do most of it, and what they allocate they soon free. Then larger arenas pay.
  bool has_persistent_warps = false;
  std::size_t spare_bytes_for_warps = 0;  // of the pool, bytes beyond what is in use at once: such warps may keep them
  // heeded by stress() (stress_run.hpp), where the allocator has a type WithBuiltin; create() does not look at it
  LargeBackend large_backend = LargeBackend::buddy;
};

// Host access to device memory at quiescence, for walk() and tests.
class HostView {
 public:
  explicit HostView(const simt::DeviceId& device) : device_(device) {}
  template <class T>
  std::vector<T> read(const T* device_pointer, std::size_t count) const {
    std::vector<T> host(count);
    if (count) simt::device_download(device_, host.data(), device_pointer, count * sizeof(T));
    return host;
  }
  template <class T>
  T read(const T* device_pointer) const {
    T value;
    simt::device_download(device_, &value, device_pointer, sizeof(T));
    return value;
  }

 private:
  simt::DeviceId device_;
};

// A stretch of the pool as walk() reports it, in order of offset. Regions plus metadata cover the pool exactly.
struct Region {
  enum class State : std::uint8_t { free, used, held, metadata };  // held: freed, but not reusable until neighbours are
  std::size_t offset = 0;                                          // bytes from the pool's base
  std::size_t bytes = 0;
  State state = State::free;
};

// For create(): the pool must be there, aligned, and no smaller than the traits say.
inline void check_pool(const AllocatorTraits& traits, const Pool& pool) {
  if (pool.bytes < traits.smallest_pool) {
    throw Error(Exit::usage, std::string(traits.id) + ": a pool of " + std::to_string(pool.bytes) +
                                 " bytes is too small; give at least " + std::to_string(traits.smallest_pool));
  }
  if (reinterpret_cast<std::uintptr_t>(pool.base) % 256 != 0) {
    throw Error(Exit::failed, std::string(traits.id) + ": the pool is not aligned to 256 bytes");
  }
}

// Calls A::release at the end of its scope, where A has one: declared behind every create(), since a launch that is
// stopped leaves blocks behind.
template <class A>
class ReleaseAtEnd {
 public:
  ReleaseAtEnd(Pool pool, const simt::DeviceId& device) : pool_(pool), device_(device) {}
  ReleaseAtEnd(const ReleaseAtEnd&) = delete;
  ReleaseAtEnd& operator=(const ReleaseAtEnd&) = delete;
  ~ReleaseAtEnd() {
    if constexpr (requires { A::release(pool_, device_); }) A::release(pool_, device_);
  }

 private:
  Pool pool_;
  simt::DeviceId device_;
};

// An allocator may have a class template Context: what one warp keeps for itself from a kernel's begin to its end. All
// lanes of the warp call it together, with the same arguments, and get the same, and sync between two calls. Sizes are in
// granules, in 32 bits, and below 2^30: that is less to execute. Blocks are freed with their size:
//     struct WarpState;                                          // in the warp's fast memory
//     Context(const Example&, Warp&, WarpState&);
//     void begin(Warp&);                                         // the warp will wait for its first work; need not be called
//     void* allocate(Warp&, std::uint32_t n);
//     BlockPair allocate_two(Warp&, std::uint32_t first, std::uint32_t second);
//                            // both or none, which the first says; of 0 granules it is an address that means nothing
//     void deallocate(Warp&, void*, std::uint32_t n);            // syncs: behind it all lanes are done with the block
//     bool try_exchange(Warp&, void*, std::uint32_t n, std::uint32_t first, std::uint32_t second, BlockPair&);
//                            // frees a block of n and allocates two, not both of 0, if that takes no call out of line;
//                            // false: nothing has happened. What was freed can be read until the warp's next call
//     bool try_deallocate(Warp&, void*, std::uint32_t n);        // in the same way
//     void idle(Warp&);                                          // the warp is about to wait
//     bool may_keep() const;                                     // the warp may free what it is done with a little later
//     void end(Warp&);                                           // keeps nothing; also in between
// Blocks of a context and others are alike: each may be freed by either. Adaptors have no context.
struct BlockPair {
  void* first = nullptr;
  void* second = nullptr;
};
struct NoContext {
  struct WarpState {};
  template <class... Any>
  SIMT_INLINE explicit NoContext(const Any&...) {}
};
template <class A>
struct WarpStateOf {
  using Type = NoContext::WarpState;
};
template <class A>
requires requires { typename A::WarpState; }
struct WarpStateOf<A> {
  using Type = typename A::WarpState;
};
template <class A, class Warp>
struct ContextOf {
  using Type = NoContext;
};
template <class A, class Warp>
requires requires { typename A::template Context<Warp>; }
struct ContextOf<A, Warp> {
  using Type = typename A::template Context<Warp>;
};

// One attempt, or with `wait` attempts until one succeeds or the launch is aborted.
template <class Thread, class Attempt>
SIMT_INLINE void* attempt_until(Thread& thread, bool wait, Attempt attempt) {
  // One call, so that the attempt is compiled in once.
  void* block = nullptr;
  SIMT_ROLLED
  for (unsigned turn = 0; (block = attempt()) == nullptr && wait && !thread.aborted(); ++turn) thread.pause(turn);
  return block;
}

}  // namespace heapwood::alloc
