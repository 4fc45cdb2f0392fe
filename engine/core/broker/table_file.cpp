#include "broker/table_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "broker/place.hpp"
#include "files/checksum.hpp"

namespace engine::broker {

namespace {

namespace fs = std::filesystem;

constexpr off_t header_byte = slot_count;  ///< the lock of who makes or proves the header
constexpr int lock_tries = 500;
constexpr long lock_nap_ns = 1'000'000;

/// The folder's and the file's owner must be us, or, of the folder, the system's.
bool is_ours(const struct stat& found) noexcept { return found.st_uid == ::geteuid(); }

bool set_lock(int descriptor, int command, short type, off_t byte) noexcept {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return ::fcntl(descriptor, command, &lock) == 0 &&
         (command != F_OFD_GETLK || lock.l_type != F_UNLCK);
}

std::uint64_t checksum_of(const Header& header) noexcept {
  Checksum sum;
  sum.add(&header, offsetof(Header, checksum));
  return sum.value();
}

std::string error_text() { return std::strerror(errno); }

/// Closes it when it goes.
struct Folder {
  explicit Folder(const std::string& path)
      : descriptor(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    if (descriptor >= 0) ::close(descriptor);
  }
  const int descriptor;
};

}  // namespace

TableFile::TableFile(const std::string& path) : path_(path) {
  try {
    open_checked();
    lock_header();
    check_or_make();
    set_lock(descriptor_, F_OFD_SETLK, F_UNLCK, header_byte);
  } catch (...) {
    if (table_ != nullptr) ::munmap(table_, sizeof(Table));
    if (descriptor_ >= 0) ::close(descriptor_);
    throw;
  }
}

TableFile::~TableFile() {
  ::munmap(table_, sizeof(Table));
  abandon();
}

void TableFile::abandon() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

bool TableFile::try_lock(int slot) const noexcept {
  return set_lock(descriptor_, F_OFD_SETLK, F_WRLCK, slot);
}

void TableFile::unlock(int slot) const noexcept {
  set_lock(descriptor_, F_OFD_SETLK, F_UNLCK, slot);
}

bool TableFile::is_locked(int slot) const noexcept {
  return set_lock(descriptor_, F_OFD_GETLK, F_WRLCK, slot);
}

void TableFile::refuse(const std::string& why) const {
  throw std::runtime_error("the broker's file " + path_ + " " + why);
}

void TableFile::open_checked() {
  const fs::path path(path_);
  const std::string folder_name = path.has_parent_path() ? path.parent_path().string() : ".";
  if (::mkdir(folder_name.c_str(), 0700) != 0 && errno != EEXIST)
    refuse("has no folder, and none can be made: " + error_text());
  const Folder folder(folder_name);
  struct stat found{};
  if (folder.descriptor < 0 || ::fstat(folder.descriptor, &found) != 0)
    refuse("lies in a folder that cannot be opened: " + error_text());
  if (!is_ours(found) && found.st_uid != 0) refuse("lies in somebody else's folder");
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (found.st_mode & S_ISVTX) == 0)
    refuse("lies in a folder that others may write to");
  const std::string name = path.filename().string();
  if (::fstatat(folder.descriptor, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISLNK(found.st_mode)) refuse("is a symbolic link");
    if (!S_ISREG(found.st_mode)) refuse("is not a regular file");
    if (!is_ours(found)) refuse("is owned by somebody else, user " + std::to_string(found.st_uid));
  }
  descriptor_ = ::openat(folder.descriptor, name.c_str(),
                         O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  if (descriptor_ < 0 || ::fstat(descriptor_, &found) != 0)
    refuse("cannot be opened: " + error_text());
  // Again: it may be another one by now.
  if (!S_ISREG(found.st_mode) || !is_ours(found)) refuse("is owned by somebody else");
  if ((found.st_mode & 0077) != 0) refuse("is open to others: its mode must be 0600");
}

/// Held for microseconds by others; who died holding it has let go.
void TableFile::lock_header() const {
  for (int i = 0; i < lock_tries; ++i) {
    if (set_lock(descriptor_, F_OFD_SETLK, F_WRLCK, header_byte)) return;
    if (errno != EAGAIN && errno != EACCES) refuse("cannot be locked: " + error_text());
    const timespec nap{.tv_sec = 0, .tv_nsec = lock_nap_ns};
    ::nanosleep(&nap, nullptr);
  }
  refuse("is locked by a process that does not go on");
}

void TableFile::check_or_make() {
  struct stat found{};
  if (::fstat(descriptor_, &found) != 0) refuse("cannot be read: " + error_text());
  if (found.st_size == 0) {
    // Its pages are taken now: a full file system would end the process at its first write.
    if (const int error = ::posix_fallocate(descriptor_, 0, sizeof(Table)); error != 0)
      refuse(std::string("cannot be made: ") + std::strerror(error));
  } else if (found.st_size != static_cast<off_t>(sizeof(Table))) {
    Header header{};
    const bool has_header = ::pread(descriptor_, &header, sizeof header, 0) == sizeof header;
    if (has_header && header.magic == magic && header.version != version)
      refuse("is of version " + std::to_string(header.version) + ", this is version " +
             std::to_string(version));
    refuse("is damaged: it has " + std::to_string(found.st_size) + " bytes, not " +
           std::to_string(sizeof(Table)));
  }
  void* const mapped =
      ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapped == MAP_FAILED) refuse("cannot be mapped: " + error_text());
  table_ = static_cast<Table*>(mapped);
  if (table_->header.magic == 0) return make();
  check_header();
}

/// Also in the place of one whose maker died: the magic number is the last to be written.
void TableFile::make() {
  new (table_) Table{};
  Header header{.magic = magic,
                .version = version,
                .slots = slot_count,
                .bytes = sizeof(Table),
                .boot = boot_id(),
                .time_space = space_of("time"),
                .checksum = 0};
  header.checksum = checksum_of(header);
  std::memcpy(reinterpret_cast<std::byte*>(&table_->header) + sizeof header.magic,
              reinterpret_cast<const std::byte*>(&header) + sizeof header.magic,
              sizeof header - sizeof header.magic);
  // release: who finds the number finds the rest
  std::atomic_ref(table_->header.magic).store(magic, std::memory_order_release);
}

void TableFile::check_header() const {
  Header header{};
  std::memcpy(&header, &table_->header, sizeof header);
  if (header.magic != magic) refuse("is damaged: it does not begin as a broker's file");
  if (header.version != version)
    refuse("is of version " + std::to_string(header.version) + ", this is version " +
           std::to_string(version));
  if (header.checksum != checksum_of(header) || header.slots != slot_count ||
      header.bytes != sizeof(Table))
    refuse("is damaged: its header's checksum is wrong");
  if (header.boot == boot_id() && header.time_space == space_of("time")) return;
  for (int slot = 0; slot < slot_count; ++slot)
    if (is_locked(slot)) refuse("is of another clock: of a time namespace or kernel not ours");
  const_cast<TableFile*>(this)->make();  // of an earlier boot, and nobody's
}

}  // namespace engine::broker
