// gRPC's messages as they arrive: five bytes of prefix, then the content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "frontend/content.hpp"
#include "frontend/proto.hpp"

namespace engine::frontend {

/// Puts the messages of one stream together, each placed such that the first raw tensor of a query
/// begins at a multiple of 64.
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
  [[nodiscard]] Message take() noexcept;
  /// What was announced last.
  [[nodiscard]] std::size_t announced() const noexcept { return expected_; }
  /// Whether a message was begun.
  [[nodiscard]] bool is_within() const noexcept { return prefix_taken_ > 0; }

 private:
  std::array<std::byte, prefix_bytes> prefix_{};
  std::size_t prefix_taken_ = 0;
  std::size_t expected_ = 0;
  Content content_;
};

}  // namespace engine::frontend
