// SPDX-License-Identifier: MIT
// Segregated fit and two-level segregated fit over device memory that the host cannot read (Bell,
// Kumar and Gill 2024, algorithms 1 and 2, section III.B).
//
// The paper keeps a block's size and neighbours in a hash table in place of boundary tags, and
// looks up neighbours by address. Here blocks are linked in the order of addresses, so only the
// freed block is looked up.
//
// Blocks tile the whole reserved range, which is one unmapped block at first. If no list has a
// block that is certainly large enough, memory is mapped at the front of an unmapped block: the one
// that needs the least, since a free block before it becomes part of the result. Such a request
// visits all unmapped blocks and, if no more memory can be mapped, free blocks too. All other
// calls, except for walk() and shrink(), are O(1).
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "host_alloc/policy.hpp"
#include "simt/math.hpp"

namespace heapwood::host_alloc {

namespace {

using BlockIndex = std::uint32_t;
constexpr BlockIndex none = ~BlockIndex{0};

struct Block {
  // vacant: an unused entry of the array of blocks.
  enum class State : std::uint8_t { free, used, unmapped, vacant };
  std::size_t offset = 0, bytes = 0;
  std::size_t requested = 0;  // of a used block
  // Neighbours by address; with the hash table they replace boundary tags.
  BlockIndex before = none, after = none;
  // Neighbours in the list of the block's size class, or of unmapped or vacant blocks.
  BlockIndex list_before = none, list_after = none;
  State state = State::free;
};

// A doubly linked list of blocks through their list_ links; last in, first out.
class BlockList {
 public:
  BlockIndex first() const { return first_; }
  void push(std::vector<Block>& blocks, BlockIndex index) {
    blocks[index].list_before = none;
    blocks[index].list_after = first_;
    if (first_ != none) blocks[first_].list_before = index;
    first_ = index;
  }
  void remove(std::vector<Block>& blocks, BlockIndex index) {
    const Block& block = blocks[index];
    if (block.list_before != none) blocks[block.list_before].list_after = block.list_after;
    if (block.list_after != none) blocks[block.list_after].list_before = block.list_before;
    if (first_ == index) first_ = block.list_after;
  }

 private:
  BlockIndex first_ = none;
};

class FreeLists {
 public:
  explicit FreeLists(unsigned second_level_bits)
      : bits_(second_level_bits),
        lists_((size_bits + 2 - bits_) << bits_),
        filled_((lists_.size() + 63) / 64) {}

  void push(std::vector<Block>& blocks, BlockIndex index) {
    const std::size_t list = class_of(blocks[index].bytes);
    lists_[list].push(blocks, index);
    filled_[list / 64] |= std::uint64_t{1} << list % 64;
    filled_words_ |= std::uint64_t{1} << list / 64;
  }
  void remove(std::vector<Block>& blocks, BlockIndex index) {
    const std::size_t list = class_of(blocks[index].bytes);
    lists_[list].remove(blocks, index);
    if (lists_[list].first() != none) return;
    filled_[list / 64] &= ~(std::uint64_t{1} << list % 64);
    if (filled_[list / 64] == 0) filled_words_ &= ~(std::uint64_t{1} << list / 64);
  }
  // Returns a block of at least `bytes`, or `none` if all lists of large enough blocks are empty.
  BlockIndex find(std::size_t bytes) const {
    const std::size_t list = class_for(bytes);
    if (list >= lists_.size()) return none;
    std::size_t word = list / 64;
    std::uint64_t candidates = filled_[word] & ~std::uint64_t{0} << list % 64;
    if (candidates == 0) {
      const std::uint64_t words = word == 63 ? 0 : filled_words_ & ~std::uint64_t{0} << (word + 1);
      if (words == 0) return none;
      word = simt::lowest_bit(words);
      candidates = filled_[word];
    }
    return lists_[word * 64 + simt::lowest_bit(candidates)].first();
  }
  // Calls visit(index) for blocks that may hold `bytes`, by ascending class, until it returns true.
  template <class Visit>
  void for_each_from(const std::vector<Block>& blocks, std::size_t bytes, Visit visit) const {
    for (std::size_t list = class_of(bytes); list < lists_.size(); ++list) {
      for (BlockIndex i = lists_[list].first(); i != none; i = blocks[i].list_after) {
        if (visit(i)) return;
      }
    }
  }

  // The class whose list has blocks of this size.
  std::size_t class_of(std::size_t bytes) const { return class_of_units(bytes / unit, bits_); }
  // The first class all of whose blocks hold a request of this size.
  std::size_t class_for(std::size_t bytes) const {
    const std::uint64_t units = (bytes + unit - 1) / unit;
    const unsigned log2 = simt::highest_bit(units);
    return class_of_units(log2 < bits_ ? units : units + (std::uint64_t{1} << (log2 - bits_)) - 1,
                          bits_);
  }

