// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "workloads/graph/builder.hpp"
#include "workloads/graph/read_graph.hpp"

namespace heapwood::workloads::graph {
namespace {

struct IdPair {
  std::uint64_t source, destination;
};

// Columns are separated by blanks or commas; comments begin with # (SNAP) or % (KONECT).
std::vector<IdPair> parse_pairs(LineReader& lines) {
  std::vector<IdPair> pairs;
  pairs.reserve(lines.count_remaining_lines());
  std::string blanks;
  for (std::string_view line; lines.next(line);) {
    std::string_view rest = line;
    const std::string_view word = next_word(rest);
    if (word.empty() || word.starts_with('#') || word.starts_with('%')) continue;
    if (line.find(',') != line.npos) {
      blanks = line;
      std::replace(blanks.begin(), blanks.end(), ',', ' ');
      line = blanks;
    }
    const std::uint64_t source = lines.require_unsigned(line, "the first id");
    pairs.push_back({source, lines.require_unsigned(line, "the second id")});
    while (!next_word(rest = line).empty()) lines.skip_numbers(line, 1, "a column");
  }
  if (pairs.empty())
    lines.fail_at(std::max<std::uint64_t>(lines.number(), 1), "the file has no edges");
  return pairs;
}

// Numbers the ids that are in use, in ascending order, by a bit per id and the sum of bits before
// each word of 64.
class DenseIds {
 public:
  DenseIds(const std::vector<IdPair>& pairs, std::uint64_t max_id)
      : used_(max_id / 64 + 1), before_(used_.size()) {
    for (const IdPair& pair : pairs) {
      for (const std::uint64_t id : {pair.source, pair.destination})
        used_[id / 64] |= std::uint64_t{1} << id % 64;
    }
    for (std::size_t i = 0; i < used_.size(); ++i) {
      before_[i] = count_;
      count_ += static_cast<std::uint64_t>(std::popcount(used_[i]));
    }
  }
  std::uint64_t count() const { return count_; }
  std::uint64_t number(std::uint64_t id) const {
    const std::uint64_t lower = used_[id / 64] & ((std::uint64_t{1} << id % 64) - 1);
    return before_[id / 64] + static_cast<std::uint64_t>(std::popcount(lower));
  }

 private:
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> used_, before_;
};

// Numbers any ids, by binary search.
class SparseIds {
 public:
  explicit SparseIds(const std::vector<IdPair>& pairs) {
    ids_.reserve(pairs.size() * 2);
    for (const IdPair& pair : pairs) ids_.insert(ids_.end(), {pair.source, pair.destination});
    std::sort(ids_.begin(), ids_.end());
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  }
  std::uint64_t count() const { return ids_.size(); }
  std::uint64_t number(std::uint64_t id) const {
    return static_cast<std::uint64_t>(std::lower_bound(ids_.begin(), ids_.end(), id) -
                                      ids_.begin());
  }

 private:
  std::vector<std::uint64_t> ids_;
};

// Replaces ids by their numbers and returns how many there are.
template <class Ids>
std::uint64_t renumber(const Ids& ids, std::vector<IdPair>& pairs) {
  for (IdPair& pair : pairs) pair = {ids.number(pair.source), ids.number(pair.destination)};
  return ids.count();
}

}  // namespace

GraphInput parse_edge_list(std::string_view text, const std::string& name) {
  LineReader lines(text, name);
  std::vector<IdPair> pairs = parse_pairs(lines);
  std::uint64_t max_id = 0;
  for (const IdPair& pair : pairs) max_id = std::max({max_id, pair.source, pair.destination});
  // Two words per 64 ids: at most two bytes per byte of the text.
  const std::uint64_t vertices = max_id / 8 < text.size() ? renumber(DenseIds(pairs, max_id), pairs)
                                                          : renumber(SparseIds(pairs), pairs);
  if (vertices > max_vertices) lines.fail("more vertices than 32 bits can number");
  GraphInput input = build_graph(vertices, true, [&](auto&& visit) {
    for (const IdPair& pair : pairs) {
      visit(Edge{static_cast<std::uint32_t>(pair.source),
                 static_cast<std::uint32_t>(pair.destination)});
    }
  });
  input.is_renumbered = vertices != max_id + 1;
  return input;
}

}  // namespace heapwood::workloads::graph
