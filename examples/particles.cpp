// SPDX-License-Identifier: MIT
// Particles that spawn secondaries until their energy is used up; their number is not known in
// advance. The first heap is deliberately too small: the program detects that, and runs again with
// twice the memory until no particle is lost.
#include <cstdio>
#include <cuda/atomic>
#include <heapwood/heap.hpp>
#include <heapwood/parallel.hpp>

struct Particle {
  Particle* next;  // next in the stack of its thread
  float energy;
  float path[2000];  // data that a real program would keep
  HEAPWOOD_DEVICE Particle(Particle* n, float e) : next(n), energy(e) {}
};

struct Totals {
  unsigned long long particles, lost;
  double absorbed;
};

struct Simulate {
  heapwood::heap_handle heap;
  Totals* totals;

  HEAPWOOD_DEVICE void operator()(unsigned thread) const {
    Totals sum{};
    unsigned random = thread * 747796405u + 2891336453u;
    Particle* stack = heap.make<Particle>(nullptr, 64.0f);
    if (stack == nullptr) ++sum.lost;
    while (stack != nullptr) {
      Particle* const particle = stack;
      stack = particle->next;
      ++sum.particles;
      random = random * 747796405u + 2891336453u;
      const float kept = particle->energy * (0.1f + 0.1f * static_cast<float>(random >> 31));
      const float rest = particle->energy - kept;
      sum.absorbed += kept;
      if (rest < 0.5f) {
        sum.absorbed += rest;
      } else {
        for (int i = 0; i < 2; ++i) {
          Particle* const child = heap.make<Particle>(stack, rest / 2);
          if (child == nullptr) {
            ++sum.lost;
          } else {
            stack = child;
          }
        }
      }
      heap.destroy(particle);
    }
    totals[thread] = sum;
  }
};

int main() {
  constexpr unsigned threads = 1000;
  for (std::size_t bytes = 64 << 10;; bytes *= 2) {
    heapwood::heap heap(bytes);
    heapwood::shared_array<Totals> totals(threads);
    heapwood::for_each_thread(threads, Simulate{heap.handle(), totals.data()});

    Totals all{};
    for (unsigned thread = 0; thread < threads; ++thread) {
      all.particles += totals[thread].particles;
      all.lost += totals[thread].lost;
      all.absorbed += totals[thread].absorbed;
    }
    const heapwood::heap_stats stats = heap.stats();
    std::printf("%7zu KiB: %llu particles, %llu lost, energy %.2f of %.2f\n", bytes >> 10,
                all.particles, all.lost, all.absorbed, 64.0 * threads);
    if (stats.full + stats.too_large > 0) {
      std::printf("             the first request refused was of %zu bytes; try more memory\n",
                  stats.first_refused_bytes);
      continue;
    }
    const bool is_right =
        all.lost == 0 && all.absorbed > 63.9 * threads && all.absorbed < 64.1 * threads;
    return is_right && heap.report_leaks() == 0 ? 0 : 1;
  }
}
