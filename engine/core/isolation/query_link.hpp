// What answers queries elsewhere: another process of this machine, or other servers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "isolation/packet.hpp"

namespace engine::isolation {

using Bytes = std::span<const std::byte>;

/// A query on its way.
struct LinkedQuery {
  Bytes content;                           ///< a ModelInferRequest
  std::shared_ptr<const void> owner = {};  ///< keeps it; null: it lasts for the call only
  std::int64_t deadline_ns = 0;            ///< 0: none
  std::string_view trace_parent = {};      ///< W3C's, if there is one
};

/// What came of a query.
struct WorkerAnswer {
  int status = 0;  ///< gRPC's
  Refusal refusal = Refusal::none;
  std::int64_t waited_ns = not_known_ns;  ///< for a lane
  Bytes content;  ///< a ModelInferResponse, or a text that says why there is none
  /// Keeps the content; null where the content lasts for the call only.
  std::shared_ptr<const void> owner;
};

/// Hears of answers, on the thread that pumps the link.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual void on_answer(std::uint64_t number, const WorkerAnswer& answer) = 0;
};

/// submit() and cancel() from any thread; pump() from one at a time. Always held by a shared_ptr.
class QueryLink {
 public:
  QueryLink() = default;
  QueryLink(const QueryLink&) = delete;
  QueryLink& operator=(const QueryLink&) = delete;
  virtual ~QueryLink() = default;

  enum class Sent : std::uint8_t {
    yes,
    gone,     ///< there is nobody to answer it
    no_room,  ///< who answers has no room for it
  };
  /// Sends a query; `sink` hears of its answer under `number`, once, unless it is cancelled before.
  /// `tag` is for cancel().
  [[nodiscard]] virtual Sent submit(const LinkedQuery& query, std::shared_ptr<AnswerSink> sink,
                                    std::uint64_t number, std::uint64_t& tag) = 0;
  /// Nobody waits for it any more; nothing if it was answered.
  virtual void cancel(std::uint64_t tag) = 0;
  /// Tells the sinks of what has come. False: nothing comes any more, and all sinks were told.
  [[nodiscard]] virtual bool pump() = 0;
  /// Readable when there is something to pump.
  [[nodiscard]] virtual int fd() const noexcept = 0;
  [[nodiscard]] virtual bool is_gone() const = 0;
  /// Queries that are not answered.
  [[nodiscard]] virtual std::size_t in_flight() const = 0;
};

}  // namespace engine::isolation
