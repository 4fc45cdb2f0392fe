// What a client shows to servers, and which it believes.
#pragma once

#include <string>
#include <string_view>

#include "tls/api.hpp"

namespace engine::tls {

/// Paths of PEM files.
struct ClientFiles {
  std::string ca;           ///< authorities of servers
  std::string certificate;  ///< what is shown to them; empty: nothing
  std::string key;          ///< the certificate's, without a passphrase
};

/// The files as they were when it was made. Immutable, thread-safe; outlived by its connections.
class ClientContext {
 public:
  /// Throws std::runtime_error without OpenSSL, and where a file does not do, which it names.
  explicit ClientContext(const ClientFiles& files);
  ClientContext(const ClientContext&) = delete;
  ClientContext& operator=(const ClientContext&) = delete;
  ~ClientContext();

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  /// A connection to a server that has to be that host, by name or IP address, which is offered
  /// those protocols (ALPN). Throws std::bad_alloc.
  [[nodiscard]] Ssl* connection(const std::string& host, std::string_view protocols) const;

 private:
  const Api& api_;
  SslContext* context_;
};

}  // namespace engine::tls
