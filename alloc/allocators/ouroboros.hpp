// SPDX-License-Identifier: MIT
// The six Ouroboros allocators (ouroboros/ouroboros.hpp). Per size class there is one queue of
// pages (P) or of chunks with free pages (C). Its slots are an array (S, section 4), or in chunks
// that are found through an array (VA, section 5.1) or that are a list (VL, section 5.2).
#pragma once

#include "simt/cxx20.hpp"  // first

#include "alloc/ouroboros/array_queue.hpp"
#include "alloc/ouroboros/chunk_items.hpp"
#include "alloc/ouroboros/linked_queue.hpp"
#include "alloc/ouroboros/ouroboros.hpp"
#include "alloc/ouroboros/page_items.hpp"
#include "alloc/ouroboros/static_queue.hpp"

namespace heapwood::alloc {

template <class A, class Slots>
using OuroborosOfPages = LaidOut<A, Ouroboros<ouroboros::PageItems<ouroboros::IndexQueue<Slots>>>>;
template <class A, class Slots>
using OuroborosOfChunks =
    LaidOut<A, Ouroboros<ouroboros::ChunkItems<ouroboros::IndexQueue<Slots>>>>;

struct OuroborosPS : OuroborosOfPages<OuroborosPS, ouroboros::StaticQueue> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-p-s",
      .label = "Ouroboros-P-S",
      .paper = "Ouroboros 4",
      .note = "queues of pages in an array; a buddy above 8 KiB",
      .smallest_pool = 8192};
};

struct OuroborosPVA : OuroborosOfPages<OuroborosPVA, ouroboros::ArrayQueue> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-p-va",
      .label = "Ouroboros-P-VA",
      .paper = "Ouroboros 5.1",
      .note = "queues of pages in chunks, found through an array; a buddy above 8 KiB",
      .smallest_pool = 8192};
};

struct OuroborosPVL : OuroborosOfPages<OuroborosPVL, ouroboros::LinkedQueue> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-p-vl",
      .label = "Ouroboros-P-VL",
      .paper = "Ouroboros 5.2",
      .note = "queues of pages in chunks, which are a list; a buddy above 8 KiB",
      .smallest_pool = 8192};
};

struct OuroborosCS : OuroborosOfChunks<OuroborosCS, ouroboros::StaticQueue> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-c-s",
      .label = "Ouroboros-C-S",
      .paper = "Ouroboros 4",
      .note = "queues of chunks with free pages in an array; a buddy above 8 KiB",
      .smallest_pool = 8192};
};

struct OuroborosCVA : OuroborosOfChunks<OuroborosCVA, ouroboros::ArrayQueue> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-c-va",
      .label = "Ouroboros-C-VA",
      .paper = "Ouroboros 5.1",
      .note =
          "queues of chunks with free pages in chunks, found through an array; a buddy above 8 KiB",
      .smallest_pool = 8192};
};

struct OuroborosCVL : OuroborosOfChunks<OuroborosCVL, ouroboros::LinkedQueue> {
  static constexpr AllocatorTraits traits{
      .id = "ouroboros-c-vl",
      .label = "Ouroboros-C-VL",
      .paper = "Ouroboros 5.2",
      .note = "queues of chunks with free pages in chunks, which are a list; a buddy above 8 KiB",
      .smallest_pool = 8192};
};

}  // namespace heapwood::alloc
