// A server's end of the line to the process that runs a model for it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "isolation/packet.hpp"
#include "isolation/shared_blocks.hpp"
#include "memory/account.hpp"

namespace engine::isolation {

using Bytes = std::span<const std::byte>;

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

/// What a worker is started with; whoever has it closes them.
struct WorkerEnds {
  int socket = -1, requests = -1, answers = -1;
};

/// A worker is trusted with the answers to its own queries and with nothing else: whatever it says
/// or does, the others go on. Small content travels on a socket, larger content in memory that both
/// map, of which each allocates what it sends.
///
/// submit() and cancel() from any thread, a short lock and a system call; pump() from one at a
/// time. Always held by a shared_ptr: answers' memory keeps it.
class WorkerLink : public std::enable_shared_from_this<WorkerLink> {
 public:
  /// `memory_bytes`: of the requests in flight, and of the answers; taken as it is used. Throws
  /// std::system_error.
  static std::shared_ptr<WorkerLink> made(std::size_t memory_bytes);
  WorkerLink(const WorkerLink&) = delete;
  WorkerLink& operator=(const WorkerLink&) = delete;
  ~WorkerLink();

  /// The worker's ends, once.
  [[nodiscard]] WorkerEnds take_ends() noexcept;

  enum class Sent : std::uint8_t {
    yes,
    gone,     ///< there is no worker any more
    no_room,  ///< the shared memory, or the process's account, is full, or it does not read
  };
  /// Sends a query; `sink` hears of its answer under `number`, once, unless it is cancelled before.
  /// `content` is copied; `tag` is for cancel().
  [[nodiscard]] Sent submit(Bytes content, std::int64_t deadline_ns,
                            std::shared_ptr<AnswerSink> sink, std::uint64_t number,
                            std::uint64_t& tag);
  /// Nobody waits for it any more; nothing if it was answered.
  void cancel(std::uint64_t tag);
  /// Tells the sinks of what has come. False: the worker is gone, and all sinks were told.
  [[nodiscard]] bool pump();
  /// Readable when there is something to pump.
  [[nodiscard]] int fd() const noexcept { return socket_; }
  [[nodiscard]] bool is_gone() const;
  /// Queries that are not answered.
  [[nodiscard]] std::size_t in_flight() const;

 private:
  /// A query that is not answered.
  struct Pending {
    std::shared_ptr<AnswerSink> sink;
    std::uint64_t number = 0;
  };
  explicit WorkerLink(std::size_t memory_bytes);

  void take(const Packet& packet, Bytes content);
  void tell(std::uint64_t tag, const WorkerAnswer& answer);
  void end();
  void give_back(std::uint64_t offset) noexcept;
  [[nodiscard]] bool send(const Packet& packet, Bytes content);
  void send_waiting();

  WorkerEnds ends_;
  int socket_ = -1;
  std::unique_ptr<SharedPages> requests_, answers_;
  std::unique_ptr<SharedBlocks> blocks_;

  mutable std::mutex mutex_;  // of all that follows
  std::unordered_map<std::uint64_t, Pending> pending_;
  std::unordered_map<std::uint64_t, MemoryShare> shares_;  ///< of blocks, by offset
  std::deque<std::string> waiting_;  ///< packets that the socket had no room for
  std::size_t waiting_bytes_ = 0;
  std::uint64_t last_tag_ = 0;
  bool is_gone_ = false;
};

}  // namespace engine::isolation