 private:
  static constexpr unsigned size_bits = 40;  // sizes in units: up to 256 TiB

  // There are 2^s classes per power of two; each size below 2^s units has its own class.
  static std::size_t class_of_units(std::uint64_t units, unsigned s) {
    const unsigned log2 = simt::highest_bit(units);
    if (log2 < s) return units;
    return (std::size_t{log2 - s + 1} << s) + ((units >> (log2 - s)) - (std::uint64_t{1} << s));
  }

  unsigned bits_;
  std::vector<BlockList> lists_;
  std::vector<std::uint64_t> filled_;  // bit i of word w: list 64 w + i is not empty
  std::uint64_t filled_words_ = 0;     // bit w: filled_[w] is not 0
};

class SegregatedFit final : public Policy {
 public:
  // second_level_bits: 0 makes segregated fit, 5 makes TLSF.
  SegregatedFit(std::unique_ptr<simt::VirtualRange> range, const HostAllocatorOptions& options,
                unsigned second_level_bits);

  LiveBlock allocate(std::size_t bytes, std::size_t alignment) override;
  LiveBlock deallocate(void* block) override;
  void walk(const std::function<void(const HostRegion&)>& visit) const override;
  std::size_t shrink() override;
  std::optional<std::size_t> mapped_bytes() const override { return range_.mapped(); }
  std::uint64_t mappings() const override { return range_.mappings(); }
  bool is_live(const void* block) const {
    return live_.count(reinterpret_cast<std::uintptr_t>(block)) != 0;
  }

 private:
  BlockIndex find_any(std::size_t bytes, std::size_t alignment) const;
  BlockIndex grow(std::size_t bytes, std::size_t alignment);
  LiveBlock take(BlockIndex index, std::size_t bytes, std::size_t alignment, std::size_t requested);
  BlockIndex release(BlockIndex index);

  BlockIndex insert(BlockIndex before, std::size_t offset, std::size_t bytes, Block::State state);
  void erase(BlockIndex index);
  bool is(BlockIndex index, Block::State state) const {
    return index != none && blocks_[index].state == state;
  }
  std::size_t end(BlockIndex index) const { return blocks_[index].offset + blocks_[index].bytes; }

