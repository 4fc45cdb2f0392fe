// What is to be written to a socket, in order: bytes of its own, and memory of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/proto.hpp"

namespace engine::frontend {

/// A part of an answer. `owner` keeps memory that is not the answer's own.
struct OutPart {
  std::string own;
  Bytes foreign;
  std::shared_ptr<const void> owner;

  [[nodiscard]] Bytes bytes() const noexcept {
    return owner == nullptr ? Bytes(reinterpret_cast<const std::byte*>(own.data()), own.size())
                            : foreign;
  }
};

/// One thread at a time.
class OutQueue {
 public:
  /// Copied.
  void append(Bytes bytes);
  /// Kept until it is written; copied if that costs less.
  void append(Bytes bytes, const std::shared_ptr<const void>& owner);
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool empty() const noexcept { return bytes_ == 0; }
  /// The first bytes, as far as they lie behind each other; it is not empty.
  [[nodiscard]] Bytes front() const noexcept;
  /// Copies the first bytes, as many as there are and there is room for; returns how many.
  std::size_t copy_to(std::span<std::byte> room) const noexcept;
  /// Forgets the first `bytes`, as many as there are at the most.
  void drop(std::size_t bytes);
  /// Writes what the socket takes; false if it takes nothing any more.
  [[nodiscard]] bool write_to(int socket);

 private:
  struct Piece {
    std::size_t offset = 0;  ///< in `own_`, without an owner
    std::size_t bytes = 0;
    const std::byte* foreign = nullptr;
    std::shared_ptr<const void> owner = nullptr;
  };

  [[nodiscard]] Bytes bytes_of(const Piece& piece) const noexcept;

  std::string own_;
  std::vector<Piece> pieces_;
  std::size_t first_ = 0;  ///< of the pieces that are left
  std::size_t bytes_ = 0;
};

}  // namespace engine::frontend
