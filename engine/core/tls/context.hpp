// What a server shows to who connects, and whom it lets in.
#pragma once

#include <string>

#include "tls/api.hpp"

namespace engine::tls {

/// Paths of PEM files.
struct Files {
  std::string certificate;  ///< the server's, and those between it and its authority
  std::string key;          ///< the certificate's, without a passphrase
  std::string client_ca;    ///< authorities of clients; empty: clients need no certificate
};

/// The files as they were when it was made. Immutable, thread-safe; outlived by its connections.
class Context {
 public:
  /// Throws std::runtime_error without OpenSSL, and where a file does not do, which it names.
  explicit Context(const Files& files);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  [[nodiscard]] const Api& api() const noexcept { return api_; }
  [[nodiscard]] SslContext* get() const noexcept { return context_; }

 private:
  void load(const Files& files);
  void set_limits();

  const Api& api_;
  SslContext* context_;
};

/// Protocols in the order in which they are wanted, as ALPN has them: each behind its length.
/// What a connection speaks; SSL's data at this place is a pointer to a std::string_view of them.
inline constexpr int protocols_place = 0;

}  // namespace engine::tls
