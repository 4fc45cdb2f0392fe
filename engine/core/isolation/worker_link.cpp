#include "isolation/worker_link.hpp"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace engine::isolation {

namespace {

constexpr int unavailable = 14, internal = 13;  ///< gRPC's statuses
/// What waits for a worker that does not read: no further queries, and then nothing at all.
constexpr std::size_t most_waiting_queries_bytes = 16U << 20, most_waiting_bytes = 32U << 20;
/// Others are waiting, too, for who pumps.
constexpr int most_at_a_time = 256;
constexpr std::string_view outside = "the process that runs the model answered from nowhere";
constexpr std::string_view ended =
    "the process that runs the model has ended; it is being started again";

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// A worker may say any byte.
Refusal refusal_of(const Packet& packet) noexcept {
  return packet.refusal <= static_cast<std::uint8_t>(Refusal::queue)
             ? static_cast<Refusal>(packet.refusal)
             : Refusal::none;
}

}  // namespace

std::shared_ptr<WorkerLink> WorkerLink::made(std::size_t memory_bytes) {
  return std::shared_ptr<WorkerLink>(new WorkerLink(memory_bytes));
}

WorkerLink::WorkerLink(std::size_t memory_bytes) {
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  socket_ = ends[0];
  ends_.socket = ends[1];
  try {
    ends_.requests = SharedPages::made(memory_bytes);
    ends_.answers = SharedPages::made(memory_bytes);
    requests_ = std::make_unique<SharedPages>(ends_.requests, true);
    answers_ = std::make_unique<SharedPages>(ends_.answers, false);
    blocks_ = std::make_unique<SharedBlocks>(*requests_);
  } catch (...) {
    for (const int fd : {socket_, ends_.socket, ends_.requests, ends_.answers})
      if (fd >= 0) close(fd);
    throw;
  }
}

WorkerLink::~WorkerLink() {
  const WorkerEnds ends = take_ends();
  for (const int fd : {socket_, ends.socket, ends.requests, ends.answers})
    if (fd >= 0) close(fd);
}

WorkerEnds WorkerLink::take_ends() noexcept { return std::exchange(ends_, {}); }

bool WorkerLink::is_gone() const {
  const std::lock_guard lock(mutex_);
  return is_gone_;
}

std::size_t WorkerLink::in_flight() const {
  const std::lock_guard lock(mutex_);
  return pending_.size();
}

