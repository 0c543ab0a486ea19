// SPDX-License-Identifier: MIT
// A warp's part in nodes that many warps split: bounds -> init for the root, then choose -> split for every large node.
#pragma once

#include <cstdint>

#include "kdtree/build_worker.hpp"

namespace heapwood::kdtree {

// Worker 0 opens the first phase; the root's unit of pending work was announced before the launch.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::start() {
  std::uint32_t slot = 0, none = no_slot;
  if (warp_.lane() == 0) k_.shared.take(true, false, slot, none);
  slot = warp_.shfl(slot, 0);
  SharedNode& node = k_.shared[slot];
  const std::uint32_t n = k_.triangle_count, chunk = chunk_of(n, warp_.workers());
  if (warp_.lane() == 0) {
    node.task = {nullptr, n, 0, {}, 0, 1.0f};
    node.chunk = chunk;
    node.chunks = root_pieces + (n + chunk - 1) / chunk;
  }
  open_phase(WorkKind::bounds_chunk, slot, root_pieces + (n + chunk - 1) / chunk);
}

// Hands the chunks of a phase out, or, where the queue has no room, does all of them itself.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::open_phase(WorkKind kind, std::uint32_t slot, std::uint32_t chunks) {
  [[maybe_unused]] const auto in = probe_.in(Phase::give);
  warp_.sync();
  if (k_.queue.push_shared(warp_, kind, slot, chunks)) return;
  if (warp_.lane() == 0) scratch_.rest = {{kind, slot, 0}, chunks};
  warp_.sync();
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::run_chunk(const WorkItem& item) {
  const std::uint32_t slot = item.slot;
  SharedNode& node = k_.shared[slot];
  const bool is_bounds = item.kind == WorkKind::bounds_chunk;
  const std::uint32_t n = node.task.n, first = (item.chunk - (is_bounds ? root_pieces : 0)) * node.chunk;
  const std::uint32_t last = n - first < node.chunk ? n : first + node.chunk;
  [[maybe_unused]] const auto in = probe_.in(item.kind == WorkKind::bounds_chunk ? Phase::bounds
                                             : item.kind == WorkKind::init_chunk ? Phase::init
                                                                                 : Phase::move,
                                             node.task.depth);
  for (unsigned k = warp_.lane(); k < 2 * histogram_words; k += Warp::width) scratch_.choose.histogram[k] = 0;
  for (unsigned k = warp_.lane(); k < 12; k += Warp::width) scratch_.tight[k / 6][k % 6] = 0;
  warp_.sync();
  if (root_pieces != 0 && is_bounds && item.chunk == 0) {
    std::byte* const root = allocate(n);
    if (warp_.lane() == 0) node.task.refs = root;
  } else if (is_bounds) {
    bounds_chunk(node, first, last);
  } else if (item.kind == WorkKind::init_chunk) {
    init_chunk(node, first, last);
  } else {
    split_chunk(node, first, last);
  }
  const std::uint32_t chunks = node.chunks;
  warp_.sync();
  bool ended = false;
  // acq_rel: publishes this chunk's refs and sums; whoever is last sees those of all chunks, and all their reads are done.
  if (warp_.lane() == 0) {
    ended = simt::atomic_ref<std::uint32_t>(node.done).fetch_add(1, simt::acq_rel) + 1 == chunks;
  }
  if (!warp_.any(ended)) return;
  if (is_bounds) {
    end_bounds(node, slot);
  } else if (item.kind == WorkKind::init_chunk && n > shared_limit) {
    take_shared(slot);
  } else if (item.kind == WorkKind::init_chunk) {
    task_ = node.task;
    has_task_ = true;
    owed_ += 1;
    k_.shared.give_back(warp_, slot);
  } else {
    end_split(node, slot);
  }
}

// Copies the triangles' corners, so that they can be read in order of their ids, and gathers the scene's bounds.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::bounds_chunk(SharedNode& node, std::uint32_t first, std::uint32_t last) {
  Box box;
  for (std::uint32_t i = first + warp_.lane(); i < last; i += Warp::width) {
    const Triangle t = k_.triangles[i];
    const Vec3 zero{0.0f, 0.0f, 0.0f};  // adding it turns -0 into +0: equal coordinates have equal bits from here on
    const Vec3 a = k_.vertices[t.v[0]] + zero, b = k_.vertices[t.v[1]] + zero, c = k_.vertices[t.v[2]] + zero;
    k_.corners[i] = {{a.x, a.y, a.z, 0.0f}, {b.x, b.y, b.z, 0.0f}, {c.x, c.y, c.z, 0.0f}};
    box.grow(bounds(Corners{a, b, c}));
  }
  gather_tight(warp_, scratch_.tight[0], true, box);
  warp_.sync();
  node.grow_tight(warp_, scratch_.tight[0]);
}

