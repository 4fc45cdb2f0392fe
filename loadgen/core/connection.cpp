#include "connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "grpc_status.hpp"

namespace loadgen {

namespace {

constexpr std::int64_t pause_ns = 100'000'000;
constexpr std::size_t buffer_bytes = 1 << 18;

/// Of all connections of a thread: what is read is used up at once.
thread_local std::array<std::uint8_t, buffer_bytes> buffer;

std::string words_of(int error) { return std::generic_category().message(error); }

}  // namespace

Connection::Connection(Poller& poller, const Address& address, Speaking speaking, Sink& sink,
                       std::size_t& up)
    : poller_(poller), address_(address), speaking_(std::move(speaking)), sink_(sink), up_(up) {
  connect();
}

void Connection::connect() {
  retry_ns_ = never_ns;
  was_of_use_ = false;
  socket_ = Descriptor(connecting_socket(address_), "socket");
  state_ = State::connecting;
  watched_ = EPOLLIN | EPOLLOUT;
  poller_.add(socket_.get(), watched_, this);
}

void Connection::opened() {
  state_ = State::greeting;
  dialogue_ = speaking_(*this);
  greeted();
}

void Connection::greeted() {
  if (state_ != State::greeting || !dialogue_->is_ready()) return;
  state_ = State::up;
  ++up_;
}

void Connection::start(const Query& query) {
  waiting_.push_back(query);
  advance();
}

void Connection::advance() {
  while (state_ == State::up && !waiting_.empty() && dialogue_->takes()) {
    const Query query = waiting_.front();
    waiting_.pop_front();
    dialogue_->send(query);
  }
}

void Connection::answered(std::uint32_t row, std::string_view kind, std::string_view message) {
  was_of_use_ |= kind != unavailable;
  sink_.answered(row, kind, message);
}

void Connection::forget(std::uint32_t row) {
  was_of_use_ = true;
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [row](const Query& query) { return query.row == row; });
  if (found != waiting_.end())
    waiting_.erase(found);
  else if (dialogue_ != nullptr)
    dialogue_->forget(row);
}

void Connection::handle(std::uint32_t events) {
  if (state_ == State::connecting) {
    if (const int error = connect_error(socket_.get())) return lose(words_of(error));
    opened();
  }
  if (dialogue_ != nullptr && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) receive();
  greeted();
  advance();
}

void Connection::receive() {
  const ssize_t bytes = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  if (bytes < 0) return lose(words_of(errno));
  if (bytes == 0) return lose("the server closed the connection");
  try {
    dialogue_->receive(buffer.data(), static_cast<std::size_t>(bytes));
  } catch (const std::runtime_error& error) {
    lose(error.what());
  }
}

void Connection::flush() {
  if (dialogue_ == nullptr) return;
  try {
    dialogue_->write(output_);
    output_.write(socket_.get());
  } catch (const std::runtime_error& error) {  // the socket's errors are, too
    return lose(error.what());
  }
  if (dialogue_->is_over()) return lose("this connection is used up");
  watch(output_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void Connection::watch(std::uint32_t events) {
  if (events == watched_) return;
  watched_ = events;
  poller_.change(socket_.get(), events, this);
}

void Connection::lose(const std::string& reason) {
  const bool was_up = state_ == State::up;
  state_ = State::down;
  if (was_up) --up_;
  reason_ = reason;
  socket_.reset();
  output_ = Output();
  retry_ns_ = now_ns() + (was_up && was_of_use_ ? 0 : pause_ns);
  if (const auto dialogue = std::move(dialogue_)) {
    for (const std::uint32_t row : dialogue->in_flight()) sink_.answered(row, unavailable, reason);
  }
  if (was_up) return;  // what waits has the next attempt
  for (const Query& query : std::exchange(waiting_, {}))
    sink_.answered(query.row, unavailable, reason);
}

void Connection::tick(std::int64_t time_ns) {
  if (time_ns >= retry_ns_) connect();
}

}  // namespace loadgen
