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
#include <utility>

#include "isolation/packet.hpp"
#include "isolation/query_link.hpp"
#include "isolation/shared_blocks.hpp"
#include "memory/account.hpp"

namespace engine::isolation {

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
class WorkerLink final : public QueryLink, public std::enable_shared_from_this<WorkerLink> {
 public:
  /// `memory_bytes`: of the requests in flight, and of the answers; taken as it is used. Throws
  /// std::system_error.
  static std::shared_ptr<WorkerLink> made(std::size_t memory_bytes);
  ~WorkerLink() override;

  /// The worker's ends, once.
  [[nodiscard]] WorkerEnds take_ends() noexcept;

  /// As of any link; the content is copied, and no trace goes along.
  [[nodiscard]] Sent submit(const LinkedQuery& query, std::shared_ptr<AnswerSink> sink,
                            std::uint64_t number, std::uint64_t& tag) override {
    return submit(query.content, query.deadline_ns, std::move(sink), number, tag);
  }
  [[nodiscard]] Sent submit(Bytes content, std::int64_t deadline_ns,
                            std::shared_ptr<AnswerSink> sink, std::uint64_t number,
                            std::uint64_t& tag);
  void cancel(std::uint64_t tag) override;
  [[nodiscard]] bool pump() override;
  [[nodiscard]] int fd() const noexcept override { return socket_; }
  [[nodiscard]] bool is_gone() const override;
  [[nodiscard]] std::size_t in_flight() const override;

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
