// POSIX shared memory of a client's.
#pragma once

#include "shared_memory/regions.hpp"

namespace engine {

/// The file of a key, open and not mapped: see this folder's page.
class SystemMemory final : public RegionMemory {
 public:
  /// Throws RegionError.
  explicit SystemMemory(Region region);
  ~SystemMemory() override;

  void read(std::uint64_t offset, char* into, std::uint64_t bytes) const override;
  void write(std::uint64_t offset, const char* from, std::uint64_t bytes) const override;

 private:
  void check_memory() const;
  [[noreturn]] void cannot_open(const std::string& why) const;
  [[noreturn]] void shrunk() const;
  template <typename Call>
  void move(std::uint64_t offset, std::uint64_t bytes, const Call& call) const;

  const Region region_;
  int descriptor_ = -1;
};

}  // namespace engine
