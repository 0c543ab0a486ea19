// SPDX-License-Identifier: MIT
#include "simt/device.hpp"

#include <sys/mman.h>
#include <unistd.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <thread>

#include "simt/cuda_runtime.hpp"
#include "simt/launch.hpp"
#include "simt/memory.hpp"

namespace heapwood::simt {

namespace {

std::atomic<bool> interrupt_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free);

std::atomic<MemorySource*> memory_source{nullptr};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (begin != line.npos) return line.substr(begin);
  }
  return "CPU";
}

// Bytes that can be allocated without swapping (MemAvailable of /proc/meminfo).
std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::size_t kib = 0;
  for (std::string unit; file >> key >> kib >> unit;) {
    if (key == "MemAvailable:") return kib << 10;
  }
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

DeviceInfo describe_cpu(int threads) {
  DeviceInfo info;
  info.id = {DeviceKind::cpu, 0, threads};
  info.key = "cpu";
  info.name = processor_name();
  info.usable = true;
  info.multiprocessors = threads > 0 ? static_cast<unsigned>(threads)
                                     : std::max(1u, std::thread::hardware_concurrency());
  info.memory_bytes = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return info;
}

// AddressSanitizer finds accesses in the guard behind each block of CPU threads. Without it there
// is none.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t guard_bytes = 4096;
void set_guard(void* block, std::size_t bytes, bool is_set) {
  void* const guard = static_cast<std::byte*>(block) + bytes;
  is_set ? __asan_poison_memory_region(guard, guard_bytes)
         : __asan_unpoison_memory_region(guard, guard_bytes);
}
#else
constexpr std::size_t guard_bytes = 0;
void set_guard(void*, std::size_t, bool) {}
#endif

}  // namespace

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> all = cuda_runtime::list();
  all.push_back(describe_cpu(0));
  return all;
}

DeviceInfo find_device(const std::string& key, int threads) {
  if (key == "cpu") return describe_cpu(threads);
  if (key == "auto") {
    for (int i = 0; i < cuda_runtime::count(); ++i) {
      if (DeviceInfo info = cuda_runtime::describe(i); info.usable) return info;
    }
    return describe_cpu(threads);
  }
  if (key == "cuda") return find_device("cuda:0", threads);
  const bool well_formed = key.size() > 5 && key.rfind("cuda:", 0) == 0 && key.size() < 9 &&
                           key.find_first_not_of("0123456789", 5) == std::string::npos;
  if (!well_formed)
    throw Error(Exit::usage, "device '" + key + "': expected auto, cpu, cuda or cuda:N");
  const int index = std::stoi(key.substr(5));
  const int count = cuda_runtime::count();
  if (count > 0 && index >= count)
    throw Error(Exit::device, "device '" + key + "': no such GPU; see 'heapwood list devices'");
  DeviceInfo info = cuda_runtime::describe(index);
  if (!info.usable)
    throw Error(Exit::device, "device '" + key + "': " + info.reason + " (or use --device cpu)");
  return info;
}

DeviceInfo describe(const DeviceId& id) {
  return id.kind == DeviceKind::cpu ? describe_cpu(id.threads)
                                    : find_device("cuda:" + std::to_string(id.index));
}

void interrupt() noexcept { interrupt_flag.store(true, std::memory_order_relaxed); }
bool interrupted() noexcept { return interrupt_flag.load(std::memory_order_relaxed); }
void clear_interrupt() noexcept { interrupt_flag.store(false, std::memory_order_relaxed); }

void set_memory_source(MemorySource* source) noexcept {
  // release: publishes the constructed source.
  memory_source.store(source, std::memory_order_release);
}

void* platform_allocate(const DeviceId& device, std::size_t bytes) {
  if (device.kind == DeviceKind::cuda) return cuda_runtime::allocate(device.index, bytes);
  if (bytes > available_memory()) return nullptr;
  // Reserves addresses only: untouched pages take no memory, so a pool may be many times larger
  // than what a build touches.
  void* pointer = mmap(nullptr, bytes + guard_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pointer == MAP_FAILED) return nullptr;
  set_guard(pointer, bytes, true);
  // Requests huge pages, because a tree's accesses are scattered.
  if (bytes >= (std::size_t{4} << 20)) madvise(pointer, bytes, MADV_HUGEPAGE);
  return pointer;
}

