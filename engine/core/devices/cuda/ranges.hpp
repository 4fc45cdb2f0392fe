// Best fit over chunks of memory, by address and size alone; the memory itself is never touched.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "devices/cuda/streams.hpp"

namespace engine::cuda {

/// Splits chunks into blocks and joins free neighbours again. A free block remembers its last use
/// in each stream. Sizes are multiples of `grain_bytes`. Not thread-safe; O(log blocks).
class Ranges {
 public:
  static constexpr std::size_t grain_bytes = 256;

  [[nodiscard]] static std::size_t rounded(std::size_t bytes) noexcept {
    return bytes == 0 ? grain_bytes : (bytes + grain_bytes - 1) / grain_bytes * grain_bytes;
  }

  void add_chunk(std::byte* begin, std::size_t bytes);
  /// Of the free blocks that fit and of which `may_take(uses)` holds, the smallest of which
  /// `is_good(uses)` holds among the first few, else the smallest, else none.
  template <typename IsGood, typename MayTake>
  [[nodiscard]] std::optional<std::pair<std::byte*, Uses>> take(std::size_t bytes, IsGood&& is_good,
                                                                MayTake&& may_take) {
    auto chosen = free_.end();
    int looked = 0;
    for (auto it = free_.lower_bound({bytes, nullptr}); it != free_.end() && looked < 8; ++it) {
      const Uses& uses = blocks_.at(it->second).uses;
      if (!may_take(uses)) continue;
      const bool good = is_good(uses);
      if (++looked == 1 || good) chosen = it;
      if (good) break;
    }
    if (chosen == free_.end()) return std::nullopt;
    return split(chosen->second, bytes);
  }
  template <typename IsGood>
  [[nodiscard]] std::optional<std::pair<std::byte*, Uses>> take(std::size_t bytes,
                                                                IsGood&& is_good) {
    return take(bytes, is_good, [](const Uses&) { return true; });
  }
  /// Notes a use of the taken block that holds `address`.
  void note_use(const std::byte* address, Stamp stamp);
  /// Gives a block back; returns its bytes.
  std::size_t give(std::byte* block);
  [[nodiscard]] bool holds(const std::byte* address) const noexcept;
  /// Forgets the chunks that are free as a whole and of which `is_good(uses)` holds, but for those
  /// of `kept`, and returns them.
  template <typename IsGood>
  [[nodiscard]] std::vector<std::pair<std::byte*, std::size_t>> drop_chunks(
      IsGood&& is_good, const std::set<std::byte*>& kept = {}) {
    std::vector<std::pair<std::byte*, std::size_t>> dropped;
    for (auto block = blocks_.begin(); block != blocks_.end();) {
      const auto next = std::next(block);
      const bool is_whole = next == blocks_.end() || next->second.starts_chunk;
      if (block->second.is_free && block->second.starts_chunk && is_whole &&
          is_good(block->second.uses) && !kept.contains(block->first)) {
        dropped.emplace_back(block->first, block->second.bytes);
        free_.erase({block->second.bytes, block->first});
        blocks_.erase(block);
      }
      block = next;
    }
    return dropped;
  }
  [[nodiscard]] bool empty() const noexcept { return blocks_.empty(); }
  /// Where the first chunk begins; there is one.
  [[nodiscard]] std::byte* first() const noexcept { return blocks_.begin()->first; }

 private:
  struct Block {
    std::size_t bytes = 0;
    bool is_free = true;
    bool starts_chunk = false;
    Uses uses{};
  };
  using Blocks = std::map<std::byte*, Block>;

  std::pair<std::byte*, Uses> split(std::byte* begin, std::size_t bytes);
  void join(Blocks::iterator left, Blocks::iterator right);

  Blocks blocks_;
  std::set<std::pair<std::size_t, std::byte*>> free_;
};

}  // namespace engine::cuda
