// Another scheduler on the same graphs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "graphs.hpp"

namespace engine::bench {

/// Name and version of the peer, empty if none was built in.
[[nodiscard]] std::string peer_name();

/// Builds the graph once and calls `measure` with a function that runs it once, on `threads`
/// threads, the caller's among them. Nothing without a peer.
void with_peer(const Edges& edges, int threads, std::int64_t grain_ns,
               const std::function<void(const std::function<void()>&)>& measure);

}  // namespace engine::bench
