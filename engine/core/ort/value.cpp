#include "ort/value.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "ort/types.hpp"

namespace engine::ort {
namespace {

constexpr std::size_t kPartsAsked = 64;  // of a sequence, for its bytes: each would be copied
constexpr std::size_t kMaxElements = std::size_t{1} << 56;  // keeps sizes in bits below 2^63

/// The head of ONNX Runtime's OrtAllocator; version 1 has these members and no more.
struct AllocatorHead {
  std::uint32_t version;
  void* (*allocate)(AllocatorHead*, std::size_t);
  void (*free)(AllocatorHead*, void*);
  const OrtMemoryInfo* (*info)(const AllocatorHead*);
};

/// The allocator of one tensor over foreign memory: ONNX Runtime calls free() once, with the
/// last OrtValue that shares the tensor, and does not touch the allocator afterwards.
struct ForeignMemory final : AllocatorHead {
  explicit ForeignMemory(Owner memory)
      : AllocatorHead{1, &refuse, &release, &memory_info}, owner(std::move(memory)) {}
  static void* refuse(AllocatorHead*, std::size_t) { return nullptr; }
  static void release(AllocatorHead* self, void*) { delete static_cast<ForeignMemory*>(self); }
  static const OrtMemoryInfo* memory_info(const AllocatorHead*) { return Runtime::get().memory(); }

  Owner owner;
  std::array<void*, 16> absent{};  // where later versions have more functions: none
};

Handle<OrtTensorTypeAndShapeInfo> tensor_info(const OrtValue* value) {
  return create<OrtTensorTypeAndShapeInfo>(api().tensor_type_and_shape, value);
}

std::size_t element_count(std::span<const std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw std::invalid_argument("a tensor's shape has a negative extent");
    if (__builtin_mul_overflow(count, static_cast<std::size_t>(extent), &count) ||
        count > kMaxElements) {
      throw std::invalid_argument("a tensor's shape has more elements than memory can hold");
    }
  }
  return count;
}

std::size_t strings_bytes(const OrtValue* value) {
  return query<std::size_t>(api().strings_length, value);
}

std::size_t tensor_bytes(const OnnxValue& value) {
  if (value.elem_type() == kString) return strings_bytes(value.get());
  return query<std::size_t>(api().tensor_bytes, value.get());
}

}  // namespace

std::size_t OnnxValue::bytes() const noexcept {
  // relaxed, both: whoever asks at the same time finds the same number
  std::size_t known = bytes_.load(std::memory_order_relaxed);
  if (known == kNotAsked) {
    known = count_bytes();
    bytes_.store(known, std::memory_order_relaxed);
  }
  return known;
}

std::size_t OnnxValue::count_bytes() const noexcept try {
  if (kind() == ValueKind::kOptionalNone) return 0;
  if (kind() == ValueKind::kTensor) return tensor_bytes(*this);
  if (kind() == ValueKind::kSequence) return sequence_bytes();
  return part(0).bytes() + part(1).bytes();
} catch (const std::exception&) {
  return 0;  // an opaque value has no size that we could know
}

std::size_t OnnxValue::sequence_bytes() const {
  const std::size_t count = part_count();
  if (count == 0) return 0;
  const OnnxValue first = part(0);
  if (first.kind() == ValueKind::kMap) return count * first.bytes();
  const std::size_t asked = std::min(count, kPartsAsked);
  std::size_t total = first.bytes();
  for (std::size_t i = 1; i < asked; ++i) total += part(i * count / asked).bytes();
  return total * count / asked;
}

ValueKind OnnxValue::kind() const {
  if (!value_) return ValueKind::kOptionalNone;
  switch (query<int>(api().value_type, get())) {
    case kTensor:
      return ValueKind::kTensor;
    case kSequence:
      return ValueKind::kSequence;
    case kMap:
      return ValueKind::kMap;
    default:
      throw std::runtime_error("sparse and opaque values are not supported");
  }
}

int OnnxValue::elem_type() const {
  return from_ort(query<int>(api().tensor_element_type, tensor_info(get()).get()));
}

TensorType OnnxValue::tensor_type() const {
  const auto info = tensor_info(get());
  TensorType type{from_ort(query<int>(api().tensor_element_type, info.get())), {}};
  type.shape.resize(query<std::size_t>(api().dimensions_count, info.get()));
  check(api().dimensions(info.get(), type.shape.data(), type.shape.size()));
  return type;
}

std::vector<std::int64_t> OnnxValue::shape() const { return tensor_type().shape; }