void platform_free(const DeviceId& device, void* block, std::size_t bytes) noexcept {
  if (device.kind == DeviceKind::cuda) return cuda_runtime::free(device.index, block);
  set_guard(block, bytes, false);
  munmap(block, bytes + guard_bytes);
}

std::size_t platform_available(const DeviceId& device) {
  return device.kind == DeviceKind::cuda ? cuda_runtime::available(device.index)
                                         : available_memory();
}

void* device_allocate(const DeviceId& device, std::size_t bytes) {
  // acquire: makes the constructed source visible.
  MemorySource* source = memory_source.load(std::memory_order_acquire);
  void* pointer = source ? source->allocate(device, bytes) : platform_allocate(device, bytes);
  if (pointer == nullptr) {
    const std::string name =
        device.kind == DeviceKind::cuda ? "cuda:" + std::to_string(device.index) : "cpu";
    throw Error(Exit::failed, name + ": cannot allocate " + std::to_string(bytes >> 20) +
                                  " MiB of device memory (" +
                                  std::to_string(device_available(device) >> 20) +
                                  " MiB available); use a smaller --pool or scene");
  }
  return pointer;
}

void device_free(const DeviceId& device, void* pointer, std::size_t bytes) noexcept {
  // acquire: makes the constructed source visible.
  MemorySource* source = memory_source.load(std::memory_order_acquire);
  if (source) return source->deallocate(device, pointer);
  platform_free(device, pointer, bytes);
}

void device_upload(const DeviceId& device, void* to, const void* from_host, std::size_t bytes) {
  if (device.kind == DeviceKind::cuda)
    return cuda_runtime::upload(device.index, to, from_host, bytes);
  std::memcpy(to, from_host, bytes);
}

void device_download(const DeviceId& device, void* to_host, const void* from, std::size_t bytes) {
  if (device.kind == DeviceKind::cuda)
    return cuda_runtime::download(device.index, to_host, from, bytes);
  std::memcpy(to_host, from, bytes);
}

void device_fill(const DeviceId& device, void* to, int byte, std::size_t bytes) {
  if (device.kind == DeviceKind::cuda) return cuda_runtime::fill(device.index, to, byte, bytes);
  std::memset(to, byte, bytes);
}

void reserve_malloc_heap(const DeviceId& device, std::size_t bytes, bool exactly) {
  if (device.kind == DeviceKind::cuda)
    cuda_runtime::reserve_malloc_heap(device.index, bytes, exactly);
}

void limit_multiprocessors(const DeviceId& device, unsigned count) {
  if (device.kind == DeviceKind::cuda) cuda_runtime::limit_multiprocessors(device.index, count);
}

std::size_t device_available(const DeviceId& device) {
  // acquire: makes the constructed source visible.
  MemorySource* source = memory_source.load(std::memory_order_acquire);
  return source ? source->available(device) : platform_available(device);
}

void* pinned_allocate(const DeviceId& device, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* const pointer = device.kind == DeviceKind::cuda ? cuda_runtime::pinned_allocate(bytes)
                                                        : ::operator new(bytes, std::nothrow);
  if (pointer == nullptr) {
    throw Error(Exit::failed,
                "cannot allocate " + std::to_string(bytes) + " bytes of host memory for uploads");
  }
  return pointer;
}

void pinned_free(const DeviceId& device, void* pointer) noexcept {
  if (pointer == nullptr) return;
  if (device.kind == DeviceKind::cuda)
    cuda_runtime::pinned_free(pointer);
  else
    ::operator delete(pointer);
}

void check_outcome(std::uint32_t code, const std::uint64_t (&operand)[3], bool stopped,
                   bool was_interrupted, const LaunchLimits& limits) {
  const std::string what = limits.what;
  if (code != 0) {
    throw KernelFailure(code, operand[0], operand[1], operand[2],
                        what + ": the kernel stopped with error " + std::to_string(code));
  }
  if (!stopped) return;
  if (was_interrupted) throw Stopped(Stopped::Reason::interrupted, what + ": interrupted");
  char limit[32];
  std::snprintf(limit, sizeof limit, "%g",
                limits.stated_seconds > 0 ? limits.stated_seconds : limits.seconds);
  throw Stopped(Stopped::Reason::time_limit,
                what + ": not finished after " + limit +
                    " s, stopped; raise --timeout if it may take longer");
}

void check_interruption(const LaunchLimits& limits) {
  check_outcome(0, {}, interrupted(), true, limits);
}

}  // namespace heapwood::simt
