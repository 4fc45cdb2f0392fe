// HTTP/1.1: one request after the other, its answer before the next one is read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "frontend/connection.hpp"
#include "frontend/content.hpp"
#include "frontend/out_queue.hpp"
#include "frontend/rest.hpp"
#include "http1/request_parser.hpp"

namespace engine::frontend {

/// A request is a call whose message is the body; requests that come before the answer to one
/// before wait, at first here, then with the client. Who cannot be answered any further is told
/// why; then what comes is thrown away for a while, since an answer is lost where more is on its
/// way.
///
/// One thread at a time: the front end's.
class Http1Connection final : public Connection, private http1::RequestSink {
 public:
  /// Throws std::runtime_error without the parser.
  Http1Connection(std::unique_ptr<Transport> transport, std::uint64_t number,
                  const ConnectionParams& params, CallHandler& handler);
  Http1Connection(const Http1Connection&) = delete;
  Http1Connection& operator=(const Http1Connection&) = delete;
  ~Http1Connection() override;

  [[nodiscard]] bool take(Bytes data) override;
  [[nodiscard]] bool flush() override;
  [[nodiscard]] bool wants_more() const noexcept override { return waiting_.empty(); }
  void go_on(Call& call) override;
  void consume(Call&) override {}
  bool end_receipts() override;
  [[nodiscard]] bool end_slow(std::int64_t now_ns) override;
  void say_goodbye() override;
  [[nodiscard]] std::size_t call_count() const noexcept override { return call_ ? 1 : 0; }
  [[nodiscard]] bool has_query() const noexcept override {
    return is_answering() && call_->method == Method::infer;
  }

 private:
  /// What becomes of what is read.
  enum class Reading : std::uint8_t { requests, nothing };

  [[nodiscard]] bool on_head(const http1::RequestHead& head) override;
  [[nodiscard]] bool on_body(std::span<const std::byte> bytes) override;
  void on_end() override;

  void parse(Bytes& data);
  void parse_waiting();
  void keep(Bytes data);
  [[nodiscard]] bool is_answering() const noexcept { return call_ && call_->is_complete; }
  [[nodiscard]] bool may_begin() const noexcept;
  void refuse(int status, const std::string& why);
  void refuse_call(int status, std::string_view why);
  void write_answer(Call& call);
  void end_call();

  const ConnectionParams params_;
  CallHandler& handler_;
  http1::RequestParser parser_;
  std::unique_ptr<Call> call_;  ///< being read or answered
  Content content_;             ///< of its body
  bool is_kept_ = true;         ///< the connection goes on behind the answer
  Reading reading_ = Reading::requests;
  bool is_last_sent_ = false;  ///< nothing more is said; what comes is thrown away
  std::int64_t since_ns_;  ///< the last request was answered, or began, or what comes is nothing
  std::string waiting_;    ///< that came before it could be read
  std::size_t waiting_at_ = 0;  ///< what of it was read since
  MemoryShare waiting_share_;
  OutQueue out_;
};

}  // namespace engine::frontend
