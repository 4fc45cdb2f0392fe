#include "ort/wire.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "ort/value.hpp"

namespace engine::ort {
namespace {

constexpr int kLookMs = 20;

[[noreturn]] void throw_gone() { throw std::runtime_error("the other process has ended"); }

}  // namespace

Wire::~Wire() {
  ::shutdown(descriptor_, SHUT_RDWR);  // forked processes hold it, too
  ::close(descriptor_);
}

void Wire::await(short events) const {
  pollfd ready{.fd = descriptor_, .events = events, .revents = 0};
  while (::poll(&ready, 1, is_over ? kLookMs : -1) <= 0) {
    if (is_over && is_over()) throw std::runtime_error("ended while another process answered");
  }
}

void Wire::write(const void* data, std::size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::send(descriptor_, next, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      next += count;
      bytes -= static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      await(POLLOUT);
    } else if (errno != EINTR) {
      throw_gone();
    }
  }
}

void Wire::read(void* data, std::size_t bytes) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t count = ::recv(descriptor_, next, bytes, MSG_DONTWAIT);
    if (count > 0) {
      next += count;
      bytes -= static_cast<std::size_t>(count);
    } else if (count < 0 && errno == EAGAIN) {
      await(POLLIN);
    } else if (count == 0 || errno != EINTR) {
      throw_gone();
    }
  }
}

void Wire::write(const std::string& text) {
  write(static_cast<std::int64_t>(text.size()));
  write(text.data(), text.size());
}

void Wire::write(const ValuePtr& tensor) {
  const auto& value = static_cast<const OnnxValue&>(*tensor);
  const std::vector<std::int64_t> shape = value.shape();
  write(static_cast<std::int64_t>(value.elem_type()));
  write(static_cast<std::int64_t>(shape.size()));
  write(shape.data(), shape.size() * sizeof shape[0]);
  write(value.data(), value.bytes());
}

void Wire::write(const std::vector<ValueInfo>& infos) {
  write(static_cast<std::int64_t>(infos.size()));
  for (const ValueInfo& info : infos) {
    write(info.name);
    write(info.kind);
    write(static_cast<std::int64_t>(info.elem_type));
    write(info.shape ? static_cast<std::int64_t>(info.shape->size()) : -1);
    if (!info.shape) continue;
    for (const auto& [extent, symbol] : *info.shape) {
      write(extent);
      write(symbol);
    }
  }
}

std::int64_t Wire::read_number() {
  std::int64_t number = 0;
  read(&number, sizeof number);
  return number;
}

std::string Wire::read_text() {
  std::string text(static_cast<std::size_t>(read_number()), '\0');
  read(text.data(), text.size());
  return text;
}

ValuePtr Wire::read_tensor() {
  const int elem_type = static_cast<int>(read_number());
  std::vector<std::int64_t> shape(static_cast<std::size_t>(read_number()));
  read(shape.data(), shape.size() * sizeof shape[0]);
  auto tensor = make_tensor(elem_type, shape);
  read(tensor->data(), tensor->bytes());
  return tensor;
}

std::vector<ValueInfo> Wire::read_infos() {
  std::vector<ValueInfo> infos(static_cast<std::size_t>(read_number()));
  for (ValueInfo& info : infos) {
    info.name = read_text();
    info.kind = read_text();
    info.elem_type = static_cast<int>(read_number());
    const std::int64_t rank = read_number();
    if (rank < 0) continue;
    info.shape.emplace();
    for (std::int64_t i = 0; i < rank; ++i) {
      const std::int64_t extent = read_number();
      info.shape->push_back({extent, read_text()});
    }
  }
  return infos;
}

}  // namespace engine::ort
