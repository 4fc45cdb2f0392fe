// What OpenVINO compiled, as a file, in memory that it computes from.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace engine::kernels::openvino {

/// A whole file, read such that its weights begin at a cache line, and into huge pages where the
/// system has them: an imported model reads them from here in every query. Behind the text before
/// them they begin anywhere, which took 5 % of the time of a model of large matrices.
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
  char* memory_ = nullptr;
  std::size_t mapped_;
  char* data_ = nullptr;  ///< within the memory
  std::size_t size_;
};

}  // namespace engine::kernels::openvino
