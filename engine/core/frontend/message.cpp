#include "frontend/message.hpp"

#include <algorithm>

#include "frontend/infer_request.hpp"

namespace engine::frontend {

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
    content_.begin(expected_, 0);
    if (expected_ > most_bytes) return State::too_large;
  }
  if (content_.bytes() < expected_) {
    if (data.empty()) return State::more;
    if (content_.bytes() == 0) content_.begin(expected_, raw_offset(data));
    const std::size_t count = std::min(expected_ - content_.bytes(), data.size());
    if (!content_.add(data.first(count))) return State::no_room;
    data = data.subspan(count);
    if (content_.bytes() < expected_) return State::more;
  }
  prefix_taken_ = 0;
  return State::message;
}

Message MessageReader::take() noexcept {
  Message message = content_.take();
  message.is_compressed = prefix_[0] != std::byte{0};
  return message;
}

}  // namespace engine::frontend
