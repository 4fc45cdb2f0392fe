#include "frontend/worker_connection.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "frontend/infer_request.hpp"
#include "scheduler/clock.hpp"

namespace engine::frontend {

namespace {

using isolation::Packet;
using isolation::PacketKind;

constexpr std::uint64_t page = 4096, alignment = 64;

/// Content that travelled on the socket, placed as MessageReader places it.
Message copied(Bytes content) {
  const std::size_t shift = (alignment - raw_offset(content) % alignment) % alignment;
  const std::size_t bytes = (content.size() + shift + alignment) / alignment * alignment;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(alignment, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  std::memcpy(memory + shift, content.data(), content.size());
  Message message;
  message.memory = {memory, std::free};
  message.data = memory + shift;
  message.bytes = content.size();
  return message;
}

/// A call's answer, without the prefix that gRPC has before it.
void gather(const Call& call, std::byte* into) {
  std::size_t skipped = MessageReader::prefix_bytes;
  for (const OutPart& part : call.out) {
    Bytes bytes = part.bytes();
    const std::size_t count = std::min(skipped, bytes.size());
    bytes = bytes.subspan(count);
    skipped -= count;
    if (!bytes.empty()) std::memcpy(into, bytes.data(), bytes.size());
    into += bytes.size();
  }
}

}  // namespace

WorkerConnection::WorkerConnection(const isolation::WorkerEnds& ends, std::uint64_t number,
                                   CallHandler& handler)
    : Connection(std::make_unique<PacketTransport>(ends.socket), number),
      handler_(handler),
      requests_(std::make_shared<isolation::SharedPages>(ends.requests, false)),
      answers_(ends.answers, true),
      blocks_(answers_) {}

WorkerConnection::~WorkerConnection() {
  for (const auto& [tag, call] : calls_) handler_.on_gone(*call);
}

bool WorkerConnection::take(Bytes data) {
  while (!data.empty()) {
    Packet packet;
    if (data.size() < sizeof packet) return false;
    std::memcpy(&packet, data.data(), sizeof packet);
    data = data.subspan(sizeof packet);
    const std::uint64_t bytes = packet.inline_bytes();
    if (bytes > data.size()) return false;
    take_packet(packet, data.first(bytes));
    data = data.subspan(bytes);
  }
  return true;
}

void WorkerConnection::take_packet(const Packet& packet, Bytes content) {
  switch (packet.kind) {
    case PacketKind::query:
      return begin_call(packet, content);
    case PacketKind::cancel:
      return end_call(packet.tag);
    case PacketKind::freed:
      blocks_.give(packet.offset);
      shares_.erase(packet.offset);
      return;
    case PacketKind::answer:
      return;
  }
}

void WorkerConnection::begin_call(const Packet& packet, Bytes content) {
  Message message = packet.in_block != 0 ? in_block(packet) : copied(content);
  const auto [place, is_new] =
      calls_.emplace(packet.tag, std::make_unique<Call>(0, handler_.next_token()));
  if (!is_new) return;
  Call& call = *place->second;
  call.tag = packet.tag;
  call.path = infer_path;
  call.method = Method::infer;
  call.received_ns = now_ns();
  call.deadline_ns = packet.time_ns;
  handler_.on_call(*this, call);
  handler_.on_message(*this, call, std::move(message));
  call.is_complete = true;
  handler_.on_complete(*this, call);
}

Message WorkerConnection::in_block(const Packet& packet) const {
  Message message;
  if (!requests_->holds(packet.offset, packet.bytes)) return message;
  message.data = requests_->data() + packet.offset;
  message.bytes = packet.bytes;
  message.memory = {message.data,
                    [unread = unread_, pages = requests_, offset = packet.offset](std::byte*) {
                      const std::lock_guard lock(unread->mutex);
                      unread->offsets.push_back(offset / page * page);
                    }};
  return message;
}

void WorkerConnection::end_call(std::uint64_t tag) {
  const auto found = calls_.find(tag);
  if (found == calls_.end()) return;
  const std::unique_ptr<Call> call = std::move(found->second);
  calls_.erase(found);
  handler_.on_gone(*call);
}

/// Answered in flush(): whoever says this may still use the call.
void WorkerConnection::go_on(Call& call) {
  if (call.has_ended) ended_.push_back(call.tag);
}

void WorkerConnection::answer(std::uint64_t tag, Call& call) {
  Packet packet{.kind = PacketKind::answer,
                .refusal = static_cast<std::uint8_t>(call.refusal),
                .status = static_cast<std::int32_t>(call.status),
                .tag = tag,
                .time_ns = call.waited_ns,
                .bytes = call.text.size()};
  if (call.status != Status::ok || call.out_bytes < MessageReader::prefix_bytes)
    return put(packet, call.text);
  packet.bytes = call.out_bytes - MessageReader::prefix_bytes;
  if (packet.bytes <= isolation::most_inline_bytes) {
    std::string content(packet.bytes, '\0');
    gather(call, reinterpret_cast<std::byte*>(content.data()));
    return put(packet, content);
  }
  MemoryShare share;
  const bool has_room = share.try_take(packet.bytes);
  const auto block = has_room ? blocks_.take(packet.bytes) : std::nullopt;
  if (!block) {
    const std::string why = "the answer of " + std::to_string(packet.bytes) +
                            " bytes has no room in the server's memory limit; ask again";
    packet.status = static_cast<std::int32_t>(Status::resource_exhausted);
    packet.bytes = why.size();
    return put(packet, why);
  }
  packet.in_block = 1;
  packet.offset = *block;
  gather(call, answers_.data() + *block);
  shares_.emplace(*block, std::move(share));
  put(packet, {});
}

void WorkerConnection::put(const Packet& packet, std::string_view content) {
  std::string whole(reinterpret_cast<const char*>(&packet), sizeof packet);
  whole.append(content.substr(0, isolation::most_inline_bytes));
  waiting_.push_back(std::move(whole));
}

bool WorkerConnection::flush() {
  for (const std::uint64_t tag : std::exchange(ended_, {})) {
    const auto found = calls_.find(tag);
    if (found == calls_.end()) continue;
    answer(tag, *found->second);
    end_call(tag);
  }
  std::vector<std::uint64_t> unread;
  {
    const std::lock_guard lock(unread_->mutex);
    unread.swap(unread_->offsets);
  }
  for (const std::uint64_t offset : unread) put({.kind = PacketKind::freed, .offset = offset}, {});
  while (!waiting_.empty()) {
    const auto sent = packets().send_packet(waiting_.front());
    if (!sent) return false;
    if (!*sent) return true;
    waiting_.pop_front();
  }
  return true;
}

std::optional<std::size_t> PacketTransport::receive(std::span<std::byte> buffer) {
  std::size_t total = 0;
  while (buffer.size() - total >= isolation::most_packet_bytes) {
    const std::optional<std::size_t> count = Transport::take(buffer.subspan(total));
    if (!count && total == 0) return std::nullopt;
    if (!count || *count == 0) break;
    total += *count;
  }
  return total;
}

std::optional<bool> PacketTransport::send_packet(std::string_view packet) noexcept {
  for (;;) {
    is_blocked_ = false;
    if (::send(socket(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
      return true;
    if (errno == EINTR) continue;
    is_blocked_ = errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS;
    return is_blocked_ ? std::optional(false) : std::nullopt;
  }
}

}  // namespace engine::frontend
