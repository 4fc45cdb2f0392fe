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

/// What of a query over REST is not in its content, which is the body of a request. Views that last
/// for the call only.
struct RestAsked {
  std::string_view model;      ///< as the path names it
  std::string_view target;     ///< the path
  std::string_view fields;     ///< lines of the head that belong to the content
  std::uint64_t sequence = 0;  ///< a number that its sequence always has; 0: it is of none
};

/// A query on its way.
struct LinkedQuery {
  Bytes content;                           ///< a ModelInferRequest, unless it came over REST
  std::shared_ptr<const void> owner = {};  ///< keeps it; null: it lasts for the call only
  std::int64_t deadline_ns = 0;            ///< 0: none
  std::string_view trace_parent = {};      ///< W3C's, if there is one
  const RestAsked* rest = nullptr;         ///< null: it came over gRPC
};

/// What came of a query.
struct WorkerAnswer {
  int status = 0;  ///< gRPC's
  Refusal refusal = Refusal::none;
  std::int64_t waited_ns = not_known_ns;  ///< for a lane
  Bytes content;  ///< a ModelInferResponse, or a text that says why there is none
  /// Keeps the content; null where the content lasts for the call only.
  std::shared_ptr<const void> owner;
  // Over REST the content is what was answered, whatever its status:
  int http_status = 0;           ///< 0: nothing was, and the content says why
  std::string_view fields = {};  ///< lines of its head that belong to the content
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
  /// Whether it takes queries that came over REST, as they are.
  [[nodiscard]] virtual bool takes_rest() const noexcept { return false; }
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
