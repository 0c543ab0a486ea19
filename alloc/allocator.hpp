// SPDX-License-Identifier: MIT
// The Allocator concept: a device-memory allocator manages one pool of device memory.
//
//   // a trivially copyable handle, passed to kernels by value
//   struct Example {
//     static constexpr AllocatorTraits traits{.id = "example", .label = "Example", ...};
//     // host: lays out or resets the pool, in parallel
//     template <class Device> static Example create(Pool, const AllocatorOptions&, const Device&);
//     // called by any subset of a warp's lanes
//     template <class Thread> HEAPWOOD_FN void* allocate(Thread&, std::size_t bytes);
//     // nullptr is a no-op
//     template <class Thread> HEAPWOOD_FN void deallocate(Thread&, void*);
//     // at quiescence: visits every region
//     template <class Visitor> void walk(const HostView&, Visitor) const;
//     // optional: returns what was taken outside the pool
//     static void release(Pool, const simt::DeviceId&);
//     // optional: what follows its id on the command line
//     static constexpr AllocatorSetting settings[] = {...};
//     // optional: per-warp state, see below
//     struct WarpState; template <class Warp> class Context;
//   };
//
// allocate returns 16-byte aligned memory, or nullptr if the pool is exhausted or the request is
// larger than the allocator can serve, and never hangs (unless options say to wait until there is
// memory). A request of 0 bytes gets a valid unique pointer, as if it were 1. Thread is one lane of
// a simt::Warp. Tables are inside the pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "simt/config.hpp"
#if !defined(__CUDACC_RTC__)
#include "simt/error.hpp"
#include "simt/memory.hpp"
#endif

namespace heapwood::alloc {

inline constexpr std::size_t granule = 16;  // bytes: unit of every size and alignment

HEAPWOOD_INLINE constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}
// The minimum number of bytes that a request occupies: a multiple of the granule, never 0.
HEAPWOOD_INLINE std::size_t padded(std::size_t bytes) {
  return bytes == 0 ? granule : round_up(bytes, granule);
}

enum class Frees : std::uint8_t { never, all_at_once, individually };

struct AllocatorTraits {
  const char* id;     // on the command line and in JSON
  const char* label;  // in tables: "CFMalloc"
  const char* paper;  // where it was published, short: "RegEff 5.3"
  // One sentence for the user; shown by `list`.
  const char* note = "";
  Frees frees = Frees::individually;
  // Cannot free: marked with * in tables, never named the winner.
  bool lower_bound = false;
  // False: may hand out memory that is still in use (AWMalloc as published).
  bool keeps_live_memory = true;
  std::size_t smallest_pool = 4096;  // bytes below which create() throws Error{Exit::usage}
  // Memory that a persistent warp can keep cached; used by `--pool fast`.
  std::size_t cache_bytes_per_warp = 0;
  // Whether blocks lie inside the pool. If not (device malloc), walk() reports nothing.
  bool in_pool = true;
};

// One block of device memory, aligned to 256 bytes.
struct Pool {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};

// The backend for large requests of allocators that serve only small ones: a buddy in their pool,
// or the platform's malloc, as in the published ones (primitives/large_part.hpp).
enum class LargeBackend : std::uint8_t { buddy, builtin };

