// What queries send: made once, by Python, and sent as it is.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compared.hpp"

namespace loadgen {

/// One of the requests that queries send.
struct Request {
  using Headers = std::vector<std::pair<std::string, std::string>>;

  /// Over gRPC a message with its prefix, in HTTP/1.1 all that is sent.
  std::string bytes;
  /// Of a query of it, from when it is sent; more than 0.
  std::int64_t timeout_ns = 0;
  /// Over HTTP/2; in HTTP/1.1 they are part of `bytes`.
  Headers headers;
};

/// The requests, and the first answer to each.
struct Prepared {
  std::vector<Request> requests;
  std::vector<Compared::First> first;  ///< as many
  bool is_compared = false;
  bool is_kept = false;  ///< the first answers, whether they are compared or not

  [[nodiscard]] Compared compared(std::uint32_t request) {
    return Compared(is_compared || is_kept ? &first[request] : nullptr, is_compared);
  }
};

/// What an answer that differs from the first one is counted by.
inline constexpr const char* different_answer = "DIFFERENT_ANSWER";

}  // namespace loadgen
