// The broker's file: who may use it, whether it is whole, and whose process lives.
#pragma once

#include <string>

#include "broker/table.hpp"

namespace engine::broker {

/// An open and mapped table. That a process lives is a lock of the kernel on a byte of the file
/// for each slot (an open file description lock): it goes with the process, however that ends, and
/// is seen from other containers, where process numbers mean nothing. Not inherited by programs
/// that the process starts; a forked child calls abandon().
///
/// Locks are the open file's: of one process, callers serialise try_lock() and unlock().
class TableFile {
 public:
  /// Opens it, and makes the file and its folder where they are not there. Throws
  /// std::runtime_error naming the file and what is wrong: of another version, damaged, another
  /// user's, open to others, a link, of another clock.
  explicit TableFile(const std::string& path);
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;
  ~TableFile();

  [[nodiscard]] Table& table() const noexcept { return *table_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Never blocks, as the next two: a microsecond each. False: another file has it.
  [[nodiscard]] bool try_lock(int slot) const noexcept;
  void unlock(int slot) const noexcept;
  /// By another open file.
  [[nodiscard]] bool is_locked(int slot) const noexcept;

  /// In a forked child: lets go of the parent's locks. The mapping stays.
  void abandon() noexcept;

 private:
  void open_checked();
  void lock_header() const;
  void check_or_make();
  void make();
  void check_header() const;
  [[noreturn]] void refuse(const std::string& why) const;

  const std::string path_;
  int descriptor_ = -1;
  Table* table_ = nullptr;
};

}  // namespace engine::broker
