#include "scheduler/doorbell.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace engine {

Doorbell::Doorbell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

Doorbell::~Doorbell() { close(fd_); }

void Doorbell::ring() const noexcept {
  const std::uint64_t one = 1;
  static_cast<void>(!write(fd_, &one, sizeof one));
}

void Doorbell::silence() const noexcept {
  std::uint64_t count = 0;
  static_cast<void>(!read(fd_, &count, sizeof count));
}

}  // namespace engine
