// Memory that two processes share: one allocates and writes blocks of it, the other reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>

namespace engine::isolation {

/// A mapping of memory that has no name. It cannot shrink, so that no read of it ends a process.
class SharedPages {
 public:
  /// Of that size, which takes nothing until it is written. Throws std::system_error.
  [[nodiscard]] static int made(std::size_t bytes);

  /// Maps what made() gave; the descriptor stays the caller's. Throws std::system_error,
  /// std::invalid_argument where the memory might shrink.
  SharedPages(int memory, bool writable);
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;
  ~SharedPages();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// Whether that lies within; whoever names an offset may be wrong.
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    return bytes <= bytes_ && offset <= bytes_ - bytes;
  }
  /// Gives the system back what lies from there on.
  void drop_from(std::size_t offset) noexcept;

 private:
  int memory_;
  std::byte* data_;
  std::size_t bytes_ = 0;
};

/// Which parts of some pages are taken. First fit, so that few pages are ever touched. Thread-safe:
/// a short lock.
class SharedBlocks {
 public:
  explicit SharedBlocks(SharedPages& pages) noexcept : pages_(pages) {}

  /// Where so many bytes are free, at a multiple of 4096; nothing if nowhere.
  [[nodiscard]] std::optional<std::uint64_t> take(std::size_t bytes);
  /// Nothing where none was taken.
  void give(std::uint64_t offset) noexcept;
  /// What is taken.
  [[nodiscard]] std::size_t taken_bytes() const noexcept;

 private:
  SharedPages& pages_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> taken_;  // end by offset; guarded by mutex_, as the others
  std::size_t taken_bytes_ = 0;
  std::uint64_t touched_ = 0;  ///< the end of what was ever written since it was dropped
};

}  // namespace engine::isolation
