#include "frontend/content.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "memory/recent_blocks.hpp"

namespace engine::frontend {

namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t grain_bytes = 256 * 1024;

}  // namespace

void Content::begin(std::optional<std::size_t> expected, std::size_t first_raw) {
  message_ = {};
  share_.reset();
  expected_ = expected;
  shift_ = (alignment - first_raw % alignment) % alignment;
  room_ = 0;
}

bool Content::add(Bytes bytes) {
  if (bytes.empty()) return true;
  const std::size_t all = message_.bytes + bytes.size();
  if (all > room_) {
    // Of what is expected all of it at once: the system gives pages as they are written, but for
    // a block that was kept.
    const std::size_t room = expected_ ? *expected_ : std::max({all, 2 * room_, uncounted_bytes});
    if (!has_room_for(all)) return false;
    allocate(room);
  } else if (!has_room_for(all)) {
    return false;
  }
  std::memcpy(message_.data + message_.bytes, bytes.data(), bytes.size());
  message_.bytes = all;
  return true;
}

Message Content::take() noexcept {
  room_ = 0;
  share_.reset();
  return std::exchange(message_, {});
}

/// Small messages are not counted, and others by the grain.
bool Content::has_room_for(std::size_t bytes) {
  if (share_ == nullptr) share_ = std::make_shared<MemoryShare>();
  if (bytes <= std::max(uncounted_bytes, share_->bytes())) return true;
  std::size_t more = std::max(grain_bytes, bytes - share_->bytes());
  if (expected_) more = std::min(more, *expected_ + alignment);
  return RecentBlocks::process().try_take(*share_, more);
}

void Content::allocate(std::size_t room) {
  const std::size_t bytes = (room + shift_ + alignment) / alignment * alignment;
  RecentBlocks& blocks = RecentBlocks::process();
  std::byte* const memory = blocks.allocate(bytes);
  const Message before = std::exchange(message_, {});
  message_.memory = {memory, [share = share_, &blocks, bytes](std::byte* freed) {
                       if (share.use_count() == 1) share->give_all();  // no longer one has it
                       blocks.release(freed, bytes);
                     }};
  message_.data = memory + shift_;
  message_.bytes = before.bytes;
  if (before.bytes > 0) std::memcpy(message_.data, before.data, before.bytes);
  room_ = room;
}

}  // namespace engine::frontend
