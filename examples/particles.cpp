// SPDX-License-Identifier: MIT
// Particles that emit and split; their number is not known in advance. Each thread keeps a list of
// chunks, by the code of `heapwood particles`. The first heap is deliberately too small: the
// program detects that, and runs again with twice the memory until no particle is lost.
#include <cstdio>
#include <heapwood/heap.hpp>
#include <heapwood/parallel.hpp>

#include "workloads/particles/particle.hpp"

namespace particles = heapwood::workloads::particles;
using particles::List;
using particles::Tally;

struct Simulate {
  heapwood::heap_handle heap;
  particles::Round round;
  List* lists;
  Tally* tallies;
  bool ends;  // frees the lists

  HEAPWOOD_DEVICE void operator()(unsigned primary) const {
    const heapwood::heap_handle& from = heap;
    particles::update_list(
        round, primary, lists[primary], ends, tallies[primary],
        [&](std::size_t bytes) { return from.malloc(bytes); },
        [&](void* block) { from.free(block); }, [] { return false; });
  }
};

int main() {
  constexpr unsigned primaries = 1000, rounds = 50;
  for (std::size_t bytes = 64 << 10;; bytes *= 2) {
    heapwood::heap heap(bytes);
    heapwood::shared_array<List> lists(primaries);
    heapwood::shared_array<Tally> tallies(primaries);
    const auto simulate = [&](unsigned number, bool ends) {
      const particles::Round round{1, primaries, number, number == 0 ? 5u << 16 : 1u << 16};
      heapwood::for_each_thread(primaries,
                                Simulate{heap.handle(), round, lists.data(), tallies.data(), ends});
    };
    for (unsigned number = 0; number < rounds; ++number) simulate(number, false);
    simulate(rounds, true);

    Tally all{};
    for (unsigned primary = 0; primary < primaries; ++primary) all.add(tallies[primary]);
    const heapwood::heap_stats stats = heap.stats();
    std::printf("%7zu KiB: %llu particles born, %llu lost\n", bytes >> 10,
                static_cast<unsigned long long>(all.sums[Tally::born]),
                static_cast<unsigned long long>(all.sums[Tally::refused]));
    if (stats.full + stats.too_large > 0) {
      std::printf("             the first request refused was of %zu bytes; try more memory\n",
                  stats.first_refused_bytes);
      continue;
    }
    return all.sums[Tally::born] == all.sums[Tally::died] && heap.report_leaks() == 0 ? 0 : 1;
  }
}
