// SPDX-License-Identifier: MIT
// `new` and `delete` in device code, from a heap of the program's size: a tree of objects with
// virtual functions, built and evaluated by each thread.
#include <cstdio>
#include <heapwood/operator_new.hpp>
#include <heapwood/parallel.hpp>

struct Expression {
  HEAPWOOD_DEVICE virtual ~Expression() {}
  HEAPWOOD_DEVICE virtual long value() const = 0;
};

struct Constant : Expression {
  long number;
  HEAPWOOD_DEVICE explicit Constant(long n) : number(n) {}
  HEAPWOOD_DEVICE ~Constant() override {}
  HEAPWOOD_DEVICE long value() const override { return number; }
};

struct Sum : Expression {
  Expression *left, *right;
  HEAPWOOD_DEVICE Sum(Expression* l, Expression* r) : left(l), right(r) {}
  HEAPWOOD_DEVICE ~Sum() override {
    delete left;
    delete right;
  }
  HEAPWOOD_DEVICE long value() const override { return left->value() + right->value(); }
};

struct Evaluate {
  long* results;

  HEAPWOOD_DEVICE void operator()(unsigned thread) const {
    Expression* all = new Constant(thread);
    for (long i = 1; i <= 10; ++i) all = new Sum(all, new Constant(i));
    results[thread] = all->value();
    delete all;
  }
};

int main() {
  constexpr unsigned threads = 500;
  heapwood::heap heap(16 << 20);
  heapwood::use_for_new(heap);
  heapwood::shared_array<long> results(threads);
  heapwood::for_each_thread(threads, Evaluate{results.data()});

  for (unsigned thread = 0; thread < threads; ++thread) {
    if (results[thread] != static_cast<long>(thread) + 55) {
      std::printf("thread %u: %ld\n", thread, results[thread]);
      return 1;
    }
  }
  const heapwood::heap_stats stats = heap.stats();
  std::printf("%u trees are right; %llu requests were refused\n", threads,
              static_cast<unsigned long long>(stats.full));
  return stats.full == 0 && heap.report_leaks() == 0 ? 0 : 1;
}
