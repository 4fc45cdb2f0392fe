// POSIX shared memory of a client's.
#pragma once

#include "shared_memory/regions.hpp"

namespace engine {

/// The file of a key. No byte of a mapping is touched but by guarded_copy: see this folder's page.
class SystemMemory final : public RegionMemory {
 public:
  /// Throws RegionError.
  explicit SystemMemory(Region region);
  ~SystemMemory() override;

  void read(std::uint64_t offset, char* into, std::uint64_t bytes) const override;
  void write(std::uint64_t offset, const char* from, std::uint64_t bytes) const override;

 private:
  [[nodiscard]] std::uint64_t size() const;
  void check_memory() const;
  void map() noexcept;
  [[nodiscard]] bool is_worth_mapping(std::uint64_t bytes) const noexcept;
  [[nodiscard]] char* at(std::uint64_t offset) const noexcept;
  [[noreturn]] void cannot_open(const std::string& why) const;
  [[noreturn]] void shrunk() const;
  template <typename Call>
  void move(std::uint64_t offset, std::uint64_t bytes, const Call& call) const;

  const Region region_;
  int descriptor_ = -1;
  char* mapped_ = nullptr;  ///< from the page on in which the region begins
  std::size_t mapped_bytes_ = 0;
};

}  // namespace engine
