// SPDX-License-Identifier: MIT
#include "host_alloc/platform.hpp"

#include "simt/memory_source.hpp"

namespace heapwood::host_alloc {

Platform::~Platform() {
  for (const auto& [address, piece] : live_) give_back(piece);
}

LiveBlock Platform::allocate(std::size_t bytes, std::size_t alignment) {
  const std::size_t padding = alignment > unit ? alignment - unit : 0;
  const std::size_t remaining = capacity_ - taken_;
  if (remaining < padding || bytes > remaining - padding) return {};
  Piece piece{nullptr, bytes + padding, bytes};
  piece.begin = kind_ == Kind::async ? simt::pool_allocate(device_, piece.bytes)
                                     : simt::platform_allocate(device_, piece.bytes);
  if (piece.begin == nullptr) return {};
  taken_ += piece.bytes;
  const std::uintptr_t address =
      (reinterpret_cast<std::uintptr_t>(piece.begin) + alignment - 1) & ~(alignment - 1);
  live_.emplace(address, piece);
  return {pointer_to(address), bytes, piece.bytes};
}

LiveBlock Platform::deallocate(void* block) {
  const auto found = live_.find(reinterpret_cast<std::uintptr_t>(block));
  if (found == live_.end()) refuse_free(*this, block);
  const Piece piece = found->second;
  live_.erase(found);
  give_back(piece);
  taken_ -= piece.bytes;
  return {block, piece.requested, piece.bytes};
}

void Platform::give_back(const Piece& piece) noexcept {
  if (kind_ == Kind::async) return simt::pool_free(device_, piece.begin);
  simt::platform_free(device_, piece.begin, piece.bytes);
}

void Platform::walk(const std::function<void(const HostRegion&)>& visit) const {
  for (const auto& [address, piece] : live_) {
    const std::size_t padding = address - reinterpret_cast<std::uintptr_t>(piece.begin);
    visit({address, piece.bytes - padding, piece.requested, HostRegion::State::used});
  }
}

std::size_t Platform::shrink() {
  if (kind_ == Kind::plain) return 0;
  const std::size_t before = simt::pool_reserved(device_);
  simt::pool_trim(device_);
  return before - simt::pool_reserved(device_);
}

std::optional<std::size_t> Platform::mapped_bytes() const {
  if (kind_ == Kind::async) return simt::pool_reserved(device_);
  return std::nullopt;
}

}  // namespace heapwood::host_alloc
