// What OpenVINO compiled, as a file, in memory that it computes from.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace engine::kernels::openvino {

/// A whole file, read into huge pages where the system has them: weights are read in every query,
/// and a page of 4 KiB for each costs look-ups of addresses. An imported model computes from here.
class Blob {
 public:
  /// That of another model as long as one holds it: copies, and widths, of one segment share their
  /// weights. Thread-safe. Throws std::system_error naming the path.
  [[nodiscard]] static std::shared_ptr<const Blob> open(const std::string& path);
  Blob(const std::string& path, int file, std::size_t size);
  Blob(const Blob&) = delete;
  Blob& operator=(const Blob&) = delete;
  ~Blob();
  [[nodiscard]] std::span<const char> bytes() const noexcept { return {data_, size_}; }

 private:
  char* data_ = nullptr;
  std::size_t size_;
  std::size_t mapped_;
};

}  // namespace engine::kernels::openvino
