#include "shared_memory/system_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "shared_memory/guarded_copy.hpp"
#include "shared_memory/region_texts.hpp"

namespace engine {

namespace {

constexpr std::string_view folder = "/dev/shm/";  // where shm_open(3) of Linux looks
constexpr std::string_view semaphores = "sem.";   // files of sem_open(3) in the same folder

/// Of a copy, and of a region: below, system calls cost as little.
constexpr std::uint64_t least_mapped = 32 * 1024;
/// Of a region, and of all of the process: mapped pages count as what it holds.
constexpr std::uint64_t most_mapped = 32U << 20, most_mapped_in_all = 128U << 20;
const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
std::atomic<std::size_t> all_mapped_bytes{0};

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
  map();
}

SystemMemory::~SystemMemory() {
  if (mapped_ != nullptr) {
    ::munmap(mapped_, mapped_bytes_);
    all_mapped_bytes.fetch_sub(mapped_bytes_, std::memory_order_relaxed);  // relaxed: a number
  }
  ::close(descriptor_);
}

void SystemMemory::read(std::uint64_t offset, char* into, std::uint64_t bytes) const {
  if (is_worth_mapping(bytes) && size() >= region_.offset + offset + bytes &&
      guarded_copy(into, at(offset), bytes))
    return;
  move(offset, bytes, [&](std::uint64_t done, off_t at) {
    return ::pread(descriptor_, into + done, bytes - done, at);
  });
}

void SystemMemory::write(std::uint64_t offset, const char* from, std::uint64_t bytes) const {
  // Writing behind its end would make it longer again: of what is gone, nothing comes back, but
  // for a client that truncates it at this very moment.
  if (size() < region_.offset + offset + bytes) shrunk();
  if (is_worth_mapping(bytes) && guarded_copy(at(offset), from, bytes)) return;
  move(offset, bytes, [&](std::uint64_t done, off_t at) {
    return ::pwrite(descriptor_, from + done, bytes - done, at);
  });
}

/// Of the file, now.
std::uint64_t SystemMemory::size() const {
  struct stat found{};
  if (::fstat(descriptor_, &found) != 0) cannot_open(std::strerror(errno));
  if (!S_ISREG(found.st_mode)) cannot_open("it is no memory");
  return static_cast<std::uint64_t>(found.st_size);
}

/// Where that is little and there is room; else bytes come and go by system calls alone.
void SystemMemory::map() noexcept {
  const std::uint64_t shift = region_.offset % page_bytes;
  if (region_.bytes > most_mapped || region_.bytes < least_mapped) return;
  mapped_bytes_ = static_cast<std::size_t>(region_.bytes + shift);
  // relaxed, both: a number
  if (all_mapped_bytes.fetch_add(mapped_bytes_, std::memory_order_relaxed) <=
      most_mapped_in_all - mapped_bytes_) {
    void* const mapped = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED,
                                descriptor_, static_cast<off_t>(region_.offset - shift));
    if (mapped != MAP_FAILED) {
      mapped_ = static_cast<char*>(mapped);
      return;
    }
  }
  all_mapped_bytes.fetch_sub(mapped_bytes_, std::memory_order_relaxed);
}

bool SystemMemory::is_worth_mapping(std::uint64_t bytes) const noexcept {
  return mapped_ != nullptr && bytes >= least_mapped;
}

/// Within the mapping.
char* SystemMemory::at(std::uint64_t offset) const noexcept {
  return mapped_ + region_.offset % page_bytes + offset;
}

void SystemMemory::check_memory() const {
  const std::uint64_t size = this->size();
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
