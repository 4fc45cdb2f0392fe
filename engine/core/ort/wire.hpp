// Tensors and what models declare, over a socket to another process on this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "devices/kernel.hpp"
#include "ort/session.hpp"

namespace engine::ort {

/// One end of a stream socket, which it closes for all who hold it. For one thread at a time. Both
/// processes are of this program: what arrives is not checked beyond its end.
class Wire {
 public:
  /// Takes ownership of a descriptor.
  explicit Wire(int descriptor) noexcept : descriptor_(descriptor) {}
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire();

  /// Asked some 50 times a second while it waits: true ends that with std::runtime_error.
  std::function<bool()> is_over = {};

  // All of them throw std::runtime_error when the other end is gone.
  void write(const void* data, std::size_t bytes);
  void write(std::int64_t number) { write(&number, sizeof number); }
  void write(const std::string& text);
  /// A tensor of elements of fixed size.
  void write(const ValuePtr& tensor);
  void write(const std::vector<ValueInfo>& infos);

  void read(void* data, std::size_t bytes);
  [[nodiscard]] std::int64_t read_number();
  [[nodiscard]] std::string read_text();
  [[nodiscard]] ValuePtr read_tensor();
  [[nodiscard]] std::vector<ValueInfo> read_infos();

 private:
  /// Waits until it is ready for `events`.
  void await(short events) const;

  int descriptor_;
};

}  // namespace engine::ort
