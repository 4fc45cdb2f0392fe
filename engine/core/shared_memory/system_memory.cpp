#include "shared_memory/system_memory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "shared_memory/region_texts.hpp"

namespace engine {

namespace {

constexpr std::string_view folder = "/dev/shm/";  // where shm_open(3) of Linux looks
constexpr std::string_view semaphores = "sem.";   // files of sem_open(3) in the same folder

std::string failed_to_register(const std::string& name, const std::string& why) {
  return "failed to register shared memory region " + quoted_region(name) +
         ": invalid args: " + why;
}

/// The file of a key. A key is a file's name, with or without slashes before it, as shm_open(3)
/// has it: never a path.
std::string file_of(const Region& region) {
  const std::string& key = region.key;
  const std::string name = key.substr(std::min(key.find_first_not_of('/'), key.size()));
  const auto refuse = [&](const std::string& why) {
    throw RegionError(RegionFault::invalid,
                      failed_to_register(region.name, "the key " + quoted_region(key) + " " + why));
  };
  if (name.empty() || name == "." || name == "..") refuse("names no shared memory");
  if (name.size() > NAME_MAX) refuse("is longer than " + std::to_string(NAME_MAX) + " bytes");
  if (name.find_first_of(std::string_view("/\0", 2)) != std::string::npos)
    refuse("holds a slash or a zero byte");
  if (name.starts_with(semaphores)) refuse("is a semaphore's");
  return std::string(folder) + name;
}

}  // namespace

SystemMemory::SystemMemory(Region region) : region_(std::move(region)) {
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

SystemMemory::~SystemMemory() { ::close(descriptor_); }

void SystemMemory::read(std::uint64_t offset, char* into, std::uint64_t bytes) const {
  move(offset, bytes, [&](std::uint64_t done, off_t at) {
    return ::pread(descriptor_, into + done, bytes - done, at);
  });
}

void SystemMemory::write(std::uint64_t offset, const char* from, std::uint64_t bytes) const {
  // Writing behind its end would make it longer again: of what is gone, nothing comes back, but
  // for a client that truncates it at this very moment.
  struct stat found{};
  if (::fstat(descriptor_, &found) != 0) cannot_open(std::strerror(errno));
  if (static_cast<std::uint64_t>(found.st_size) < region_.offset + offset + bytes) shrunk();
  move(offset, bytes, [&](std::uint64_t done, off_t at) {
    return ::pwrite(descriptor_, from + done, bytes - done, at);
  });
}

void SystemMemory::check_memory() const {
  struct stat found{};
  if (::fstat(descriptor_, &found) != 0) cannot_open(std::strerror(errno));
  if (!S_ISREG(found.st_mode)) cannot_open("it is no memory");
  const auto size = static_cast<std::uint64_t>(found.st_size);
  if (region_.bytes == 0 || region_.offset > size || region_.bytes > size - region_.offset)
    throw RegionError(
        RegionFault::invalid,
        failed_to_register(region_.name, region_part(region_.bytes, region_.offset, size)));
}

void SystemMemory::cannot_open(const std::string& why) const {
  throw RegionError(RegionFault::unreachable, "Unable to open shared memory region: " +
                                                  quoted_region(region_.key) + ": " + why);
}

void SystemMemory::shrunk() const {
  throw RegionError(RegionFault::shrunk, "shared memory region " + quoted_region(region_.name) +
                                             " was truncated after it was registered");
}

/// Calls until all bytes were moved: one call moves 2 GiB at most, and signals interrupt it.
template <typename Call>
void SystemMemory::move(std::uint64_t offset, std::uint64_t bytes, const Call& call) const {
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t moved = call(done, static_cast<off_t>(region_.offset + offset + done));
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0)
      throw RegionError(
          RegionFault::unreachable,
          "shared memory region " + quoted_region(region_.name) + ": " + std::strerror(errno));
    if (moved == 0) shrunk();
    done += static_cast<std::uint64_t>(moved);
  }
}

}  // namespace engine
