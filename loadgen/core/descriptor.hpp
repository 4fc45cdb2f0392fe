// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace loadgen {

/// Owns one, or none (-1).
class Descriptor {
 public:
  Descriptor() = default;
  /// Throws std::system_error, naming what failed, if there is none.
  Descriptor(int number, const char* what) : number_(number) {
    if (number < 0) throw std::system_error(errno, std::generic_category(), what);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return number_; }
  void reset() noexcept {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

}  // namespace loadgen