std::shared_ptr<const Value> OnnxValue::copied() const {
  if (kind() != ValueKind::kTensor || elem_type() == kString) return nullptr;
  const std::shared_ptr<const OnnxValue> copy = make_tensor(elem_type(), shape());
  std::memcpy(copy->data(), data(), bytes());
  return copy;
}

void* OnnxValue::data() const { return query<void*>(api().tensor_data, get()); }

std::size_t OnnxValue::count() const { return element_count(shape()); }

OnnxValue::Strings OnnxValue::all_strings() const {
  const std::size_t size = count();
  Strings all{std::string(strings_bytes(get()), '\0'), std::vector<std::size_t>(size)};
  if (size > 0) {
    check(api().strings_content(get(), all.content.data(), all.content.size(), all.offsets.data(),
                                size));
  }
  all.offsets.push_back(all.content.size());
  return all;
}

std::size_t OnnxValue::part_count() const { return query<std::size_t>(api().value_count, get()); }

OnnxValue OnnxValue::part(std::size_t index) const {
  return OnnxValue(Handle<OrtValue>(query<OrtValue*>(
      api().get_value, get(), static_cast<int>(index), Runtime::get().allocator())));
}

std::vector<ValuePtr> OnnxValue::items() const {
  const std::size_t count = part_count();
  std::vector<ValuePtr> items;
  items.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    items.push_back(wrap_output(
        query<OrtValue*>(api().get_value, get(), static_cast<int>(i), Runtime::get().allocator()),
        false));
  }
  return items;
}

ValuePtr wrap_tensor(void* data, std::size_t bytes, int elem_type,
                     std::span<const std::int64_t> shape, Owner owner) {
  const std::size_t needed = packed_bytes(elem_type, element_count(shape));
  if (bytes != needed) {
    throw std::invalid_argument("a tensor of this shape and element type " +
                                std::to_string(elem_type) + " takes " + std::to_string(needed) +
                                " bytes, not " + std::to_string(bytes));
  }
  static char nothing = 0;  // ONNX Runtime refuses a null pointer, even for zero elements
  if (data == nullptr) data = &nothing;
  auto memory = std::make_unique<ForeignMemory>(std::move(owner));
  auto value = create<OrtValue>(api().create_tensor_with_deleter,
                                reinterpret_cast<OrtAllocator*>(memory.get()), data, bytes,
                                shape.data(), shape.size(), to_ort(elem_type));
  static_cast<void>(memory.release());  // the tensor frees it
  return std::make_shared<OnnxValue>(std::move(value), bytes);
}

std::shared_ptr<const OnnxValue> make_tensor(int elem_type, std::span<const std::int64_t> shape) {
  auto value = create<OrtValue>(api().create_tensor, Runtime::get().allocator(), shape.data(),
                                shape.size(), to_ort(elem_type));
  const std::size_t bytes = packed_bytes(elem_type, element_count(shape));
  return std::make_shared<const OnnxValue>(std::move(value), bytes);
}

ValuePtr make_strings(std::span<const std::string_view> strings,
                      std::span<const std::int64_t> shape) {
  if (element_count(shape) != strings.size()) {
    throw std::invalid_argument("a tensor of strings does not fit its shape");
  }
  auto value = create<OrtValue>(api().create_tensor, Runtime::get().allocator(), shape.data(),
                                shape.size(), to_ort(kString));
  for (std::size_t i = 0; i < strings.size(); ++i) {
    char* buffer = query<char*>(api().resized_string_buffer, value.get(), i, strings[i].size());
    strings[i].copy(buffer, strings[i].size());
  }
  return std::make_shared<OnnxValue>(std::move(value));
}

ValuePtr make_sequence(std::span<const ValuePtr> items) {
  std::vector<const OrtValue*> parts;
  parts.reserve(items.size());
  for (const ValuePtr& item : items) {
    parts.push_back(unwrap(item));
    if (parts.back() == nullptr) throw std::invalid_argument("a sequence cannot hold None");
  }
  auto value =
      create<OrtValue>(api().create_value, parts.data(), parts.size(), static_cast<int>(kSequence));
  return std::make_shared<OnnxValue>(std::move(value));
}

ValuePtr wrap_output(OrtValue* value, bool optional) {
  Handle<OrtValue> owned(value);
  if (optional && query<int>(api().has_value, value) == 0) owned.reset();
  return std::make_shared<OnnxValue>(std::move(owned));
}

}  // namespace engine::ort
