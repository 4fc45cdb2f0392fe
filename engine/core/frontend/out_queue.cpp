#include "frontend/out_queue.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace engine::frontend {

namespace {

/// Below, a copy costs less than an entry of the system call.
constexpr std::size_t worth_keeping = 4096;
constexpr std::size_t most_entries = 64;

}  // namespace

void OutQueue::append(Bytes bytes) {
  if (bytes.empty()) return;
  const bool goes_on = first_ < pieces_.size() && pieces_.back().owner == nullptr;
  if (goes_on)
    pieces_.back().bytes += bytes.size();
  else
    pieces_.push_back({.offset = own_.size(), .bytes = bytes.size()});
  own_.append(text_of(bytes));
  bytes_ += bytes.size();
}

void OutQueue::append(Bytes bytes, const std::shared_ptr<const void>& owner) {
  if (owner == nullptr || bytes.size() < worth_keeping) return append(bytes);
  pieces_.push_back({.bytes = bytes.size(), .foreign = bytes.data(), .owner = owner});
  bytes_ += bytes.size();
}

Bytes OutQueue::bytes_of(const Piece& piece) const noexcept {
  const void* const data =
      piece.owner == nullptr ? static_cast<const void*>(own_.data() + piece.offset) : piece.foreign;
  return {static_cast<const std::byte*>(data), piece.bytes};
}

Bytes OutQueue::front() const noexcept { return bytes_of(pieces_[first_]); }

std::size_t OutQueue::copy_to(std::span<std::byte> room) const noexcept {
  std::size_t copied = 0;
  for (std::size_t i = first_; i < pieces_.size() && copied < room.size(); ++i) {
    const Bytes piece = bytes_of(pieces_[i]);
    const std::size_t count = std::min(piece.size(), room.size() - copied);
    std::memcpy(room.data() + copied, piece.data(), count);
    copied += count;
  }
  return copied;
}

bool OutQueue::write_to(int socket) {
  while (bytes_ > 0) {
    std::array<iovec, most_entries> entries{};
    std::size_t count = 0;
    for (std::size_t i = first_; i < pieces_.size() && count < most_entries; ++i) {
      const Bytes piece = bytes_of(pieces_[i]);
      entries[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    }
    msghdr message{};
    message.msg_iov = entries.data();
    message.msg_iovlen = count;
    const ssize_t written = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    drop(static_cast<std::size_t>(written));
  }
  return true;
}

void OutQueue::drop(std::size_t bytes) {
  bytes_ -= bytes;
  while (bytes > 0) {
    Piece& piece = pieces_[first_];
    const std::size_t count = std::min(bytes, piece.bytes);
    piece.bytes -= count;
    bytes -= count;
    if (piece.owner == nullptr)
      piece.offset += count;
    else
      piece.foreign += count;
    if (piece.bytes > 0) break;
    piece.owner.reset();
    ++first_;
  }
  if (bytes_ > 0) return;
  pieces_.clear();
  own_.clear();
  first_ = 0;
}

}  // namespace engine::frontend
