// SPDX-License-Identifier: MIT
// Groups of lanes (LaneGroup) that are in the same collectives at the same time, with first lanes
// that poll for different times while the others wait for them. Every result of a collective is
// compared with what the group's lanes must get.
//   groups [ROUNDS]
#include <heapwood/alloc/primitives/lane_group.hpp>
#include <heapwood/simt/this_thread.hpp>

#include <cstdlib>

#include "tests/library/gpu/check.hpp"

using heapwood::alloc::LaneGroup;
using Thread = heapwood::simt::ThisThread;
using namespace heapwood_test;

constexpr unsigned kinds = 5;

struct Errors {
  unsigned once, first_of, reduce_or, part;
};

// Which of the lanes act together: all, halves, even and odd lanes, eight groups, drawn ones.
__device__ unsigned key_of(unsigned kind, unsigned lane, unsigned warp, unsigned round) {
  switch (kind) {
    case 0:
      return 0;
    case 1:
      return lane / 16;
    case 2:
      return lane % 2;
    case 3:
      return lane % 8;
    default:
      return draw(warp * 32 + lane, round) % 6;
  }
}
// Polls a word of memory for a drawn time, as a first lane that waits for another thread.
__device__ unsigned poll(const Thread& thread, const volatile unsigned* word, unsigned drawn) {
  const long long end = clock64() + drawn % 4096;
  unsigned turn = 0;
  while (*word != ~0u && clock64() < end) thread.pause(turn++);
  return drawn;
}

__global__ void collectives(unsigned kind, unsigned rounds, const volatile unsigned* word,
                            Errors* errors) {
  const Thread thread;
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = thread.lane();
  for (unsigned round = 0; round < rounds; ++round) {
    // Some lanes are late, so that groups are parts of a warp.
    if (kind == 4 && draw(warp * 32 + lane, round + 7) % 4 == 0) poll(thread, word, round * 977);
    const unsigned key = key_of(kind, lane, warp, round);
    LaneGroup<Thread> group(thread,
                            thread.together(reinterpret_cast<const void*>(std::size_t{key + 1})));
    for (unsigned turn = 0; turn < 3; ++turn) {
      const unsigned lanes = group.lanes(), first = __ffs(static_cast<int>(lanes)) - 1;
      // The lanes of a group may be in different rounds.
      const unsigned wanted = draw(warp * 32 + first, lanes);
      const auto wanted64 = std::uint64_t{wanted} << 32 | lanes;
      const std::uint64_t got = group.once([&] {
        poll(thread, word, wanted);
        return wanted64;
      });
      if (got != wanted64) atomicAdd(&errors->once, 1);
      const unsigned last = 31 - __clz(static_cast<int>(lanes));
      if (group.first_of(lane == last, lane, 99u) != last) atomicAdd(&errors->first_of, 1);
      if (group.reduce_or(1u << lane) != lanes) atomicAdd(&errors->reduce_or, 1);
      group.sync();
      // Even and odd ranks part, like lanes whose blocks fit and lanes whose blocks do not.
      const bool side = group.rank() % 2 == 0;
      const unsigned rank = group.rank(), size = group.size();
      group = group.part(side);
      if (group.size() != (side ? size - size / 2 : size / 2) || group.rank() != rank / 2)
        atomicAdd(&errors->part, 1);
      if (!side) break;
    }
  }
}

int main(int count, char** arguments) {
  const unsigned rounds = count > 1 ? static_cast<unsigned>(std::atoi(arguments[1])) : 200;
  Errors* errors = nullptr;
  unsigned* word = nullptr;
  check_cuda(cudaMallocManaged(&errors, sizeof(Errors)));
  check_cuda(cudaMallocManaged(&word, sizeof(unsigned)));
  *word = 0;
  for (unsigned kind = 0; kind < kinds; ++kind) {
    *errors = {};
    collectives<<<264, 256>>>(kind, rounds, word, errors);
    check_cuda(cudaDeviceSynchronize());
    std::printf("groups of kind %u: wrong results of once %u, first_of %u, reduce_or %u, part %u\n",
                kind, errors->once, errors->first_of, errors->reduce_or, errors->part);
    check(errors->once == 0 && errors->first_of == 0 && errors->reduce_or == 0 &&
          errors->part == 0);
  }
  return finish("groups");
}
