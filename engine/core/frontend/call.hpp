// One call, of gRPC or REST: what came, what is to be sent.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontend/grpc.hpp"
#include "frontend/message.hpp"
#include "frontend/method.hpp"
#include "frontend/out_queue.hpp"
#include "frontend/rest.hpp"
#include "isolation/packet.hpp"

namespace engine::frontend {

constexpr std::string_view infer_path = "/inference.GRPCInferenceService/ModelInfer";

/// W3C has 55 characters, and later versions may append to them.
constexpr std::size_t longest_trace_parent = 128;

/// The place of an answer in its stream.
struct Item {
  std::vector<OutPart> answer;
  bool is_answered = false;
};

/// One thread at a time: the front end's.
struct Call {
  Call(std::int32_t on_stream, std::uint64_t its_token) : stream(on_stream), token(its_token) {}

  /// Sent behind what is to be sent already.
  void send(std::vector<OutPart> parts) {
    for (OutPart& part : parts) {
      out_bytes += part.bytes().size();
      out.push_back(std::move(part));
    }
  }
  /// Nothing more is sent.
  void end(Status with, std::string why = {}) {
    has_ended = true;
    status = with;
    text = std::move(why);
  }

  const std::int32_t stream;
  const std::uint64_t token;  ///< its number in the front end
  std::uint64_t tag = 0;      ///< of a query for another process: its number there
  std::string path, content_type, encoding, authorization;
  /// Of the certificate that its connection has shown; null: none was.
  const std::vector<std::string>* certificate_names = nullptr;
  std::string trace_parent;    ///< W3C's header, as it came; empty without one
  bool wants_load = false;     ///< who asks wants to know how busy the server is (LoadReport)
  std::unique_ptr<Rest> rest;  ///< null: it is gRPC's
  Method method = Method::other;
  bool is_post = false;
  std::int64_t received_ns = 0;
  std::int64_t deadline_ns = 0;  ///< 0: none

  // What came.
  MessageReader reader;
  std::deque<Message> messages;       ///< that nothing was done with yet
  bool is_complete = false;           ///< nothing more comes
  bool is_pythons = false;            ///< Python is told of it
  std::size_t told = 0;               ///< how many events of it were put for Python
  std::vector<std::int64_t> flights;  ///< tags of its runs

  // Answers of a stream, in its order.
  std::deque<Item> items;
  std::uint64_t first_item = 0;      ///< number of the first of `items`
  bool is_sending = false;           ///< somebody up the stack sends those that are answered
  std::size_t unconsumed_bytes = 0;  ///< that the client may not send anew yet

  // What goes.
  std::deque<OutPart> out;
  std::size_t out_bytes = 0;
  std::size_t first_offset = 0;  ///< of what was sent of the first part
  bool has_begun = false;        ///< its headers are submitted
  bool has_ended = false;
  Status status = Status::ok;
  std::string text;
  std::string load;                                       ///< what is said of that; empty: nothing
  isolation::Refusal refusal = isolation::Refusal::none;  ///< of the query
  std::int64_t waited_ns = -1;                            ///< for a lane; -1: not known
};

}  // namespace engine::frontend
