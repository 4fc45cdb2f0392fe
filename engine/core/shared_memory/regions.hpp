// Regions of shared memory that clients registered, and bytes in and out of them.
#pragma once

#include <array>
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
  no_gpu,       ///< this machine has no GPU, or no CUDA
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
  std::string key;  ///< of shm_open(3); empty for a GPU's
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  int gpu = no_gpu;  ///< whose memory it is

  static constexpr int no_gpu = -1;
};

/// cudaIpcMemHandle_t: what a process gives others, to open memory of a GPU that is its own.
using CudaHandle = std::array<char, 64>;

/// The memory of a region, open. Thread-safe; throws RegionError.
class RegionMemory {
 public:
  RegionMemory() = default;
  RegionMemory(const RegionMemory&) = delete;
  RegionMemory& operator=(const RegionMemory&) = delete;
  virtual ~RegionMemory() = default;
  /// From there on, within the region.
  virtual void read(std::uint64_t offset, char* into, std::uint64_t bytes) const = 0;
  virtual void write(std::uint64_t offset, const char* from, std::uint64_t bytes) const = 0;
};

/// The regions of one server, by name. Thread-safe; lookups take a lock for tens of nanoseconds,
/// and bytes are moved without it. What is removed meanwhile is closed with its last reader.
///
/// All functions throw RegionError.
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
  /// The same of a GPU's memory, of which the first bytes are the region.
  void add_of_gpu(const Region& region, const CudaHandle& handle);
  /// Nothing if there is none among those of a GPU, or the others.
  void remove(std::string_view name, bool of_gpu = false);
  void clear(bool of_gpu = false);

  /// Those of a GPU, or the others, in the order of names.
  [[nodiscard]] std::vector<Region> list(bool of_gpu = false) const;
  [[nodiscard]] Region find(std::string_view name) const;

  /// Throws unless these bytes lie within the region.
  void check(std::string_view name, std::uint64_t offset, std::uint64_t bytes) const;
  void read(std::string_view name, std::uint64_t offset, void* into, std::uint64_t bytes) const;
  void write(std::string_view name, std::uint64_t offset, const void* from,
             std::uint64_t bytes) const;

 private:
  struct Open {
    Region region;
    std::unique_ptr<const RegionMemory> memory;
  };
  using OpenPtr = std::shared_ptr<const Open>;

  void enter(Open open);
  void check_name(const std::string& name) const;
  [[nodiscard]] OpenPtr get(std::string_view name) const;
  void check_room(const std::string& name) const;

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::map<std::string, OpenPtr, std::less<>> open_;  // guarded by mutex_
};

}  // namespace engine
