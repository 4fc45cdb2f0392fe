// Changes of inputs that know their format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "random.hpp"

namespace engine::fuzz {

/// Bits turned; bytes changed, put in, taken out, doubled.
[[nodiscard]] std::string mutated_bytes(std::string bytes, Random& random);

/// A field of a protobuf message, or of one within: gone, doubled, of another number, type, value
/// or length. What is no message is changed as bytes.
[[nodiscard]] std::string mutated_protobuf(std::string_view message, Random& random);

/// A frame of HTTP/2: gone, doubled, moved, of another kind, stream, length or content; or one that
/// was not there. What comes before the first frame stays.
[[nodiscard]] std::string mutated_frames(std::string_view connection, std::size_t first,
                                         Random& random);

/// One of these words put in or over what is there.
[[nodiscard]] std::string with_word(std::string text, const std::vector<std::string_view>& words,
                                    Random& random);

/// A message of gRPC: its prefix and its content.
[[nodiscard]] std::string grpc_message(std::string_view content);

/// A frame of HTTP/2.
[[nodiscard]] std::string frame(unsigned kind, unsigned flags, std::uint32_t stream,
                                std::string_view content);

}  // namespace engine::fuzz
