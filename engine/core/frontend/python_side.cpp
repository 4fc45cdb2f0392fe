#include "frontend/python_side.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace engine::frontend {

Bell::Bell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Bell::~Bell() { close(fd_); }

void Bell::ring() const noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!write(fd_, &one, sizeof one));
}

void Bell::silence() const noexcept {
  std::uint64_t count = 0;
  static_cast<void>(!read(fd_, &count, sizeof count));
}

}  // namespace engine::frontend
