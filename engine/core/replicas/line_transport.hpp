// How a line's bytes come and go.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "frontend/transport.hpp"
#include "replicas/line_answer.hpp"
#include "replicas/server_address.hpp"

namespace engine::replicas {

/// Begins to connect, over TLS where the parameters have it. `protocols`: what is spoken, as ALPN
/// has it; a constant. Throws std::system_error without descriptors, std::bad_alloc.
[[nodiscard]] std::unique_ptr<frontend::Transport> line_transport(const LineParams& params,
                                                                  const ServerAddress& address,
                                                                  std::string_view protocols);

/// Why a connection that is over is, as far as its transport knows.
[[nodiscard]] std::string why_over(const frontend::Transport& transport);

}  // namespace engine::replicas
