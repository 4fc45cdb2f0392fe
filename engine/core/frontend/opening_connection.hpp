// A connection whose first bytes have not said yet what it speaks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "frontend/connection.hpp"

namespace engine::frontend {

/// Where one port is for all: HTTP/2 begins with a preface that is no request of HTTP/1.1. Once it
/// is known, another connection goes on in its place. One thread at a time: the front end's.
class OpeningConnection final : public Connection {
 public:
  using Connection::Connection;

  [[nodiscard]] bool take(Bytes data) override;
  [[nodiscard]] bool flush() override { return !is_over_ && transport().send(nothing_); }
  [[nodiscard]] bool wants_more() const noexcept override { return !speaks(); }
  void go_on(Call&) override {}
  void consume(Call&) override {}
  bool end_receipts() override { return false; }
  [[nodiscard]] bool end_slow(std::int64_t) override { return true; }
  void say_goodbye() override { is_over_ = true; }
  [[nodiscard]] std::size_t call_count() const noexcept override { return 0; }

  /// What it speaks, once that is known.
  [[nodiscard]] std::optional<Speaks> speaks() const noexcept;
  /// What has come.
  [[nodiscard]] const std::string& first() const noexcept { return first_; }
  /// Gives its transport to who goes on.
  [[nodiscard]] std::unique_ptr<Transport> release() noexcept { return release_transport(); }

 private:
  std::string first_;
  bool is_over_ = false;
  OutQueue nothing_;  ///< a handshake may have something to say
};

}  // namespace engine::frontend
