// A socket whose bytes are encrypted.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "frontend/transport.hpp"
#include "tls/client_context.hpp"
#include "tls/context.hpp"

namespace engine::frontend {

/// What a client says first, before OpenSSL takes memory for as much as it announces.
class HelloCheck {
 public:
  /// False where it announces more than any client needs.
  [[nodiscard]] bool take(Bytes came) noexcept;

 private:
  std::array<std::uint8_t, 9> head_{};
  std::size_t taken_ = 0;
};

/// TLS. The handshake is part of receive(). What is encrypted is sent at once,
/// so that 128 KiB of it wait at the most, beside what the client makes OpenSSL say; who makes it
/// say much and does not read is cut off.
class TlsTransport final : public Transport {
 public:
  /// The server's side. `protocols`: what is spoken, as ALPN has it; a constant. Throws
  /// std::bad_alloc.
  TlsTransport(std::shared_ptr<const tls::Context> context, int socket, std::string_view protocols);
  /// The client's, to a server that has to be that host.
  TlsTransport(std::shared_ptr<const tls::ClientContext> context, int socket,
               std::string_view protocols, const std::string& host);
  TlsTransport(const TlsTransport&) = delete;
  TlsTransport& operator=(const TlsTransport&) = delete;
  /// Says so to the client, if its socket takes it.
  ~TlsTransport() override;

  [[nodiscard]] std::optional<std::size_t> receive(std::span<std::byte> buffer) override;
  [[nodiscard]] bool send(OutQueue& out) override;
  [[nodiscard]] bool is_blocked() const noexcept override { return !encrypted_.empty(); }
  [[nodiscard]] bool is_agreed() const noexcept override { return api_.ssl_is_finished(ssl_) != 0; }
  [[nodiscard]] const std::vector<std::string>* certificate_names() override;
  [[nodiscard]] std::string why() const override { return why_; }

 private:
  struct Callbacks;

  TlsTransport(std::shared_ptr<const void> context, const tls::Api& api, tls::Ssl* ssl, int socket);
  [[nodiscard]] std::size_t decrypt(Bytes came, std::span<std::byte> to);
  void note_failure();
  [[nodiscard]] bool encrypt(OutQueue& out);
  [[nodiscard]] bool send_encrypted();

  const std::shared_ptr<const void> context_;
  const tls::Api& api_;
  std::string_view protocols_;
  tls::Ssl* ssl_;
  bool hears_hello_ = false;
  HelloCheck hello_;
  Bytes came_;             ///< that was not decrypted yet
  std::string encrypted_;  ///< that is still to be sent
  std::size_t sent_ = 0;   ///< of it
  bool is_over_ = false;   ///< nothing comes any more
  bool has_failed_ = false;
  std::string why_;
  std::optional<std::vector<std::string>> names_;  ///< once they were asked for
};

}  // namespace engine::frontend
