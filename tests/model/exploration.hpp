// SPDX-License-Identifier: MIT
// Explores all interleavings of the threads of a model, visiting each reachable state once. A step
// of a thread is one atomic operation, so the models are sequentially consistent: memory orders are
// covered by ThreadSanitizer. A model derives from Exploration, reports a violation by `wrong_`,
// and must detect broken versions of its protocol (expect_sound).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace heapwood {

// The type of a state's numbers.
using Byte = std::int8_t;

// State is compared by its bytes: it has no padding, and a model clears registers that are not read
// again, so that states with the same future are one.
template <class State>
class Exploration {
 public:
  Exploration(const Exploration&) = delete;
  virtual ~Exploration() = default;

  // Returns the first violation, or an empty string.
  std::string explore() {
    visit(start(), no_state);
    while (!todo_.empty() && wrong_.empty()) {
      const std::int32_t from = todo_.back();
      todo_.pop_back();
      const State state = all_[static_cast<std::size_t>(from)];
      if (is_end(state)) {
        ends_.push_back(from);
        check_end(state);
      }
      bool moves = false, ended = true;
      for (int thread = 0; thread < threads_ && wrong_.empty(); ++thread) {
        if (has_ended(state, thread)) continue;
        ended = false;
        choices_ = 1;
        for (int choice = 0; choice < choices_ && wrong_.empty(); ++choice) {
          State next = state;
          if (!step(next, thread, choice)) continue;
          moves = true;
          if (wrong_.empty()) visit(next, from);
        }
      }
      if (wrong_.empty() && !ended && !moves) wrong_ = "all threads wait";
    }
    if (wrong_.empty() && must_end_) check_that_all_end();
    return wrong_;
  }
  std::size_t states() const { return all_.size(); }
  std::size_t ends() const { return ends_.size(); }

 protected:
  // must_end: an end must be reachable from every state.
  explicit Exploration(std::size_t threads, bool must_end = false)
      : threads_(static_cast<int>(threads)), must_end_(must_end) {}

  virtual State start() = 0;
  virtual bool has_ended(const State& state, int thread) const = 0;
  // One step of a thread. Returns false if the thread waits. A step with several outcomes sets
  // choices_ and is called for choice = 0 ... choices_ - 1.
  virtual bool step(State& state, int thread, int choice) = 0;
  virtual bool is_end(const State& state) const {
    for (int thread = 0; thread < threads_; ++thread) {
      if (!has_ended(state, thread)) return false;
    }
    return true;
  }
  virtual void check_end(const State& state) = 0;

  std::string wrong_;  // the violation
  int choices_ = 1;

 private:
  static constexpr std::int32_t no_state = -1;
  static_assert(std::has_unique_object_representations_v<State>, "states are compared by bytes");

  void visit(const State& state, std::int32_t from) {
    const auto index = static_cast<std::int32_t>(all_.size());
    all_.push_back(state);
    const auto [place, is_new] = seen_.insert(index);
    if (is_new) {
      todo_.push_back(index);
    } else {
      all_.pop_back();
    }
    if (must_end_ && from != no_state && from != *place) edges_.emplace_back(*place, from);
  }

  void check_that_all_end() {
    std::vector<std::vector<std::int32_t>> back(all_.size());
    for (const auto& [to, from] : edges_) back[static_cast<std::size_t>(to)].push_back(from);
    std::vector<bool> known(all_.size());
    std::vector<std::int32_t> reached(ends_);
    for (const std::int32_t end : ends_) known[static_cast<std::size_t>(end)] = true;
    for (std::size_t i = 0; i < reached.size(); ++i) {
      for (const std::int32_t from : back[static_cast<std::size_t>(reached[i])]) {
        if (!known[static_cast<std::size_t>(from)]) reached.push_back(from);
        known[static_cast<std::size_t>(from)] = true;
      }
    }
    if (reached.size() != all_.size()) wrong_ = "a thread waits forever";
  }

  // Indices into all_, hashed and compared by the states there.
  struct Hash {
    const std::vector<State>& all;
    std::size_t operator()(std::int32_t index) const {
      const State& s = all[static_cast<std::size_t>(index)];
      return std::hash<std::string_view>()({reinterpret_cast<const char*>(&s), sizeof s});
    }
  };
  struct Equal {
    const std::vector<State>& all;
    bool operator()(std::int32_t a, std::int32_t b) const {
      return std::memcmp(&all[static_cast<std::size_t>(a)], &all[static_cast<std::size_t>(b)],
                         sizeof(State)) == 0;
    }
  };

  int threads_;
  bool must_end_;
  std::vector<State> all_;
  std::vector<std::int32_t> todo_, ends_;
  std::vector<std::pair<std::int32_t, std::int32_t>> edges_;  // to, from
  std::unordered_set<std::int32_t, Hash, Equal> seen_{1 << 10, Hash{all_}, Equal{all_}};
};

// A model whose threads make a list of calls each: `call` of a thread in State is its present one.
template <class State, class Call>
class ProgramModel : public Exploration<State> {
 public:
  using Program = std::vector<Call>;
  using Programs = std::vector<Program>;

 protected:
  explicit ProgramModel(Programs programs)
      : Exploration<State>(programs.size()), programs_(std::move(programs)) {}
  Call call_of(const State& s, std::size_t thread) const {
    return programs_[thread][static_cast<std::size_t>(s.thread[thread].call)];
  }
  bool has_ended(const State& s, int thread) const override {
    const auto i = static_cast<std::size_t>(thread);
    return static_cast<std::size_t>(s.thread[i].call) == programs_[i].size();
  }

  Programs programs_;
};

// Expects that the model finds no violation in any setting, and each of the bugs from 1 to `last`
// in one of them. Model(setting, bug) is explored.
template <class Model, class Bug, class Settings>
void expect_sound(Bug last, const Settings& settings) {
  std::vector<bool> found(static_cast<std::size_t>(last) + 1);
  for (const auto& setting : settings) {
    Model model(setting, Bug::no);
    EXPECT_EQ(model.explore(), "");
    EXPECT_GT(model.ends(), 0u);
    for (std::size_t bug = 1; bug < found.size(); ++bug)
      found[bug] = found[bug] || !Model(setting, static_cast<Bug>(bug)).explore().empty();
  }
  for (std::size_t bug = 1; bug < found.size(); ++bug) EXPECT_TRUE(found[bug]) << "bug " << bug;
}

}  // namespace heapwood
