// A worker's end of the line to the server whose models it runs (isolation/worker_link.hpp).
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frontend/connection.hpp"
#include "isolation/packet.hpp"
#include "isolation/shared_blocks.hpp"
#include "isolation/worker_link.hpp"
#include "memory/account.hpp"

namespace engine::frontend {

/// Packets of a SOCK_SEQPACKET socket, sent whole or not at all; several are received at once.
class PacketTransport final : public Transport {
 public:
  using Transport::Transport;

  [[nodiscard]] std::optional<std::size_t> receive(std::span<std::byte> buffer) override;
  /// Nothing is put into that queue.
  [[nodiscard]] bool send(OutQueue&) override { return true; }
  [[nodiscard]] bool is_blocked() const noexcept override { return is_blocked_; }
  /// Whether it was sent; nothing where none can be any more.
  [[nodiscard]] std::optional<bool> send_packet(std::string_view packet) noexcept;

 private:
  bool is_blocked_ = false;
};

/// One thread at a time: the front end's. Requests are read where the server has put them.
class WorkerConnection final : public Connection {
 public:
  /// Takes the socket; the memory's descriptors stay the caller's. Throws std::system_error.
  WorkerConnection(const isolation::WorkerEnds& ends, std::uint64_t number, CallHandler& handler);
  WorkerConnection(const WorkerConnection&) = delete;
  WorkerConnection& operator=(const WorkerConnection&) = delete;
  ~WorkerConnection() override;

  [[nodiscard]] bool take(Bytes data) override;
  [[nodiscard]] bool flush() override;
  void go_on(Call& call) override;
  void consume(Call&) override {}
  bool end_receipts() override { return false; }
  [[nodiscard]] bool end_slow(std::int64_t) override { return true; }
  void say_goodbye() override {}
  [[nodiscard]] std::size_t call_count() const noexcept override { return calls_.size(); }
  [[nodiscard]] bool may_be_silent() const noexcept override { return true; }

 private:
  /// Blocks of requests that nothing reads any more; whatever thread let them go.
  struct Unread {
    std::mutex mutex;
    std::vector<std::uint64_t> offsets;  // guarded by mutex
  };

  [[nodiscard]] PacketTransport& packets() noexcept {
    return static_cast<PacketTransport&>(transport());
  }
  void take_packet(const isolation::Packet& packet, Bytes content);
  void begin_call(const isolation::Packet& packet, Bytes content);
  void end_call(std::uint64_t tag);
  void answer(std::uint64_t tag, Call& call);
  void put(const isolation::Packet& packet, std::string_view content);
  [[nodiscard]] Message in_block(const isolation::Packet& packet) const;

  CallHandler& handler_;
  std::shared_ptr<isolation::SharedPages> requests_;
  isolation::SharedPages answers_;
  isolation::SharedBlocks blocks_;
  const std::shared_ptr<Unread> unread_ = std::make_shared<Unread>();
  std::unordered_map<std::uint64_t, std::unique_ptr<Call>> calls_;  ///< by the server's tag
  std::unordered_map<std::uint64_t, MemoryShare> shares_;           ///< of blocks, by offset
  std::vector<std::uint64_t> ended_;                                ///< to be answered
  std::deque<std::string> waiting_;  ///< packets that the socket had no room for
};

}  // namespace engine::frontend