/// With the lock.
bool WorkerLink::send(const Packet& packet, Bytes content) {
  if (waiting_.empty()) {
    Packet head = packet;
    iovec parts[] = {{&head, sizeof head},
                     {const_cast<std::byte*>(content.data()), content.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = content.empty() ? 1 : 2;
    for (;;) {
      if (sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return true;
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOBUFS) return false;
      break;
    }
  }
  if (waiting_bytes_ >= most_waiting_bytes) return true;  // it asks for no more of this
  std::string kept(reinterpret_cast<const char*>(&packet), sizeof packet);
  kept.append(reinterpret_cast<const char*>(content.data()), content.size());
  waiting_bytes_ += kept.size();
  waiting_.push_back(std::move(kept));
  return true;
}

/// With the lock. Whatever waits, answers will come: then there is room again.
void WorkerLink::send_waiting() {
  while (!waiting_.empty()) {
    const std::string& next = waiting_.front();
    if (::send(socket_, next.data(), next.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
    waiting_bytes_ -= next.size();
    waiting_.pop_front();
  }
}

WorkerLink::Sent WorkerLink::submit(Bytes content, std::int64_t deadline_ns,
                                    std::shared_ptr<AnswerSink> sink, std::uint64_t number,
                                    std::uint64_t& tag) {
  Packet packet{.kind = PacketKind::query, .time_ns = deadline_ns, .bytes = content.size()};
  MemoryShare share;
  if (content.size() > most_inline_bytes) {
    // The same place in a line of the cache: tensors are aligned as they were.
    const std::uint64_t shift = reinterpret_cast<std::uintptr_t>(content.data()) % 64;
    if (!share.try_take(content.size() + shift)) return Sent::no_room;
    const auto block = blocks_->take(content.size() + shift);
    if (!block) return Sent::no_room;
    packet.in_block = 1;
    packet.offset = *block + shift;
    std::memcpy(requests_->data() + packet.offset, content.data(), content.size());
  }
  const std::lock_guard lock(mutex_);
  packet.tag = tag = ++last_tag_;
  if (waiting_bytes_ >= most_waiting_queries_bytes) {
    if (packet.in_block != 0) blocks_->give(packet.offset / 4096 * 4096);
    return Sent::no_room;
  }
  if (is_gone_ || !send(packet, packet.in_block != 0 ? Bytes{} : content)) {
    if (packet.in_block != 0) blocks_->give(packet.offset / 4096 * 4096);
    return Sent::gone;
  }
  if (packet.in_block != 0) shares_.emplace(packet.offset / 4096 * 4096, std::move(share));
  pending_.emplace(tag, Pending{std::move(sink), number});
  return Sent::yes;
}

void WorkerLink::cancel(std::uint64_t tag) {
  const std::lock_guard lock(mutex_);
  if (pending_.erase(tag) == 0) return;
  static_cast<void>(send({.kind = PacketKind::cancel, .tag = tag}, {}));
}

bool WorkerLink::pump() {
  alignas(64) std::array<std::byte, most_packet_bytes> buffer;
  for (int taken = 0; taken < most_at_a_time; ++taken) {
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count < static_cast<ssize_t>(sizeof(Packet))) {
      end();
      return false;
    }
    Packet packet;
    std::memcpy(&packet, buffer.data(), sizeof packet);
    take(packet,
         Bytes(buffer).subspan(sizeof packet, static_cast<std::size_t>(count) - sizeof packet));
  }
  const std::lock_guard lock(mutex_);
  send_waiting();
  return !is_gone_;
}

void WorkerLink::take(const Packet& packet, Bytes content) {
  if (packet.kind == PacketKind::freed) {
    blocks_->give(packet.offset);
    const std::lock_guard lock(mutex_);
    shares_.erase(packet.offset);
    return;
  }
  if (packet.kind != PacketKind::answer) return;
  WorkerAnswer answer{.status = packet.status,
                      .refusal = refusal_of(packet),
                      .waited_ns = packet.time_ns,
                      .content = content,
                      .owner = {}};
  if (packet.in_block != 0) {
    if (!answers_->holds(packet.offset, packet.bytes)) {
      answer.status = internal;
      answer.content = bytes_of(outside);
      return tell(packet.tag, answer);
    }
    answer.content = {answers_->data() + packet.offset, packet.bytes};
    answer.owner = {answer.content.data(), [link = shared_from_this(), offset = packet.offset](
                                               const void*) { link->give_back(offset); }};
  }
  tell(packet.tag, answer);
}

void WorkerLink::tell(std::uint64_t tag, const WorkerAnswer& answer) {
  Pending pending;
  {
    const std::lock_guard lock(mutex_);
    const auto found = pending_.find(tag);
    if (found == pending_.end()) return;  // it was cancelled
    pending = std::move(found->second);
    pending_.erase(found);
  }
  pending.sink->on_answer(pending.number, answer);
}

void WorkerLink::give_back(std::uint64_t offset) noexcept {
  const std::lock_guard lock(mutex_);
  if (is_gone_) return;
  try {
    static_cast<void>(send({.kind = PacketKind::freed, .offset = offset}, {}));
  } catch (const std::bad_alloc&) {
    // The worker has less room for answers.
  }
}

void WorkerLink::end() {
  std::unordered_map<std::uint64_t, Pending> lost;
  {
    const std::lock_guard lock(mutex_);
    is_gone_ = true;
    lost = std::exchange(pending_, {});
    shares_.clear();
    waiting_.clear();
    waiting_bytes_ = 0;
  }
  const WorkerAnswer answer{
      .status = unavailable, .refusal = Refusal::none, .content = bytes_of(ended), .owner = {}};
  for (const auto& [tag, pending] : lost) pending.sink->on_answer(pending.number, answer);
}

}  // namespace engine::isolation