struct AllocatorOptions {
  // An allocator that cannot serve a request retries until it can or the launch is aborted, as
  // RegEff does, instead of returning nullptr.
  bool wait_when_full = false;
  // Settings of single allocators (AllocatorSetting); a size of 0 is chosen by the allocator.
  // Circular lists: bytes of the smallest chunk of the pre-split (RegEff: 16).
  std::size_t smallest_chunk = 0;
  // Published circular lists: the initial chunks are binary heaps (RegEff equation 1) down to
  // `smallest_chunk`, or all of that size; or, as their authors chose them, heaps down to chunks
  // of one request (tests), or chunks of the root's array and smaller ones (builds).
  enum class Presplit : std::uint8_t { heap, uniform, payload, root };
  Presplit presplit = Presplit::heap;
  // Bytes of a request of a stress test, or of a build's first array; 0: unknown.
  std::size_t request_bytes = 0;
  std::size_t page_bytes = 0;  // scatter
  std::size_t slab_bytes = 0;  // halloc
  // Ouroboros: bytes of a chunk, a power of two from 256 to 8192 (published: 8192); max slots of a
  // class's queue of pages (published: 2,000,000).
  std::size_t chunk_bytes = 0, queue_slots = 0;
  // Ouroboros: where a thread starts to search for a free chunk. spread: at a chunk hashed per
  // thread; lowest: at the first chunk.
  enum class ChunkSearch : std::uint8_t { spread, lowest };
  ChunkSearch chunk_search = ChunkSearch::spread;
  // Heapwood: most requests come from warps with a context; for short-lived blocks larger arenas
  // are faster.
  bool has_persistent_warps = false;
  // Bytes of the pool that no live block needs, so that persistent warps may cache them.
  std::size_t spare_bytes_for_warps = 0;
  // Heapwood: the initial bytes for blocks of a pool whose end has no memory yet (arena::Growth);
  // 0: all of the pool has memory. Not with persistent warps.
  std::size_t initial_bytes = 0;
  // Used by stress() (workloads/stress_run.hpp) if the allocator has a type WithBuiltin.
  LargeBackend large_backend = LargeBackend::buddy;
};

#if !defined(__CUDACC_RTC__)
// Whether `stress --coalesced` has the allocator: RegEff compares its own allocators so.
constexpr bool has_coalesced_form(const AllocatorTraits& traits) {
  return std::string_view(traits.paper).find("RegEff") != std::string_view::npos;
}

// A setting of an allocator, which follows its id on the command line: `scatter:page=64K`. An
// allocator that has some lists them in a static array `settings`.
struct AllocatorSetting {
  const char* key;
  const char* json;   // its key in results
  const char* about;  // one line for the user
  // The accepted words in the order of their values, the default first: "spread lowest".
  const char* words = nullptr;
  // A setting without words: a number from min to max, or 0 (default): the allocator chooses.
  std::size_t min = 0, max = 0;
  bool is_bytes = true;  // a power of two
  // Set by setting_of<&AllocatorOptions::...>().
  std::size_t (*get)(const AllocatorOptions&) = nullptr;
  void (*set)(AllocatorOptions&, std::size_t) = nullptr;
};

template <auto option>
std::size_t get_option(const AllocatorOptions& options) {
  return static_cast<std::size_t>(options.*option);
}
template <auto option>
void set_option(AllocatorOptions& options, std::size_t value) {
  auto& member = options.*option;
  member = static_cast<std::remove_reference_t<decltype(member)>>(value);
}
template <auto option>
constexpr AllocatorSetting setting_of(AllocatorSetting setting) {
  setting.get = get_option<option>;
  setting.set = set_option<option>;
  return setting;
}

// Host access to device memory at quiescence, for walk() and tests.
class HostView {
 public:
  // `id`: a DeviceId, or a device for which simt::device_download is overloaded.
  template <class Id = simt::DeviceId>
  explicit HostView(const Id& id)
      : download_([id](void* to, const void* from, std::size_t bytes) {
          simt::device_download(id, to, from, bytes);
        }) {}
  template <class T>
  std::vector<T> read(const T* device_pointer, std::size_t count) const {
    std::vector<T> host(count);
    if (count) download_(host.data(), device_pointer, count * sizeof(T));
    return host;
  }
  template <class T>
  T read(const T* device_pointer) const {
    T value;
    download_(&value, device_pointer, sizeof(T));
    return value;
  }

 private:
  std::function<void(void*, const void*, std::size_t)> download_;
};
#endif

// A region of the pool, reported by walk() in order of offset. Regions and metadata cover the pool.
struct Region {
  // `held`: freed, but not reusable until its neighbours are freed. `heapwood_free` is a second
  // name for `free`, for code that includes heapwood/malloc.hpp, whose macro renames `free`.
  enum class State : std::uint8_t { free, used, held, metadata, heapwood_free = free };
  std::size_t offset = 0;  // bytes from the pool's base
  std::size_t bytes = 0;
  State state = State::free;
};

