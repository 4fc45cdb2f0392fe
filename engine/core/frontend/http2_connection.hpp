// HTTP/2 by the library, calls by their streams.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "frontend/connection.hpp"
#include "frontend/out_queue.hpp"
#include "http2/api.hpp"

namespace engine::frontend {

/// One thread at a time: the front end's.
class Http2Connection final : public Connection {
 public:
  /// Throws std::runtime_error if the library refuses.
  Http2Connection(const http2::Api& api, std::unique_ptr<Transport> transport, std::uint64_t number,
                  const ConnectionParams& params, CallHandler& handler);
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;
  ~Http2Connection() override;

  [[nodiscard]] bool take(Bytes data) override;
  [[nodiscard]] bool flush() override;
  void go_on(Call& call) override;
  void consume(Call& call) override;
  bool end_receipts() override;
  [[nodiscard]] bool end_slow(std::int64_t now_ns) override;
  void say_goodbye() override;
  [[nodiscard]] std::size_t call_count() const noexcept override { return calls_.size(); }
  /// A call by its stream; null if it is gone.
  [[nodiscard]] Call* find(std::int32_t stream) noexcept;

 private:
  friend struct SessionCallbacks;

  void begin_call(std::int32_t stream);
  void take_header(Call& call, std::string_view name, std::string_view value);
  void headers_end(Call& call);
  void take_data(Call& call, Bytes data);
  void half_close(Call& call);
  void close_call(std::int32_t stream);
  void reject(Call& call, int http_status);
  ssize_t provide(Call& call, std::size_t most, std::uint32_t& flags);
  void send_out(Call& call, std::size_t bytes);
  void submit_trailer(Call& call);
  void cut_off(const Call& call);
  void end_for_memory(Call& call);

  const http2::Api& api_;
  const ConnectionParams params_;
  CallHandler& handler_;
  http2::Session* session_ = nullptr;
  std::unordered_map<std::int32_t, std::unique_ptr<Call>> calls_;
  OutQueue out_;
};

}  // namespace engine::frontend
