// Wakes an event loop by a descriptor.
#pragma once

namespace engine {

/// An eventfd. Thread-safe; each call is a system call.
class Doorbell {
 public:
  /// Throws std::system_error if the process has no file descriptor left.
  Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;
  ~Doorbell();
  void ring() const noexcept;
  /// Until the next ring; never blocks.
  void silence() const noexcept;
  /// Readable from the ring on. Owned by the bell.
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  const int fd_;
};

}  // namespace engine