#if !defined(__CUDACC_RTC__)
// The regions of a pool in order of offset. No kernel may be running.
template <class A>
std::vector<Region> regions_of(const A& allocator, const simt::DeviceId& device) {
  std::vector<Region> regions;
  allocator.walk(HostView(device), [&](const Region& region) { regions.push_back(region); });
  return regions;
}

// For create(): checks that the pool exists, is aligned, and is no smaller than the traits say.
inline void check_pool(const AllocatorTraits& traits, const Pool& pool) {
  if (pool.bytes < traits.smallest_pool) {
    throw Error(Exit::usage, std::string(traits.id) + ": a pool of " + std::to_string(pool.bytes) +
                                 " bytes is too small; give at least " +
                                 std::to_string(traits.smallest_pool));
  }
  if (reinterpret_cast<std::uintptr_t>(pool.base) % 256 != 0) {
    throw Error(Exit::failed, std::string(traits.id) + ": the pool is not aligned to 256 bytes");
  }
}

// Base class of an allocator A; adds A::create(), which calls Base::lay_out().
template <class A, class Base>
struct LaidOut : Base {
  template <class Device>
  static A create(Pool pool, const AllocatorOptions& options, const Device& device) {
    A a;
    a.lay_out(A::traits, pool, options, device);
    return a;
  }
};

#endif

// Whether A's traits are known at compile time. Those of Erased are known only at run time.
template <class A, class = void>
inline constexpr bool has_static_traits = false;
template <class A>
inline constexpr bool has_static_traits<A, std::void_t<std::bool_constant<A::traits.in_pool>>> =
    true;
// Whether A is an adaptor, that is, has an allocator as a member `base`.
template <class A, class = void>
inline constexpr bool has_base = false;
template <class A>
inline constexpr bool has_base<A, std::void_t<decltype(std::declval<const A&>().base)>> = true;
#if !defined(__CUDACC_RTC__)
// The traits of A, or of the allocator that an ErasedDevice names.
template <class A, class Device>
const AllocatorTraits& traits_on(const Device& device) {
  if constexpr (has_static_traits<A>) {
    return A::traits;
  } else {
    return device.allocator_traits();
  }
}
#endif
// Single traits, for code that runs on the GPU too: from A's static traits if it has them,
// otherwise from the handle.
template <class A>
HEAPWOOD_INLINE bool is_in_pool(const A& allocator) {
  if constexpr (has_static_traits<A>) {
    return std::bool_constant<A::traits.in_pool>::value;
  } else if constexpr (has_base<A>) {
    return is_in_pool(allocator.base);
  } else {
    return allocator.in_pool();
  }
}
template <class A>
HEAPWOOD_INLINE bool frees_individually(const A& allocator) {
  if constexpr (has_static_traits<A>) {
    return std::bool_constant<A::traits.frees == Frees::individually>::value;
  } else if constexpr (has_base<A>) {
    return frees_individually(allocator.base);
  } else {
    return allocator.frees_individually();
  }
}
// Known at compile time: never_frees, A never frees; stays_in_pool, its blocks lie in the pool.
template <class A, bool = has_static_traits<A>>
inline constexpr bool never_frees = false;
template <class A>
inline constexpr bool never_frees<A, true> = A::traits.frees == Frees::never;
template <class A, bool = has_static_traits<A>>
inline constexpr bool stays_in_pool = false;
template <class A>
inline constexpr bool stays_in_pool<A, true> = A::traits.in_pool;

// Base class of adaptors over Base. Passes Base's traits on if they are known at compile time.
template <class Base, bool = has_static_traits<Base>>
struct AdaptorTraits {};
template <class Base>
struct AdaptorTraits<Base, true> {
  static constexpr AllocatorTraits traits = Base::traits;
};

#if !defined(__CUDACC_RTC__)
template <class A, class Device, class = void>
inline constexpr bool releases_on = false;
template <class A, class Device>
inline constexpr bool releases_on<
    A, Device, std::void_t<decltype(A::release(Pool{}, std::declval<const Device&>()))>> = true;
