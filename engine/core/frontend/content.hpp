// What one message holds, put together as it arrives.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "frontend/proto.hpp"
#include "memory/account.hpp"

namespace engine::frontend {

/// The content of one message. Its memory may be that of tensors.
struct Message {
  std::shared_ptr<std::byte> memory;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  bool is_compressed = false;

  [[nodiscard]] Bytes content() const noexcept { return {data, bytes}; }
};

/// Memory is taken as content arrives, and counted in the process's account until whoever has the
/// message lets it go: what is announced takes none. One thread at a time.
class Content {
 public:
  /// Of `expected` bytes, or nobody knows how many. What begins at `first_raw` is placed at a
  /// multiple of 64.
  void begin(std::optional<std::size_t> expected, std::size_t first_raw);
  /// Copied; of no more in all than expected. False, and nothing taken, where the process may not
  /// hold it as well. Throws std::bad_alloc.
  [[nodiscard]] bool add(Bytes bytes);
  [[nodiscard]] std::size_t bytes() const noexcept { return message_.bytes; }
  /// What there is.
  [[nodiscard]] Message take() noexcept;

 private:
  void allocate(std::size_t room);
  [[nodiscard]] bool has_room_for(std::size_t bytes);

  std::optional<std::size_t> expected_;
  std::size_t shift_ = 0, room_ = 0;
  Message message_;
  std::shared_ptr<MemoryShare> share_;  ///< of the message's memory
};

}  // namespace engine::frontend