template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::end_bounds(SharedNode& node, std::uint32_t slot) {
  const std::uint32_t n = node.task.n;
  const Box scene = node.tight_box();
  std::byte* const root = root_pieces != 0 ? node.task.refs : allocate(n);
  const std::uint32_t chunks = node.chunks - root_pieces;
  warp_.sync();  // all have read
  if (warp_.lane() == 0) {
    k_.counters->bounds = scene;
    node.task = {root, n, 0, scene, 0, scale_of(scene)};
    node.chunks = chunks;
    node.done = 0;
  }
  if (root != nullptr) {
    open_phase(WorkKind::init_chunk, slot, chunks);
    return;
  }
  // Not even the root fits: one leaf with every triangle.
  const std::uint32_t at = take_refs(n);
  if (stop_) return;
  for (std::uint32_t i = warp_.lane(); i < n; i += Warp::width) k_.refs[at + i] = i;
  if (warp_.lane() == 0) {
    k_.nodes[0] = Node::make_leaf(at, n);
    note_node(node.task, true);
  }
  k_.shared.give_back(warp_, slot);
  owed_ += 1;
}

// Fills the root's array and bins it.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::init_chunk(SharedNode& node, std::uint32_t first, std::uint32_t last) {
  const NodeTask task = node.task;
  for (std::uint32_t i = first + warp_.lane(); i < last; i += Warp::width) {
    const Box box = bounds(k_.corners[i].unpack());
    Refs::store(task.refs, task.n, i, i, box);
    if constexpr (!is_serial) count_in_bins(warp_, scratch_.choose.histogram, task.box, box);
  }
  if constexpr (is_serial) {
    bin_for(node, task.refs, task.n, first, last, task.box);
    return;
  }
  warp_.sync();
  node.add_histogram(warp_, scratch_.choose.histogram);
}

// Writes a shared node's split down and opens the phase that moves its refs.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::open_split(std::uint32_t slot, const NodeTask& task, const Split& split,
                                                       std::byte* left, std::byte* right, std::uint32_t pair,
                                                       std::uint64_t look) {
  SharedNode& node = k_.shared[slot];
  const std::uint32_t chunk = chunk_of(task.n, TaskQueue::waiting(warp_.shfl(look, 0))),
                      chunks = (task.n + chunk - 1) / chunk;
  const unsigned axis = split.axis();
  const float p = split.position();
  if (warp_.lane() == 0) {
    node.axis = axis;
    node.plane = p;
    node.flats_right = split.flats_right();
    node.pair = pair;
    node.chunk = chunk;
    node.chunks = chunks;
    node.done = 0;
    std::uint32_t slots[2];
    k_.shared.take(split.nl() > shared_limit, split.nr() > shared_limit, slots[0], slots[1]);
    SIMT_UNROLLED
    for (unsigned side = 0; side < 2; ++side) {
      const std::uint32_t n = side == 0 ? split.nl() : split.nr(), child = slots[side];
      node.child[side] = side == 0 ? left : right;
      node.child_n[side] = n;
      node.child_slot[side] = child;
      if (child != no_slot) {
        k_.shared[child].task = child_task(task, axis, p, side, side == 0 ? left : right, n, pair);
      }
    }
  }
  open_phase(WorkKind::split_chunk, slot, chunks);
}

