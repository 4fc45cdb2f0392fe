// What an epoll watches.
#pragma once

#include <sys/epoll.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace engine::frontend {

[[noreturn]] inline void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// `operation` as of epoll_ctl(2). Throws std::system_error.
inline void watch(int epoll, int fd, std::uint64_t who, std::uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = who;
  if (epoll_ctl(epoll, operation, fd, &event) != 0) throw_errno("epoll_ctl");
}

}  // namespace engine::frontend
