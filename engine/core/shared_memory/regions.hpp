// Regions of POSIX shared memory that clients registered, and bytes in and out of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace engine {

/// Why a region cannot be had, read or written.
enum class RegionFault {
  unknown,      ///< none of that name is registered
  exists,       ///< one of that name is, already
  invalid,      ///< a name, key, offset or size that cannot be
  unreachable,  ///< the system does not open, read or write the memory
  shrunk,       ///< the memory is smaller than when it was registered
  too_many,     ///< the table is full
};

/// What went wrong, naming the region; begins with the words that Triton has for it.
class RegionError : public std::runtime_error {
 public:
  RegionError(RegionFault fault, const std::string& what)
      : std::runtime_error(what), fault_(fault) {}
  [[nodiscard]] RegionFault fault() const noexcept { return fault_; }

 private:
  RegionFault fault_;
};

/// What a client registered.
struct Region {
  std::string name;
  std::string key;  ///< of shm_open(3)
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// The regions of one server, by name. Thread-safe; lookups take a lock for tens of nanoseconds,
/// and bytes are moved without it, by one system call for up to 2 GiB. What is removed meanwhile
/// is closed with its last reader.
///
/// The files are held open, not mapped: see this folder's page. All functions throw RegionError.
class Regions {
 public:
  static constexpr std::size_t most_by_default = 512;

  /// `most` regions at a time: each takes a file descriptor.
  explicit Regions(std::size_t most = most_by_default) : most_(most) {}
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;
  ~Regions() = default;

  /// Registers `bytes` bytes from `offset` on of the memory of that key, which must be there and
  /// as large.
  void add(const Region& region);
  /// Nothing if there is none.
  void remove(std::string_view name);
  void clear();

  /// In the order of names.
  [[nodiscard]] std::vector<Region> list() const;
  [[nodiscard]] Region find(std::string_view name) const;

  /// Throws unless these bytes lie within the region.
  void check(std::string_view name, std::uint64_t offset, std::uint64_t bytes) const;
  void read(std::string_view name, std::uint64_t offset, void* into, std::uint64_t bytes) const;
  void write(std::string_view name, std::uint64_t offset, const void* from,
             std::uint64_t bytes) const;

 private:
  class Open;
  using OpenPtr = std::shared_ptr<const Open>;

  [[nodiscard]] OpenPtr get(std::string_view name) const;
  void check_room(const std::string& name) const;

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::map<std::string, OpenPtr, std::less<>> open_;  // guarded by mutex_
};

}  // namespace engine
