#include "devices/cuda/ranges.hpp"

#include <algorithm>

namespace engine::cuda {

void Ranges::add_chunk(std::byte* begin, std::size_t bytes) {
  blocks_[begin] = {.bytes = bytes, .is_free = true, .starts_chunk = true, .uses = {}};
  free_.emplace(bytes, begin);
}

std::pair<std::byte*, Uses> Ranges::split(std::byte* begin, std::size_t bytes) {
  Block& block = blocks_.at(begin);
  free_.erase({block.bytes, begin});
  block.is_free = false;
  if (block.bytes > bytes) {
    const std::size_t rest = block.bytes - bytes;
    block.bytes = bytes;
    blocks_[begin + bytes] = {
        .bytes = rest, .is_free = true, .starts_chunk = false, .uses = block.uses};
    free_.emplace(rest, begin + bytes);
  }
  return {begin, block.uses};
}

void Ranges::note_use(const std::byte* address, Stamp stamp) {
  auto next = blocks_.upper_bound(const_cast<std::byte*>(address));
  std::uint64_t& last = std::prev(next)->second.uses[stamp.stream];
  last = std::max(last, stamp.position);
}

std::size_t Ranges::give(std::byte* begin) {
  auto block = blocks_.find(begin);
  const std::size_t bytes = block->second.bytes;
  block->second.is_free = true;
  free_.emplace(bytes, begin);
  if (const auto right = std::next(block); right != blocks_.end()) join(block, right);
  if (block != blocks_.begin()) join(std::prev(block), block);
  return bytes;
}

void Ranges::join(Blocks::iterator left, Blocks::iterator right) {
  if (!left->second.is_free || !right->second.is_free || right->second.starts_chunk) return;
  free_.erase({left->second.bytes, left->first});
  free_.erase({right->second.bytes, right->first});
  left->second.bytes += right->second.bytes;
  for (std::size_t i = 0; i < max_streams; ++i)
    left->second.uses[i] = std::max(left->second.uses[i], right->second.uses[i]);
  blocks_.erase(right);
  free_.emplace(left->second.bytes, left->first);
}

bool Ranges::holds(const std::byte* address) const noexcept {
  auto next = blocks_.upper_bound(const_cast<std::byte*>(address));
  if (next == blocks_.begin()) return false;
  --next;
  return address < next->first + next->second.bytes;
}

}  // namespace engine::cuda
