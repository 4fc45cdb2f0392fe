#include "peer.hpp"

namespace engine::bench {

std::string peer_name() { return {}; }

void with_peer(const Edges&, int, std::int64_t,
               const std::function<void(const std::function<void()>&)>&) {}

}  // namespace engine::bench
