// How a connection's bytes come and go.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontend/out_queue.hpp"

namespace engine::frontend {

/// A socket, and what is done to its bytes. One thread at a time; never blocks.
class Transport {
 public:
  /// Takes the socket, which is closed with it.
  explicit Transport(int socket) noexcept : socket_(socket) {}
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport();

  /// Takes what there is, up to the buffer's size, which is at least 64 KiB; less than that where
  /// nothing more is known of. 0: nothing for now; nothing: nothing comes any more.
  [[nodiscard]] virtual std::optional<std::size_t> receive(std::span<std::byte> buffer) = 0;
  /// Sends what can be sent, and drops it from the queue; false where nothing can be any more.
  [[nodiscard]] virtual bool send(OutQueue& out) = 0;
  /// Whether the last send() left something because the socket takes no more for now.
  [[nodiscard]] virtual bool is_blocked() const noexcept = 0;
  /// Whether both sides have agreed how to speak.
  [[nodiscard]] virtual bool is_agreed() const noexcept { return true; }
  /// Names in the certificate that the client has shown; null: it has shown none.
  [[nodiscard]] virtual const std::vector<std::string>* certificate_names() { return nullptr; }
  /// Why nothing comes any more, if it knows; else empty.
  [[nodiscard]] virtual std::string why() const { return {}; }

  [[nodiscard]] int socket() const noexcept { return socket_; }

 protected:
  /// As receive(), of the socket itself.
  [[nodiscard]] std::optional<std::size_t> take(std::span<std::byte> buffer) const noexcept;

 private:
  const int socket_;
};

/// The socket's bytes as they are.
class PlainTransport final : public Transport {
 public:
  using Transport::Transport;

  [[nodiscard]] std::optional<std::size_t> receive(std::span<std::byte> buffer) override {
    return take(buffer);
  }
  [[nodiscard]] bool send(OutQueue& out) override {
    const bool goes_on = out.write_to(socket());
    is_blocked_ = !out.empty();
    return goes_on;
  }
  [[nodiscard]] bool is_blocked() const noexcept override { return is_blocked_; }

 private:
  bool is_blocked_ = false;
};

}  // namespace engine::frontend