  MappedRange range_;
  std::size_t min_block_;
  FreeLists lists_;
  std::vector<Block> blocks_;
  BlockList unmapped_, vacant_;
  BlockIndex first_ = none;  // the block with the lowest address
  AddressTable<BlockIndex> live_;
};

using State = Block::State;

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

SegregatedFit::SegregatedFit(std::unique_ptr<simt::VirtualRange> range,
                             const HostAllocatorOptions& options, unsigned second_level_bits)
    : range_(std::move(range), options),
      min_block_(options.min_block_bytes),
      lists_(second_level_bits) {
  blocks_.reserve(4096);
  first_ = insert(none, 0, range_.bytes(), State::unmapped);
  unmapped_.push(blocks_, first_);
  if (options.initial_bytes == 0) return;
  const std::size_t initial = range_.whole(options.initial_bytes);
  if (initial > range_.bytes() || grow(initial, unit) == none) {
    throw Error(Exit::failed, "host allocator: cannot map the initial " +
                                  std::to_string(initial >> 20) +
                                  " MiB; use a smaller initial size or a larger capacity");
  }
}

LiveBlock SegregatedFit::allocate(std::size_t bytes, std::size_t alignment) {
  if (bytes > range_.bytes()) return {};
  const std::size_t size = round_up(bytes, min_block_);
  const std::size_t padding = std::max(alignment, unit) - unit;
  BlockIndex index = lists_.find(size + padding);
  if (index == none) index = grow(size, alignment);
  // No more memory can be mapped: tries every block that may fit, then maps free memory elsewhere.
  if (index == none) index = find_any(size, alignment);
  if (index == none && shrink() > 0) index = grow(size, alignment);
  return index == none ? LiveBlock{} : take(index, size, alignment, bytes);
}

BlockIndex SegregatedFit::find_any(std::size_t bytes, std::size_t alignment) const {
  BlockIndex found = none;
  lists_.for_each_from(blocks_, bytes, [&](BlockIndex index) {
    if (round_up(blocks_[index].offset, alignment) + bytes > end(index)) return false;
    found = index;
    return true;
  });
  return found;
}

// Maps memory for `bytes` at the unmapped block that needs the least, and returns a free block that
// holds them, in its list; or `none`.
BlockIndex SegregatedFit::grow(std::size_t bytes, std::size_t alignment) {
  BlockIndex best = none;
  std::size_t min_need = 0;
  for (BlockIndex u = unmapped_.first(); u != none; u = blocks_[u].list_after) {
    const Block& block = blocks_[u];
    const std::size_t begin =
        is(block.before, State::free) ? blocks_[block.before].offset : block.offset;
    const std::size_t stop = round_up(begin, alignment) + bytes;
    // The free block before it suffices; it was in a list whose blocks may be too small.
    if (stop <= block.offset) return block.before;
    std::size_t need = range_.whole(stop - block.offset);
    if (need > block.bytes) {
      if (!is(block.after, State::free) || stop > end(block.after)) continue;
      need = block.bytes;
    }
    if (best == none || need < min_need ||
        (need == min_need && block.offset < blocks_[best].offset)) {
      best = u;
      min_need = need;
    }
  }
  if (best == none) return none;
  const std::size_t offset = blocks_[best].offset;
  const std::size_t mapped = range_.grow(offset, min_need, blocks_[best].bytes);
  if (mapped == 0) return none;
  blocks_[best].offset += mapped;
  blocks_[best].bytes -= mapped;
  const BlockIndex before = blocks_[best].before;
  if (blocks_[best].bytes == 0) {
    unmapped_.remove(blocks_, best);
    erase(best);
  }
  return release(insert(before, offset, mapped, State::used));
}

// Takes a block out of its list, and returns the rests before and after the allocation to the
// lists.
LiveBlock SegregatedFit::take(BlockIndex index, std::size_t bytes, std::size_t alignment,
                              std::size_t requested) {
  lists_.remove(blocks_, index);
  const std::size_t offset = round_up(blocks_[index].offset, alignment);
  if (const std::size_t front = offset - blocks_[index].offset; front > 0) {
    lists_.push(blocks_, insert(blocks_[index].before, blocks_[index].offset, front, State::free));
    blocks_[index].offset = offset;
    blocks_[index].bytes -= front;
  }
  if (const std::size_t rest = blocks_[index].bytes - bytes; rest > 0) {
    lists_.push(blocks_, insert(index, offset + bytes, rest, State::free));
    blocks_[index].bytes = bytes;
  }
  blocks_[index].state = State::used;
  blocks_[index].requested = requested;
  const std::uintptr_t address = range_.base() + offset;
  live_.emplace(address, index);
  return {pointer_to(address), requested, bytes};
}

LiveBlock SegregatedFit::deallocate(void* block) {
  const auto found = live_.find(reinterpret_cast<std::uintptr_t>(block));
  if (found == live_.end()) refuse_free(*this, block);
  const BlockIndex index = found->second;
  live_.erase(found);
  const LiveBlock freed{block, blocks_[index].requested, blocks_[index].bytes};
  release(index);
  return freed;
}

// Merges a block, which is in no list, with free neighbours, and adds the result to its list.
BlockIndex SegregatedFit::release(BlockIndex index) {
  if (const BlockIndex after = blocks_[index].after; is(after, State::free)) {
    lists_.remove(blocks_, after);
    blocks_[index].bytes += blocks_[after].bytes;
    erase(after);
  }
  if (const BlockIndex before = blocks_[index].before; is(before, State::free)) {
    lists_.remove(blocks_, before);
    blocks_[before].bytes += blocks_[index].bytes;
    erase(index);
    index = before;
  }
  blocks_[index].state = State::free;
  blocks_[index].requested = 0;
  lists_.push(blocks_, index);
  return index;
}

std::size_t SegregatedFit::shrink() {
  BlockIndex block = first_;  // pieces come in order of address, as blocks do
  const auto free = [&](std::size_t offset, std::size_t bytes) {
    while (end(block) <= offset) block = blocks_[block].after;
    return is(block, State::free) && offset + bytes <= end(block);
  };
  return range_.unmap_if(free, [&](std::size_t offset, std::size_t bytes) {
    // Split the free block into the parts before, in and after the unmapped range.
    lists_.remove(blocks_, block);
    if (const std::size_t rest = end(block) - offset - bytes; rest > 0) {
      lists_.push(blocks_, insert(block, offset + bytes, rest, State::free));
    }
    const std::size_t front = offset - blocks_[block].offset;
    BlockIndex unmapped = block;
    if (front > 0) {
      blocks_[block].bytes = front;
      lists_.push(blocks_, block);
      unmapped = insert(block, offset, bytes, State::unmapped);
    }
    blocks_[unmapped].state = State::unmapped;
    blocks_[unmapped].bytes = bytes;
    // Merge the unmapped part with unmapped neighbours.
    if (const BlockIndex after = blocks_[unmapped].after; is(after, State::unmapped)) {
      unmapped_.remove(blocks_, after);
      blocks_[unmapped].bytes += blocks_[after].bytes;
      erase(after);
    }
    if (const BlockIndex before = blocks_[unmapped].before; is(before, State::unmapped)) {
      blocks_[before].bytes += blocks_[unmapped].bytes;
      erase(unmapped);
      unmapped = before;
    } else {
      unmapped_.push(blocks_, unmapped);
    }
    block = unmapped;
  });
}

void SegregatedFit::walk(const std::function<void(const HostRegion&)>& visit) const {
  for (BlockIndex i = first_; i != none; i = blocks_[i].after) {
    const Block& block = blocks_[i];
    // The unmapped end of the range is not reported.
    if (block.state == State::unmapped && block.after == none) return;
    const HostRegion::State state = block.state == State::free   ? HostRegion::State::free
                                    : block.state == State::used ? HostRegion::State::used
                                                                 : HostRegion::State::unmapped;
    visit({range_.base() + block.offset, block.bytes, block.requested, state});
  }
}

// Inserts a block after `before`, or at the beginning if that is none.
BlockIndex SegregatedFit::insert(BlockIndex before, std::size_t offset, std::size_t bytes,
                                 State state) {
  BlockIndex index = vacant_.first();
  if (index != none) {
    vacant_.remove(blocks_, index);
  } else {
    index = static_cast<BlockIndex>(blocks_.size());
    blocks_.emplace_back();
  }
  const BlockIndex after = before == none ? first_ : blocks_[before].after;
  Block& block = blocks_[index];
  block = Block{};
  block.offset = offset;
  block.bytes = bytes;
  block.before = before;
  block.after = after;
  block.state = state;
  (before == none ? first_ : blocks_[before].after) = index;
  if (after != none) blocks_[after].before = index;
  return index;
}

void SegregatedFit::erase(BlockIndex index) {
  const Block& block = blocks_[index];
  (block.before == none ? first_ : blocks_[block.before].after) = block.after;
  if (block.after != none) blocks_[block.after].before = block.before;
  blocks_[index].state = State::vacant;
  vacant_.push(blocks_, index);
}

// Object pools for requests under 4 KiB, segregated fit for larger ones (section III.C). A pool is
// 64 objects of one size, a multiple of 256 bytes, in a block of segregated fit; a 64-bit mask
// records which are free. If there is no space for a pool, an object gets a block of its own.
class Hybrid final : public Policy {
 public:
  Hybrid(std::unique_ptr<simt::VirtualRange> range, const HostAllocatorOptions& options)
      : blocks_(std::move(range), options, 0) {
    first_with_space_.fill(no_pool);
  }

