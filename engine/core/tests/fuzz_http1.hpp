// What fuzzers call: any bytes are taken, and what must hold for all of them is checked.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace engine::fuzz {

using Input = std::span<const std::byte>;

/// A connection of HTTP/1.1 is given the bytes at once, and in pieces: it answers the same. Throws
/// std::runtime_error where it does not.
void http1_connection(Input bytes);

/// The bytes are a query of REST, document and tensors: `bytes[0]` says by how many bytes its
/// document ends before them. What is read lies within them.
void rest_request(Input bytes);

/// Whole ones, to be changed.
[[nodiscard]] std::vector<std::string> http1_seeds();
[[nodiscard]] std::vector<std::string> rest_seeds();

}  // namespace engine::fuzz
