#include "shared_memory/regions.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

namespace engine {

namespace {

constexpr std::string_view folder = "/dev/shm/";  // where shm_open(3) of Linux looks
constexpr std::string_view semaphores = "sem.";   // files of sem_open(3) in the same folder
constexpr std::size_t most_name_bytes = 1024;

/// Of what clients send, as much as a name may have.
std::string quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, most_name_bytes)) + "'";
}

std::string part_of(std::uint64_t bytes, std::uint64_t offset, std::uint64_t all) {
  return std::to_string(bytes) + " bytes from byte " + std::to_string(offset) + " on, of " +
         std::to_string(all);
}

std::string failed_to_register(const std::string& name, const std::string& why) {
  return "failed to register shared memory region " + quoted(name) + ": invalid args: " + why;
}

/// The file of a key. A key is a file's name, with or without slashes before it, as shm_open(3)
/// has it: never a path.
std::string file_of(const Region& region) {
  const std::string& key = region.key;
  const std::string name = key.substr(std::min(key.find_first_not_of('/'), key.size()));
  const auto refuse = [&](const std::string& why) {
    throw RegionError(RegionFault::invalid,
                      failed_to_register(region.name, "the key " + quoted(key) + " " + why));
  };
  if (name.empty() || name == "." || name == "..") refuse("names no shared memory");
  if (name.size() > NAME_MAX) refuse("is longer than " + std::to_string(NAME_MAX) + " bytes");
  if (name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
    refuse("holds a slash or a zero byte");
  if (name.starts_with(semaphores)) refuse("is a semaphore's");
  return std::string(folder) + name;
}

}  // namespace

/// An open region: the file descriptor lives as long as somebody reads or writes.
class Regions::Open {
 public:
  explicit Open(Region region) : region_(std::move(region)) {
    const std::string file = file_of(region_);
    // Not through a link, nor waiting for the other end of what is a pipe.
    descriptor_ = ::open(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor_ < 0) cannot_open(std::strerror(errno));
    try {
      check_memory();
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  ~Open() { ::close(descriptor_); }

  [[nodiscard]] const Region& region() const noexcept { return region_; }

  void check(std::uint64_t offset, std::uint64_t bytes) const {
    const auto refuse = [&](const std::string& what) {
      throw RegionError(RegionFault::invalid,
                        "Invalid " + what + " for shared memory region: " + quoted(region_.name) +
                            ": " + part_of(bytes, offset, region_.bytes));
    };
    if (offset >= region_.bytes) refuse("offset");
    if (bytes > region_.bytes - offset) refuse("offset + byte size");
  }

  void read(std::uint64_t offset, char* into, std::uint64_t bytes) const {
    move(offset, bytes, [&](std::uint64_t done, off_t at) {
      return ::pread(descriptor_, into + done, bytes - done, at);
    });
  }

  void write(std::uint64_t offset, const char* from, std::uint64_t bytes) const {
    // Writing behind its end would make it longer again: of what is gone, nothing comes back, but
    // for a client that truncates it at this very moment.
    struct stat found{};
    if (::fstat(descriptor_, &found) != 0) cannot_open(std::strerror(errno));
    if (static_cast<std::uint64_t>(found.st_size) < region_.offset + offset + bytes) shrunk();
    move(offset, bytes, [&](std::uint64_t done, off_t at) {
      return ::pwrite(descriptor_, from + done, bytes - done, at);
    });
  }

 private:
  void check_memory() const {
    struct stat found{};
    if (::fstat(descriptor_, &found) != 0) cannot_open(std::strerror(errno));
    if (!S_ISREG(found.st_mode)) cannot_open("it is no memory");
    const auto size = static_cast<std::uint64_t>(found.st_size);
    if (region_.bytes == 0 || region_.offset > size || region_.bytes > size - region_.offset)
      throw RegionError(
          RegionFault::invalid,
          failed_to_register(region_.name, part_of(region_.bytes, region_.offset, size)));
  }

  [[noreturn]] void cannot_open(const std::string& why) const {
    throw RegionError(RegionFault::unreachable,
                      "Unable to open shared memory region: " + quoted(region_.key) + ": " + why);
  }

  [[noreturn]] void shrunk() const {
    throw RegionError(RegionFault::shrunk, "shared memory region " + quoted(region_.name) +
                                               " was truncated after it was registered");
  }

  /// Calls until all bytes were moved: one call moves 2 GiB at most, and signals interrupt it.
  template <typename Call>
  void move(std::uint64_t offset, std::uint64_t bytes, const Call& call) const {
    for (std::uint64_t done = 0; done < bytes;) {
      const ssize_t moved = call(done, static_cast<off_t>(region_.offset + offset + done));
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0)
        throw RegionError(RegionFault::unreachable, "shared memory region " + quoted(region_.name) +
                                                        ": " + std::strerror(errno));
      if (moved == 0) shrunk();
      done += static_cast<std::uint64_t>(moved);
    }
  }

  const Region region_;
  int descriptor_ = -1;
};

void Regions::add(const Region& region) {
  const std::string& name = region.name;
  if (name.empty() || name.size() > most_name_bytes)
    throw RegionError(RegionFault::invalid, "a shared memory region's name has 1 to " +
                                                std::to_string(most_name_bytes) + " bytes, not " +
                                                std::to_string(name.size()));
  {
    const std::lock_guard lock(mutex_);
    check_room(name);
  }
  auto opened = std::make_shared<const Open>(region);
  const std::lock_guard lock(mutex_);
  check_room(name);  // again: the lock was free while the file was opened
  open_.emplace(name, std::move(opened));
}

/// With the lock.
void Regions::check_room(const std::string& name) const {
  if (open_.contains(name))
    throw RegionError(RegionFault::exists,
                      "shared memory region " + quoted(name) + " already in manager");
  if (open_.size() >= most_)
    throw RegionError(RegionFault::too_many,
                      "failed to register shared memory region " + quoted(name) + ": there are " +
                          std::to_string(most_) + " already, the most at a time");
}

void Regions::remove(std::string_view name) {
  OpenPtr last;  // closed without the lock
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(name);
  if (found == open_.end()) return;
  last = std::move(found->second);
  open_.erase(found);
}

void Regions::clear() {
  decltype(open_) all;  // closed without the lock
  const std::lock_guard lock(mutex_);
  all.swap(open_);
}

std::vector<Region> Regions::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<Region> regions;
  regions.reserve(open_.size());
  for (const auto& [name, open] : open_) regions.push_back(open->region());
  return regions;
}

Regions::OpenPtr Regions::get(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(name);
  if (found == open_.end())
    throw RegionError(RegionFault::unknown, "Unable to find shared memory region: " + quoted(name));
  return found->second;
}

Region Regions::find(std::string_view name) const { return get(name)->region(); }

void Regions::check(std::string_view name, std::uint64_t offset, std::uint64_t bytes) const {
  get(name)->check(offset, bytes);
}

void Regions::read(std::string_view name, std::uint64_t offset, void* into,
                   std::uint64_t bytes) const {
  const OpenPtr open = get(name);
  open->check(offset, bytes);
  open->read(offset, static_cast<char*>(into), bytes);
}

void Regions::write(std::string_view name, std::uint64_t offset, const void* from,
                    std::uint64_t bytes) const {
  const OpenPtr open = get(name);
  open->check(offset, bytes);
  open->write(offset, static_cast<const char*>(from), bytes);
}

}  // namespace engine