  LiveBlock allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes < limit && alignment <= unit) {
      const std::size_t size = (bytes + unit - 1) / unit * unit;
      std::uint32_t pool = first_with_space(size);
      if (pool == no_pool) pool = add_pool(size);
      if (pool != no_pool) {
        ObjectPool& p = pools_[pool];
        const auto index = static_cast<std::uint32_t>(std::countr_zero(p.free));
        p.free &= p.free - 1;
        if (p.free == 0) unlink(pool);
        const std::uintptr_t address = p.base + index * size;
        live_.emplace(address, Object{pool, index, bytes});
        return {pointer_to(address), bytes, size};
      }
    }
    LiveBlock block = blocks_.allocate(bytes, alignment);
    if (block.address == nullptr && drop_empty_pools()) block = blocks_.allocate(bytes, alignment);
    return block;
  }
  LiveBlock deallocate(void* block) override {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    const auto found = live_.find(address);
    if (found == live_.end()) {
      // An address at which a pool's block begins may not be freed: the pool is not the caller's.
      if (!blocks_.is_live(block) || pool_at_.find(address) != pool_at_.end())
        refuse_free(*this, block);
      return blocks_.deallocate(block);
    }
    const Object object = found->second;
    live_.erase(found);
    ObjectPool& pool = pools_[object.pool];
    if (pool.free == 0) link(object.pool);
    pool.free |= std::uint64_t{1} << object.index;
    const LiveBlock freed{block, object.requested, pool.size};
    // Keeps one empty pool per size, so that alternating requests and frees do not create and
    // destroy a pool each time.
    if (pool.free == ~std::uint64_t{0} && (pool.before != no_pool || pool.after != no_pool))
      drop(object.pool);
    return freed;
  }
  // Reports the block of a pool object by object; adjacent free objects are one region.
  void walk(const std::function<void(const HostRegion&)>& visit) const override {
    blocks_.walk([&](const HostRegion& region) {
      const auto found = pool_at_.find(region.address);
      if (region.state != HostRegion::State::used || found == pool_at_.end()) return visit(region);
      const ObjectPool& pool = pools_[found->second];
      for (unsigned i = 0; i < objects;) {
        const std::uintptr_t address = pool.base + i * pool.size;
        if ((pool.free >> i & 1) == 0) {
          visit({address, pool.size, live_.at(address).requested, HostRegion::State::used});
          ++i;
        } else {
          const unsigned run = std::min<unsigned>(
              static_cast<unsigned>(std::countr_one(pool.free >> i)), objects - i);
          visit({address, run * pool.size, 0, HostRegion::State::free});
          i += run;
        }
      }
    });
  }
  std::size_t shrink() override {
    drop_empty_pools();
    return blocks_.shrink();
  }
  std::optional<std::size_t> mapped_bytes() const override { return blocks_.mapped_bytes(); }
  std::uint64_t mappings() const override { return blocks_.mappings(); }

