#include "frontend/message.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "frontend/infer_request.hpp"

namespace engine::frontend {

namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t small_bytes = 16 * 1024, grain_bytes = 256 * 1024;

}  // namespace

MessageReader::State MessageReader::feed(Bytes& data, std::size_t most_bytes) {
  if (prefix_taken_ < prefix_bytes) {
    const std::size_t count = std::min(prefix_bytes - prefix_taken_, data.size());
    std::copy_n(data.begin(), count, prefix_.begin() + static_cast<std::ptrdiff_t>(prefix_taken_));
    prefix_taken_ += count;
    data = data.subspan(count);
    if (prefix_taken_ < prefix_bytes) return State::more;
    expected_ = 0;
    for (std::size_t i = 1; i < prefix_bytes; ++i)
      expected_ = expected_ << 8 | static_cast<std::size_t>(prefix_[i]);
    taken_ = 0;
    if (expected_ > most_bytes) return State::too_large;
  }
  if (expected_ > 0) {
    if (data.empty()) return State::more;
    if (message_.memory == nullptr) allocate(data);
    const std::size_t count = std::min(expected_ - taken_, data.size());
    if (!has_room_for(taken_ + count)) return State::no_room;
    std::memcpy(message_.data + taken_, data.data(), count);
    taken_ += count;
    data = data.subspan(count);
    if (taken_ < expected_) return State::more;
  }
  message_.bytes = expected_;
  message_.is_compressed = prefix_[0] != std::byte{0};
  prefix_taken_ = 0;
  return State::message;
}

/// Small messages are not counted, and others by the grain.
bool MessageReader::has_room_for(std::size_t bytes) {
  if (bytes <= std::max(small_bytes, share_->bytes())) return true;
  const std::size_t most = expected_ + alignment;
  return share_->try_take(std::min(std::max(grain_bytes, bytes - share_->bytes()), most));
}

/// All of it at once: the system gives pages as they are written.
void MessageReader::allocate(Bytes beginning) {
  const std::size_t shift = (alignment - raw_offset(beginning) % alignment) % alignment;
  const std::size_t bytes = (expected_ + shift + alignment) / alignment * alignment;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(alignment, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  share_ = std::make_shared<MemoryShare>();
  message_.memory = {memory, [share = share_](std::byte* freed) { std::free(freed); }};
  message_.data = memory + shift;
}

}  // namespace engine::frontend