// Moves a chunk's refs to the children and bins them for those that are shared in turn.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::split_chunk(SharedNode& node, std::uint32_t first, std::uint32_t last) {
  if constexpr (is_serial) {
    split_chunk_serial(node, first, last);
    return;
  }
  const NodeTask task = node.task;
  const unsigned axis = node.axis;
  const float p = node.plane;
  const bool flats_right = node.flats_right;
  std::byte* const left = node.child[0];
  std::byte* const right = node.child[1];
  const std::uint32_t nl = node.child_n[0], nr = node.child_n[1];
  const bool bin_left = node.child_slot[0] != no_slot, bin_right = node.child_slot[1] != no_slot;
  const Box below{task.box.lo, set(task.box.hi, axis, p)}, above{set(task.box.lo, axis, p), task.box.hi};
  const std::uint32_t lower_lanes = (1u << warp_.lane()) - 1u;
  // Places {left:32 | right:32}: for all of the chunk at once where its refs are loaded quickly a second time, else a round's.
  const auto take_places = [&](std::uint64_t wanted) {
    std::uint64_t at = 0;
    // relaxed: places are handed out once.
    if (warp_.lane() == 0) at = simt::atomic_ref<std::uint64_t>(node.cursor).fetch_add(wanted, simt::relaxed);
    return warp_.shfl(at, 0);
  };
  std::uint64_t at = 0;
  if constexpr (Refs::stores_bounds) {
    // A chunk has far fewer than 2^16 refs.
    std::uint32_t sides = 0;
    SIMT_UNROLLED_4
    for (std::uint32_t i = first + warp_.lane(); i < last; i += Warp::width) {
      float lo, hi;
      Refs::load_bounds(task.refs, task.n, i, axis, lo, hi);
      sides += (goes_left(lo, hi, p, flats_right) ? 1u : 0u) + (goes_right(lo, hi, p, flats_right) ? 1u << 16 : 0u);
    }
    sides = warp_.reduce_add(sides);
    at = take_places((sides & 0xffffu) | std::uint64_t{sides >> 16} << 32);
  }
  SIMT_ROLLED
  for (std::uint32_t base = first; base < last; base += Warp::width) {
    const std::uint32_t i = base + warp_.lane();
    Ref ref{};
    bool to_left = false, to_right = false;
    if (i < last) {
      ref = Refs::load(task.refs, task.n, i, task.box, k_.corners);
      to_left = goes_left(ref.box.lo[axis], ref.box.hi[axis], p, flats_right);
      to_right = goes_right(ref.box.lo[axis], ref.box.hi[axis], p, flats_right);
    }
    const std::uint32_t left_lanes = warp_.ballot(to_left), right_lanes = warp_.ballot(to_right);
    const std::uint64_t round = simt::popcount(left_lanes) | std::uint64_t{simt::popcount(right_lanes)} << 32;
    if constexpr (!Refs::stores_bounds) at = take_places(round);
    Sides sides{ref.box, ref.box};
    if constexpr (Refs::stores_bounds) {
      if (to_left && to_right) sides = split_bounds(k_.corners[ref.id].unpack(), ref.box, axis, p);
    } else {
      // What a child will see when it loads the ref.
      if (to_left && bin_left) sides.left = Refs::clip(k_.corners, ref.id, below);
      if (to_right && bin_right) sides.right = Refs::clip(k_.corners, ref.id, above);
    }
    // A guard, not a case: the choice counted with the same comparisons.
    const bool fits = static_cast<std::uint32_t>(at) + simt::popcount(left_lanes) <= nl &&
                      static_cast<std::uint32_t>(at >> 32) + simt::popcount(right_lanes) <= nr;
    if (!fits) {
      if (warp_.lane() == 0) warp_.fail(count_mismatch, task.n, std::uint64_t{nl} << 32 | nr, at);
      stop_ = true;
      return;
    }
    if (to_left) {
      Refs::store(left, nl, static_cast<std::uint32_t>(at) + simt::popcount(left_lanes & lower_lanes), ref.id,
                  sides.left);
    }
    if (to_right) {
      Refs::store(right, nr, static_cast<std::uint32_t>(at >> 32) + simt::popcount(right_lanes & lower_lanes), ref.id,
                  sides.right);
    }
    at += round;
    // One side for every lane first, so that the two sides of a warp are binned together; then straddlers for the other.
    const bool first_right = !to_left;
    SIMT_ROLLED
    for (unsigned pass = 0; pass < 2; ++pass) {
      const bool to_side = pass == 0 ? to_left : to_right, bin_side = pass == 0 ? bin_left : bin_right;
      if (bin_side) {
        gather_tight(warp_, scratch_.tight[pass], to_side, select(pass != 0, sides.right, sides.left));
      }
      const bool right = pass != 0 || first_right;
      if (pass == 0 ? (to_left ? bin_left : to_right && bin_right) : to_left && to_right && bin_right) {
        count_in_bins(warp_, scratch_.choose.histogram + (right ? histogram_words : 0), select(right, above, below),
                      select(right, sides.right, sides.left));
      }
    }
  }
  warp_.sync();
  if (bin_left) {
    SharedNode& child = k_.shared[node.child_slot[0]];
    child.add_histogram(warp_, scratch_.choose.histogram);
    child.grow_tight(warp_, scratch_.tight[0]);
  }
  if (bin_right) {
    SharedNode& child = k_.shared[node.child_slot[1]];
    child.add_histogram(warp_, scratch_.choose.histogram + histogram_words);
    child.grow_tight(warp_, scratch_.tight[1]);
  }
}

