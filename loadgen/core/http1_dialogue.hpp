// HTTP/1.1, kept alive: one request at a time, answers of a known length.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dialogue.hpp"
#include "prepared.hpp"

namespace loadgen {

/// Errors are counted by their number, as "HTTP 503"; an answer in chunks as "CHUNKED_ANSWER", one
/// that says no length as "ANSWER_WITHOUT_LENGTH": neither is read.
class Http1Dialogue final : public Dialogue {
 public:
  /// Both must outlive it.
  Http1Dialogue(Prepared& prepared, Sink& sink) : prepared_(prepared), sink_(sink) {}

  [[nodiscard]] bool is_ready() const noexcept override { return true; }
  [[nodiscard]] bool takes() const noexcept override { return !is_last_ && !query_.has_value(); }
  void send(const Query& query) override;
  void forget(std::uint32_t row) override;
  void receive(const std::uint8_t* data, std::size_t bytes) override;
  void write(Output& output) override;
  [[nodiscard]] bool is_over() const noexcept override { return is_last_ && !query_.has_value(); }
  [[nodiscard]] std::vector<std::uint32_t> in_flight() const override;

 private:
  [[nodiscard]] std::size_t take_head(const std::uint8_t* data, std::size_t bytes);
  void read_head(std::string_view head);
  void read_field(std::string_view name, std::string_view value);
  void take_body(const std::uint8_t* data, std::size_t bytes);
  void end(std::string_view kind, std::string_view message);

  Prepared& prepared_;
  Sink& sink_;
  std::optional<Query> query_;
  bool is_written_ = true;
  bool is_last_ = false;  ///< nothing more goes over this connection
  std::string head_;
  bool in_body_ = false;
  int status_ = 0;
  std::size_t left_ = 0;  ///< bytes of the body that are to come
  bool has_length_ = false, is_chunked_ = false;
  std::string reason_;  ///< the first bytes of what an error says
  Compared compared_;
};

}  // namespace loadgen
