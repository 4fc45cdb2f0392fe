#include "isolation/shared_blocks.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace engine::isolation {

namespace {

constexpr std::uint64_t page = 4096;
/// What is kept when nothing is taken: the next queries find their pages there.
constexpr std::uint64_t kept_bytes = 16U << 20;

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

int SharedPages::made(std::size_t bytes) {
  const int memory = memfd_create("surplus worker", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory < 0) throw_errno("memfd_create");
  if (ftruncate(memory, static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    const int error = errno;
    close(memory);
    errno = error;
    throw_errno("memory shared with a worker");
  }
  return memory;
}

SharedPages::SharedPages(int memory, bool writable) : memory_(fcntl(memory, F_DUPFD_CLOEXEC, 0)) {
  if (memory_ < 0) throw_errno("dup");
  struct stat found{};
  const int seals = fcntl(memory_, F_GET_SEALS);
  if (fstat(memory_, &found) != 0 || seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    close(memory_);
    throw std::invalid_argument("the memory shared with a worker might shrink");
  }
  bytes_ = static_cast<std::size_t>(found.st_size);
  void* const mapped = mmap(nullptr, bytes_, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                            MAP_SHARED | MAP_NORESERVE, memory_, 0);
  if (mapped == MAP_FAILED) {
    const int error = errno;
    close(memory_);
    errno = error;
    throw_errno("mmap");
  }
  data_ = static_cast<std::byte*>(mapped);
}

SharedPages::~SharedPages() {
  munmap(data_, bytes_);
  close(memory_);
}

void SharedPages::drop_from(std::size_t offset) noexcept {
  if (offset >= bytes_) return;
  static_cast<void>(fallocate(memory_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(offset), static_cast<off_t>(bytes_ - offset)));
}

std::optional<std::uint64_t> SharedBlocks::take(std::size_t bytes) {
  const std::uint64_t wanted = (std::max<std::uint64_t>(bytes, 1) + page - 1) / page * page;
  const std::lock_guard lock(mutex_);
  std::uint64_t offset = 0;
  for (const auto& [begin, end] : taken_) {
    if (begin - offset >= wanted) break;
    offset = end;
  }
  if (!pages_.holds(offset, wanted)) return std::nullopt;
  taken_.emplace(offset, offset + wanted);
  taken_bytes_ += wanted;
  touched_ = std::max(touched_, offset + wanted);
  return offset;
}

void SharedBlocks::give(std::uint64_t offset) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(offset);
  if (found == taken_.end()) return;
  taken_bytes_ -= found->second - found->first;
  taken_.erase(found);
  if (!taken_.empty() || touched_ <= kept_bytes) return;
  pages_.drop_from(kept_bytes);
  touched_ = kept_bytes;
}

std::size_t SharedBlocks::taken_bytes() const noexcept {
  const std::lock_guard lock(mutex_);
  return taken_bytes_;
}

}  // namespace engine::isolation
