// Tensors in the place of ONNX Runtime's, which knows no sanitizer: what is made is read at once,
// and must be as large as its shape says.
#include <cstring>
#include <stdexcept>

#include "ort/types.hpp"
#include "ort/value.hpp"
#include "target.hpp"

namespace engine::ort {

namespace {

std::size_t count_of(std::span<const std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) {
    fuzz::must(extent >= 0);
    if (__builtin_mul_overflow(count, static_cast<std::size_t>(extent), &count))
      throw std::invalid_argument("more elements than memory can hold");  // as the true ones
  }
  return count;
}

/// Reads all bytes, so that the sanitizer sees whether they are there.
void read_all(const char* data, std::size_t bytes) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < bytes; ++i) sum += static_cast<unsigned char>(data[i]);
  [[maybe_unused]] volatile unsigned kept = sum;
}

/// A value that holds what the tensor lies over.
class Held final : public Value {
 public:
  Held(Owner owner, const void* data, std::size_t bytes)
      : owner_(std::move(owner)), data_(static_cast<const char*>(data)), bytes_(bytes) {
    read_all(data_, bytes_);
  }
  ~Held() override { read_all(data_, bytes_); }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }

 private:
  const Owner owner_;
  const char* const data_;
  const std::size_t bytes_;
};

void let_go(void*) {}

}  // namespace

ValuePtr wrap_tensor(void* data, std::size_t bytes, int elem_type,
                     std::span<const std::int64_t> shape, Owner owner) {
  const std::size_t each = element_bits(elem_type) / 8;
  fuzz::must(each > 0 && bytes == count_of(shape) * each);
  fuzz::must(reinterpret_cast<std::uintptr_t>(data) % each == 0);
  return std::make_shared<Held>(std::move(owner), data, bytes);
}

ValuePtr make_strings(std::span<const std::string_view> strings,
                      std::span<const std::int64_t> shape) {
  fuzz::must(strings.size() == count_of(shape));
  for (const std::string_view text : strings) read_all(text.data(), text.size());
  return std::make_shared<Held>(Owner(nullptr, let_go), nullptr, 0);
}

}  // namespace engine::ort
