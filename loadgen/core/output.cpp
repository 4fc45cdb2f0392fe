#include "output.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace loadgen {

namespace {

/// Shorter ones are cheaper to copy than to list.
constexpr std::size_t worth_referring = 2048;
constexpr std::size_t most_at_once = 64;

}  // namespace

void Output::add(const std::uint8_t* data, std::size_t bytes) {
  if (!pieces_.empty() && pieces_.back().data == nullptr)
    pieces_.back().bytes += bytes;
  else
    pieces_.push_back({nullptr, copied_.size(), bytes});
  copied_.append(reinterpret_cast<const char*>(data), bytes);
}

void Output::refer(const std::uint8_t* data, std::size_t bytes) {
  if (bytes < worth_referring) return add(data, bytes);
  pieces_.push_back({data, 0, bytes});
}

const std::uint8_t* Output::begin_of(const Piece& piece) const noexcept {
  if (piece.data != nullptr) return piece.data;
  return reinterpret_cast<const std::uint8_t*>(copied_.data()) + piece.offset;
}

void Output::write(int socket) {
  while (!empty()) {
    std::array<iovec, most_at_once> parts;
    const std::size_t count = std::min(pieces_.size() - next_, most_at_once);
    for (std::size_t k = 0; k < count; ++k) {
      const Piece& piece = pieces_[next_ + k];
      const std::size_t skipped = k == 0 ? within_ : 0;
      parts[k] = {const_cast<std::uint8_t*>(begin_of(piece)) + skipped, piece.bytes - skipped};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t written = ::sendmsg(socket, &message, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (written < 0) throw std::system_error(errno, std::generic_category(), "send");
    advance(static_cast<std::size_t>(written));
  }
}

void Output::advance(std::size_t bytes) {
  for (within_ += bytes; next_ < pieces_.size() && within_ >= pieces_[next_].bytes; ++next_)
    within_ -= pieces_[next_].bytes;
  if (!empty()) return;
  pieces_.clear();
  copied_.clear();
  next_ = 0;
}

}  // namespace loadgen
