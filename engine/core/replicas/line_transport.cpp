#include "replicas/line_transport.hpp"

#include "frontend/tls_transport.hpp"

namespace engine::replicas {

std::unique_ptr<frontend::Transport> line_transport(const LineParams& params,
                                                    const ServerAddress& address,
                                                    std::string_view protocols) {
  const int socket = address.connect(params.unheard_ms);
  if (params.tls == nullptr) return std::make_unique<frontend::PlainTransport>(socket);
  return std::make_unique<frontend::TlsTransport>(params.tls, socket, protocols, address.host);
}

std::string why_over(const frontend::Transport& transport) {
  std::string why = transport.why();
  return why.empty() ? "the server closed the connection" : why;
}

}  // namespace engine::replicas
