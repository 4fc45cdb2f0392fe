// gRPC: unary calls over HTTP/2, which libnghttp2 speaks.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "dialogue.hpp"
#include "http2/api.hpp"
#include "prepared.hpp"

namespace loadgen {

/// As many calls at once as the server allows, which it says before the first one; what is beyond
/// that waits in the library.
class GrpcDialogue final : public Dialogue {
 public:
  /// All three must outlive it. Throws std::runtime_error if the library refuses.
  GrpcDialogue(const engine::http2::Api& api, Prepared& prepared, Sink& sink);
  ~GrpcDialogue() override;
  GrpcDialogue(const GrpcDialogue&) = delete;
  GrpcDialogue& operator=(const GrpcDialogue&) = delete;

  [[nodiscard]] bool is_ready() const noexcept override { return is_ready_; }
  [[nodiscard]] bool takes() const noexcept override { return !is_draining_; }
  void send(const Query& query) override;
  void forget(std::uint32_t row) override;
  void receive(const std::uint8_t* data, std::size_t bytes) override;
  void write(Output& output) override;
  [[nodiscard]] bool is_over() const noexcept override { return is_draining_ && open_ == 0; }
  [[nodiscard]] std::vector<std::uint32_t> in_flight() const override;

 private:
  /// A call.
  struct Flight {
    Query query;
    std::int32_t stream = 0;
    bool is_open = false;
    bool is_told = false;      ///< the sink has heard, or does not want to
    std::size_t sent = 0;      ///< bytes of the request
    std::size_t received = 0;  ///< bytes of the answer
    std::array<std::uint8_t, 5> prefix;
    int http_status = 0;
    int grpc_status = -1;  ///< -1: not said
    std::string message;
    Compared compared;
  };
  struct Calls;  // what the library calls

  [[nodiscard]] Flight& idle_flight();
  [[nodiscard]] const std::string& request_of(const Flight& flight) const;
  void take_header(Flight& flight, std::string_view name, std::string_view value);
  void take_data(Flight& flight, const std::uint8_t* data, std::size_t bytes);
  void end_of_answer(Flight& flight);
  void close(Flight& flight, std::uint32_t error);
  void tell(Flight& flight, std::uint32_t error);
  [[nodiscard]] std::string_view kind_of(Flight& flight, std::uint32_t error) const;

  const engine::http2::Api& api_;
  Prepared& prepared_;
  Sink& sink_;
  engine::http2::Session* session_ = nullptr;
  std::vector<std::vector<engine::http2::Field>> fields_;  // by request
  std::vector<std::unique_ptr<Flight>> flights_;           // whose addresses the library knows
  std::vector<Flight*> idle_;
  std::size_t open_ = 0;
  bool is_ready_ = false;  ///< the server's settings have come
  bool is_draining_ = false;
  Output* output_ = nullptr;  ///< while write() runs
};

}  // namespace loadgen
