// Whose a client's certificate is.
#pragma once

#include <string>
#include <vector>

#include "tls/api.hpp"

namespace engine::tls {

/// Names in the certificate that the other side has shown, and that was found good: its alternative
/// names that are names of hosts, URIs and addresses of mail, then its subject's common name. Empty
/// where it has shown none. Linear in their number.
[[nodiscard]] std::vector<std::string> certificate_names(const Api& api, const Ssl* ssl);

}  // namespace engine::tls