// Calls A::release, if A has one.
template <class A, class Device>
void release_pool(Pool pool, const Device& device) {
  if constexpr (releases_on<A, std::decay_t<decltype(device.id())>>) {
    A::release(pool, device.id());
  } else if constexpr (releases_on<A, Device>) {
    A::release(pool, device);
  }
}
// Calls release_pool in its destructor.
template <class A, class Device>
class ReleaseAtEnd {
 public:
  ReleaseAtEnd(Pool pool, const Device& device) : pool_(pool), device_(device) {}
  ReleaseAtEnd(ReleaseAtEnd&&) = delete;
  ~ReleaseAtEnd() { release_pool<A>(pool_, device_); }

 private:
  Pool pool_;
  const Device& device_;
};
#endif

// An allocator may have a class template Context: state that one warp holds from the beginning to
// the end of a kernel. All lanes of the warp call it together, with the same arguments, get the
// same results, and sync between two calls. Sizes are in granules, below 2^30. Blocks are freed
// with their size:
//
//   struct WarpState;                              // in the warp's fast memory
//   Context(const Example&, Warp&, WarpState&);
//   void begin(Warp&);                             // before the wait for the first work; optional
//   void* allocate(Warp&, std::uint32_t n);
//   BlockPair allocate_pair(Warp&, std::uint32_t first, std::uint32_t second);
//       // both blocks or none; `first` is nullptr then. A block of 0 granules has an arbitrary
//       // address.
//   void deallocate(Warp&, void*, std::uint32_t n);
//       // syncs: after the call all lanes are done with the block
//   bool may_shrink(std::uint32_t n) const;
//       // whether the owner of a block of n granules may keep a part of it: deallocate() and
//       // try_deallocate() then take the address and the size of that part
//   bool try_allocate(Warp&, std::uint32_t n, void*& block);
//       // allocates a block, if that needs no call of a function that is not inlined. False:
//       // nothing has happened. A block of 0 granules has an arbitrary address.
//   bool make_room(Warp&, std::uint32_t n);
//       // after a failed try_allocate(): whether it is worth repeating. False: allocate() or
//       // allocate_pair() is needed.
//   bool try_deallocate(Warp&, void*, std::uint32_t n);
//       // frees a block under the same conditions. Its contents stay intact until the warp's next
//       // call.
//   void release_if_scarce(Warp&);                 // before the warp waits
//   bool may_delay_frees() const;                  // whether blocks may be freed a little later
//   void end(Warp&);                               // releases everything; may be called repeatedly
//
// In a pool created with `has_persistent_warps`, each block may be freed either way; in others, as
// it was allocated. Adaptors have no context.
//
// Such an allocator may also say how many warps suit its pool. Host code:
//
//   unsigned preferred_warps(unsigned max) const;  // at most `max`, the warps that can be resident
struct BlockPair {
  void* first = nullptr;
  void* second = nullptr;
};
struct NoContext {
  struct WarpState {};
  template <class... Any>
  HEAPWOOD_INLINE explicit NoContext(const Any&...) {}
};
template <class A, class = void>
struct WarpStateOf {
  using Type = NoContext::WarpState;
};
template <class A>
struct WarpStateOf<A, std::void_t<typename A::WarpState>> {
  using Type = typename A::WarpState;
};
template <class A, class Warp, class = void>
struct ContextOf {
  using Type = NoContext;
};
template <class A, class Warp>
struct ContextOf<A, Warp, std::void_t<typename A::template Context<Warp>>> {
  using Type = typename A::template Context<Warp>;
};

// Makes one attempt or, with `wait`, attempts until one succeeds or the launch is aborted.
template <class Thread, class Attempt>
HEAPWOOD_INLINE void* attempt_until(Thread& thread, bool wait, Attempt attempt) {
  // The attempt is called in one place, so that it is inlined once.
  void* block = nullptr;
  HEAPWOOD_ROLLED
  for (unsigned turn = 0; (block = attempt()) == nullptr && wait && !thread.aborted(); ++turn)
    thread.pause(turn);
  return block;
}

}  // namespace heapwood::alloc
