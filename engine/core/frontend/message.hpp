// gRPC's messages as they arrive: five bytes of prefix, then the content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>

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

/// Puts the messages of one stream together. Memory is taken as content arrives, and counted in the
/// process's account until whoever has the message lets it go: what is announced takes none. The
/// content is placed such that the first raw tensor of a query begins at a
/// multiple of 64.
class MessageReader {
 public:
  static constexpr std::size_t prefix_bytes = 5;

  enum class State : std::uint8_t {
    more,       ///< all that was given is taken
    message,    ///< one is complete: take()
    too_large,  ///< one was announced that is larger than allowed
    no_room,    ///< the process may not hold what comes as well
  };

  /// Takes of `data` what it needs, and moves it on.
  State feed(Bytes& data, std::size_t most_bytes);
  [[nodiscard]] Message take() noexcept { return std::exchange(message_, {}); }
  /// What was announced last.
  [[nodiscard]] std::size_t announced() const noexcept { return expected_; }
  /// Whether a message was begun.
  [[nodiscard]] bool is_within() const noexcept { return prefix_taken_ > 0; }

 private:
  void allocate(Bytes beginning);
  [[nodiscard]] bool has_room_for(std::size_t bytes);

  std::array<std::byte, prefix_bytes> prefix_{};
  std::size_t prefix_taken_ = 0;
  std::size_t expected_ = 0;
  std::size_t taken_ = 0;
  Message message_;
  std::shared_ptr<MemoryShare> share_;  ///< of the message's memory
};

}  // namespace engine::frontend