// The same by one thread: places are taken once for all of the chunk, and what has moved is binned afterwards, side by side.
template <class Kernel, class Warp>
void BuildWorker<Kernel, Warp>::split_chunk_serial(SharedNode& node, std::uint32_t first, std::uint32_t last) {
  const NodeTask task = node.task;
  const Cut cut{node.axis, node.plane, node.flats_right};
  const Moved sides = count_sides(task.refs, task.n, first, last, cut, k_.corners);
  // relaxed: places are handed out once.
  const std::uint64_t at = simt::atomic_ref<std::uint64_t>(node.cursor)
                               .fetch_add(sides.left | std::uint64_t{sides.right} << 32, simt::relaxed);
  const Target left{node.child[0], node.child_n[0], static_cast<std::uint32_t>(at)};
  const Target right{node.child[1], node.child_n[1], static_cast<std::uint32_t>(at >> 32)};
  // A guard, not a case: the choice counted with the same comparisons.
  if (left.next + sides.left > left.n || right.next + sides.right > right.n) {
    warp_.fail(count_mismatch, task.n, std::uint64_t{left.n} << 32 | right.n, at);
    stop_ = true;
    return;
  }
  move_refs(task.refs, task.n, first, last, cut, k_.corners, left, right);
  const auto bin_child = [&](unsigned side, const Target& child, std::uint32_t moved, const Box& box) {
    if (node.child_slot[side] == no_slot) return;
    bin_for(k_.shared[node.child_slot[side]], child.refs, child.n, child.next, child.next + moved, box);
  };
  bin_child(0, left, sides.left, {task.box.lo, set(task.box.hi, cut.axis, cut.plane)});
  bin_child(1, right, sides.right, {set(task.box.lo, cut.axis, cut.plane), task.box.hi});
}

// The last reader publishes one child, frees the parent's array, and goes on with the other child. Whatever nobody waits for comes
// last: of a large node the way from level to level is what the build waits for.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::end_split(SharedNode& node, std::uint32_t slot) {
  // What is needed late is read late: the kernel has no register to spare.
  const std::uint32_t slot_left = node.child_slot[0], slot_right = node.child_slot[1];
  const bool both_shared = slot_left != no_slot && slot_right != no_slot;
  const bool none_shared = slot_left == no_slot && slot_right == no_slot;
  std::uint32_t small = (slot_left == no_slot ? 1u : 0u) | (slot_right == no_slot ? 2u : 0u);
  emptied_ = slot;
  std::uint32_t set_aside = 0;
  // The parent's unit passes to one child; another child brings its own.
  if (both_shared) {
    if (warp_.lane() == 0) set_aside = k_.queue.add_pending(1);
    if (!k_.queue.push_shared(warp_, WorkKind::choose, slot_left, 1)) {
      k_.shared.give_back(warp_, slot_left);  // no room: this warp will split it alone
      small = 1;
      owed_ += 1;
    }
  } else if (none_shared) {
    owed_ += 1;
  } else if (owed_ == 0) {
    // The stack's tasks need a unit between them: a new one.
    if (warp_.lane() == 0) k_.queue.add_pending(1);
    owed_ = 1;
  }
  SIMT_ROLLED
  for (unsigned side = 0; side < 2; ++side) {
    if ((small >> side & 1) == 0) continue;
    keep(child_task(node.task, node.axis, node.plane, side, node.child[side], node.child_n[side], node.pair));
  }
  free(node.task.refs, node.task.n);
  // Now there is memory. Where nodes are small somebody finishes a unit all the time; here nobody does.
  if (sets_aside && warp_.any(set_aside != 0)) TaskQueue::push_retry(k_.queue, warp_);
  const std::uint32_t tasks = top_ - bottom_;
  if (!both_shared && (!none_shared || tasks > 1)) share(k_.queue.look(warp_));
  if (!none_shared) take_shared(slot_right != no_slot ? slot_right : slot_left);
}
// The shared node whose children end_split() has seen to.
template <class Kernel, class Warp>
SIMT_INLINE void BuildWorker<Kernel, Warp>::give_back_emptied() {
  if (emptied_ == no_slot) return;
  k_.shared.give_back(warp_, emptied_);
  emptied_ = no_slot;
}

template <class Allocator, RefKind kind, class ProbeType>
template <class Warp>
SIMT_INLINE void BuildKernel<Allocator, kind, ProbeType>::operator()(Warp& warp, Scratch& scratch) const {
  BuildWorker<BuildKernel, Warp>(*this, warp, scratch).run();
}

}  // namespace heapwood::kdtree
