// SPDX-License-Identifier: MIT
// What a heap prints if it was full and the program fails: each case is a process of its own, this
// program with an argument, whose output is compared.
#include <sys/wait.h>

#include <cstring>
#include <heapwood/heap.hpp>
#include <string>

#include "tests/library/gpu/check.hpp"

using heapwood_test::check;

__global__ void allocate(heapwood::heap_handle h, std::size_t bytes) { h.malloc(bytes); }
// Never compares with nullptr: the write is a fault once the heap is full.
__global__ void allocate_and_write(heapwood::heap_handle h) {
  for (int i = 0; i < 1000; ++i) *static_cast<int*>(h.malloc(1440)) = i;
}

heapwood::heap_options reporting() {
  heapwood::heap_options options;
  options.report_full = true;
  return options;
}

// The cases. The result is the exit status.
int fault(bool exits, bool asks) {
  heapwood::heap heap(16 << 20, {}, reporting());
  allocate_and_write<<<100, 128>>>(heap.handle());
  if (cudaDeviceSynchronize() == cudaSuccess) return 9;
  if (exits) std::exit(3);
  try {
    if (asks) heap.stats();
  } catch (const heapwood::Error& error) {
    std::printf("%s\n", error.what());
  }
  return 3;
}
int refused() {
  heapwood::heap heap(16 << 20, {}, reporting());
  allocate<<<10, 128>>>(heap.handle(), 100 << 20);
  const heapwood::heap_stats stats = heap.stats();
  heap.reset();
  if (heap.stats().too_large != 0) return 9;
  allocate<<<10, 100>>>(heap.handle(), 100 << 20);
  return stats.too_large == 1280 && stats.first_refused_bytes == 100 << 20 ? 3 : 9;
}
// What a program allocates after cudaDeviceReset() may have the addresses of the heap.
int reset_device(bool reports) {
  heapwood::heap_options options;
  options.report_full = reports;
  void* mine = nullptr;
  const char value = 7;
  char read = 0;
  {
    heapwood::heap heap(16 << 20, {}, options);
    allocate<<<10, 128>>>(heap.handle(), 100);
    if (cudaDeviceReset() != cudaSuccess || cudaMalloc(&mine, (16 << 20) + 256) != cudaSuccess)
      return 9;
    cudaMemcpy(mine, &value, 1, cudaMemcpyHostToDevice);
  }
  if (cudaGetLastError() != cudaSuccess) return 8;
  if (cudaMemcpy(&read, mine, 1, cudaMemcpyDeviceToHost) != cudaSuccess || read != value) return 7;
  return cudaFree(mine) == cudaSuccess ? 3 : 6;
}

// Runs a case in a process of its own; returns what it prints.
std::string output_of(const std::string& program, const char* name) {
  std::FILE* const pipe = popen((program + " " + name + " 2>&1").c_str(), "r");
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  const int status = pclose(pipe);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  std::printf("%s: %s", name, text.c_str());
  return text;
}

int main(int count, char** arguments) {
  const std::string name = count > 1 ? arguments[1] : "";
  if (name == "fault") return fault(false, false);
  if (name == "exit") return fault(true, false);
  if (name == "stats") return fault(false, true);
  if (name == "refused") return refused();
  if (name == "reset") return reset_device(true);
  if (name == "reset_silent") return reset_device(false);
  const auto has = [&](const char* which, const char* part) {
    return output_of(arguments[0], which).find(part) != std::string::npos;
  };
  check(has("fault", "heapwood: the heap of 16 MiB was full: "));
  check(has("exit", "refused, the first of 1,440 bytes\n"));
  check(has("stats", "; the heap of 16 MiB was full: "));
  check(output_of(arguments[0], "refused") ==
        "heapwood: the heap of 16 MiB is too small: 1,000 requests refused, the first of "
        "104,857,600 bytes\n");
  check(output_of(arguments[0], "reset").empty());
  check(output_of(arguments[0], "reset_silent").empty());
  return heapwood_test::finish("full_report");
}