 private:
  static constexpr std::size_t limit = 4096;
  static constexpr unsigned objects = 64;
  static constexpr std::uint32_t no_pool = ~std::uint32_t{0};
  struct ObjectPool {
    std::uintptr_t base = 0;  // 0 in an unused entry
    std::size_t size = 0;     // bytes of an object
    std::uint64_t free = 0;   // bit i is set if object i is free
    // Neighbours in the list of pools that have a free object of this size.
    std::uint32_t before = no_pool, after = no_pool;
  };
  struct Object {
    std::uint32_t pool, index;
    std::size_t requested;
  };

  std::uint32_t& first_with_space(std::size_t size) { return first_with_space_[size / unit - 1]; }
  void link(std::uint32_t pool) {
    std::uint32_t& first = first_with_space(pools_[pool].size);
    pools_[pool].before = no_pool;
    pools_[pool].after = first;
    if (first != no_pool) pools_[first].before = pool;
    first = pool;
  }
  void unlink(std::uint32_t pool) {
    const ObjectPool& p = pools_[pool];
    if (p.before != no_pool) pools_[p.before].after = p.after;
    if (p.after != no_pool) pools_[p.after].before = p.before;
    if (std::uint32_t& first = first_with_space(p.size); first == pool) first = p.after;
  }
  std::uint32_t add_pool(std::size_t size) {
    const LiveBlock block = blocks_.allocate(size * objects, unit);
    if (block.address == nullptr) return no_pool;
    std::uint32_t pool = static_cast<std::uint32_t>(pools_.size());
    if (unused_.empty()) {
      pools_.emplace_back();
    } else {
      pool = unused_.back();
      unused_.pop_back();
    }
    pools_[pool] = {};
    pools_[pool].base = reinterpret_cast<std::uintptr_t>(block.address);
    pools_[pool].size = size;
    pools_[pool].free = ~std::uint64_t{0};
    pool_at_.emplace(pools_[pool].base, pool);
    link(pool);
    return pool;
  }
  bool drop_empty_pools() {
    bool any = false;
    for (std::uint32_t pool = 0; pool < pools_.size(); ++pool) {
      if (pools_[pool].base == 0 || pools_[pool].free != ~std::uint64_t{0}) continue;
      drop(pool);
      any = true;
    }
    return any;
  }
  void drop(std::uint32_t pool) {
    unlink(pool);
    pool_at_.erase(pools_[pool].base);
    blocks_.deallocate(pointer_to(pools_[pool].base));
    pools_[pool].base = 0;
    unused_.push_back(pool);
  }

  SegregatedFit blocks_;
  std::vector<ObjectPool> pools_;
  std::vector<std::uint32_t> unused_;                         // unused entries of pools_
  std::array<std::uint32_t, limit / unit> first_with_space_;  // by size: the first pool with space
  AddressTable<Object> live_;
  AddressTable<std::uint32_t> pool_at_;
};

}  // namespace

std::unique_ptr<Policy> make_segregated_fit(std::unique_ptr<simt::VirtualRange> range,
                                            const HostAllocatorOptions& options,
                                            unsigned second_level_bits) {
  return std::make_unique<SegregatedFit>(std::move(range), options, second_level_bits);
}

std::unique_ptr<Policy> make_hybrid(std::unique_ptr<simt::VirtualRange> range,
                                    const HostAllocatorOptions& options) {
  return std::make_unique<Hybrid>(std::move(range), options);
}

}  // namespace heapwood::host_alloc
