// What a server and the process that runs a model for it say to each other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace engine::isolation {

enum class PacketKind : std::uint8_t {
  query,   ///< to the worker: a ModelInferRequest
  cancel,  ///< to the worker: nobody waits for that query's answer
  answer,  ///< from the worker: a ModelInferResponse, or why there is none
  freed,   ///< either way: that block is not read any more
};

/// Why a worker's rules turned a query away; its status alone does not say it.
enum class Refusal : std::uint8_t {
  none,
  late,   ///< it could not be in time, or would have waited for long
  queue,  ///< by its model's queue policy: too many wait, or it waited too long
};

/// The head of each message on the socket. Its content follows, or lies in a block of shared
/// memory. Both ends are of one build.
struct Packet {
  PacketKind kind = PacketKind::query;
  // Not bool: whoever says them may say any byte.
  std::uint8_t in_block = 0;
  std::uint8_t refusal = 0;  ///< of an answer: a Refusal
  std::int32_t status = 0;   ///< of an answer: gRPC's
  std::uint64_t tag = 0;     ///< of the query
  std::int64_t time_ns = 0;  ///< of a query: when it is due, 0: never; of an answer: what it waited
  std::uint64_t offset = 0;  ///< of the content, in the sender's blocks
  std::uint64_t bytes = 0;   ///< of the content

  /// Of what follows this head on the socket.
  [[nodiscard]] std::uint64_t inline_bytes() const noexcept {
    const bool has_content = kind == PacketKind::query || kind == PacketKind::answer;
    return has_content && in_block == 0 ? bytes : 0;
  }
};

/// Content of up to so many bytes travels on the socket: a block costs a further message.
constexpr std::size_t most_inline_bytes = 8192;
constexpr std::size_t most_packet_bytes = sizeof(Packet) + most_inline_bytes;

/// What a server waits for is not known.
constexpr std::int64_t not_known_ns = -1;

}  // namespace engine::isolation
