#include "frontend/infer_query.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "memory/account.hpp"
#include "memory/recent_blocks.hpp"
#include "ort/types.hpp"
#include "ort/value.hpp"

namespace engine::frontend {

static_assert(std::endian::native == std::endian::little, "raw contents are little-endian");

namespace {

/// Of InferTensorContents, by element type.
enum Contents : std::uint32_t {
  bools = 1,
  ints = 2,
  longs = 3,
  uints = 4,
  ulongs = 5,
  floats = 6,
  doubles = 7
};

/// What takes longer to read or to copy is left to Python: others wait for this thread, health
/// checks among them. Each is some 10 ms.
constexpr std::size_t most_strings = 1U << 16, most_numbers = 1U << 21;

/// Frees a tensor's hold on the memory of its message.
void let_go(void* held) { delete static_cast<std::shared_ptr<std::byte>*>(held); }

std::optional<std::size_t> count_of(const std::vector<std::int64_t>& shape) noexcept {
  std::size_t count = 1;
  for (const std::int64_t size : shape)
    if (__builtin_mul_overflow(count, static_cast<std::size_t>(size), &count)) return std::nullopt;
  return count;
}

ValuePtr over_memory(void* data, std::size_t bytes, const Port& port,
                     const std::vector<std::int64_t>& shape, std::shared_ptr<std::byte> memory) {
  ort::Owner owner(new std::shared_ptr<std::byte>(std::move(memory)), let_go);
  return ort::wrap_tensor(data, bytes, port.elem_type, shape, std::move(owner));
}

/// Of the process's account, as long as it lives. Throws std::bad_alloc where that has no room:
/// Python refuses the query.
MemoryShare taken(std::size_t bytes) {
  MemoryShare share;
  if (bytes > uncounted_bytes && !share.try_take(bytes)) throw std::bad_alloc();
  return share;
}

ValuePtr copied(Bytes content, const Port& port, const std::vector<std::int64_t>& shape) {
  std::shared_ptr<std::byte> memory = RecentBlocks::process().counted(content.size());
  std::memcpy(memory.get(), content.data(), content.size());
  void* const data = memory.get();
  return over_memory(data, content.size(), port, shape, std::move(memory));
}

/// All of them, which takes less than a way out within.
bool are_bools(Bytes content) noexcept {
  std::byte all{0};
  for (const std::byte b : content) all |= b;
  return std::to_integer<int>(all) <= 1;
}

/// Texts, and what they hold of the account: an object each, and those of more than some bytes have
/// memory of their own.
struct CountedStrings {
  MemoryShare share;
  ValuePtr value;
};

/// Each after its length of four bytes.
ValuePtr strings(Bytes content, std::size_t count, const std::vector<std::int64_t>& shape) {
  if (count > content.size() / 4 || count > most_strings) return nullptr;
  auto counted = std::make_shared<CountedStrings>();
  counted->share = taken(content.size() + count * (sizeof(std::string) + sizeof(std::string_view)));
  std::vector<std::string_view> found;
  found.reserve(count);
  while (content.size() >= 4) {
    std::uint32_t length = 0;
    std::memcpy(&length, content.data(), sizeof length);
    if (length > content.size() - 4 || found.size() == count) return nullptr;
    found.push_back(text_of(content.subspan(4, length)));
    content = content.subspan(4 + length);
  }
  if (!content.empty() || found.size() != count) return nullptr;
  counted->value = ort::make_strings(found, shape);
  const Value* const value = counted->value.get();
  return {std::move(counted), value};
}

ValuePtr raw_value(Bytes content, const Message& message, const Port& port,
                   const std::vector<std::int64_t>& shape) {
  const auto count = count_of(shape);
  if (!count) return nullptr;
  if (port.elem_type == ort::kString) return strings(content, *count, shape);
  const std::size_t each = ort::element_bits(port.elem_type) / 8;
  if (each == 0 || *count > content.size() || content.size() != *count * each) return nullptr;
  if (port.elem_type == ort::kBool && !are_bools(content)) return nullptr;
  if (reinterpret_cast<std::uintptr_t>(content.data()) % each != 0)
    return content.size() <= most_copied ? copied(content, port, shape) : nullptr;
  auto* const data = const_cast<std::byte*>(content.data());
  return over_memory(data, content.size(), port, shape, message.memory);
}

/// A tensor in shared memory, copied: a client may change it, or take it away.
ValuePtr shared_value(const GivenInput& given, const Port& port, const Regions& regions,
                      std::size_t most_bytes) {
  const auto count = count_of(given.shape);
  const std::size_t each = ort::element_bits(port.elem_type) / 8;
  const bool fits = count && each != 0 && *count <= given.part.bytes &&
                    given.part.bytes == *count * each && given.part.bytes <= most_bytes &&
                    given.part.bytes <= most_copied;
  // Whoever reads a GPU's waits for it: Python does.
  if (!fits || regions.find(given.part.region).gpu != Region::no_gpu) return nullptr;
  std::shared_ptr<std::byte> memory = RecentBlocks::process().counted(given.part.bytes);
  regions.read(given.part.region, given.part.offset, memory.get(), given.part.bytes);
  void* const data = memory.get();
  if (port.elem_type == ort::kBool && !are_bools({memory.get(), given.part.bytes})) return nullptr;
  return over_memory(data, given.part.bytes, port, given.shape, std::move(memory));
}

/// Numbers of a packed field, narrowed; null where one is out of range, or there are too many or
/// few.
template <typename Element, typename Wide>
ValuePtr numbers(Bytes content, std::size_t count, const Port& port,
                 const std::vector<std::int64_t>& shape) {
  if (count > content.size() || count > most_numbers) return nullptr;
  std::shared_ptr<std::byte> memory = RecentBlocks::process().counted(count * sizeof(Element));
  auto* const elements = reinterpret_cast<Element*>(memory.get());
  PackedReader packed(content);
  std::uint64_t number = 0;
  std::size_t found = 0;
  while (packed.next(number)) {
    const auto wide = static_cast<Wide>(number);
    if (found == count || static_cast<Wide>(static_cast<Element>(wide)) != wide) return nullptr;
    elements[found++] = static_cast<Element>(wide);
  }
  if (!packed.at_end() || found != count) return nullptr;
  return over_memory(elements, count * sizeof(Element), port, shape, std::move(memory));
}

/// Numbers of a JSON document as elements; null where one is out of range. As numpy converts them.
template <typename Element>
ValuePtr converted(const JsonNumbers& found, const Port& port,
                   const std::vector<std::int64_t>& shape) {
  std::shared_ptr<std::byte> memory =
      RecentBlocks::process().counted(found.count() * sizeof(Element));
  auto* const elements = reinterpret_cast<Element*>(memory.get());
  std::size_t count = 0;
  for (const std::int64_t number : found.integers) {
    if constexpr (std::is_integral_v<Element>)
      if (!std::in_range<Element>(number)) return nullptr;
    elements[count++] = static_cast<Element>(number);
  }
  for (const double number : found.reals) {
    if constexpr (std::is_integral_v<Element>) return nullptr;
    const auto element = static_cast<Element>(number);
    if (std::abs(number) > std::numeric_limits<Element>::max() && std::isinf(element))
      return nullptr;
    elements[count++] = element;
  }
  return over_memory(elements, count * sizeof(Element), port, shape, std::move(memory));
}

ValuePtr json_value(const JsonNumbers& found, const Port& port,
                    const std::vector<std::int64_t>& shape) {
  const auto count = count_of(shape);
  if (!count || *count != found.count()) return nullptr;
  switch (port.elem_type) {
    case ort::kFloat:
      return converted<float>(found, port, shape);
    case ort::kDouble:
      return converted<double>(found, port, shape);
    case ort::kInt8:
      return converted<std::int8_t>(found, port, shape);
    case ort::kInt16:
      return converted<std::int16_t>(found, port, shape);
    case ort::kInt32:
      return converted<std::int32_t>(found, port, shape);
    case ort::kInt64:
      return converted<std::int64_t>(found, port, shape);
    case ort::kUint8:
      return converted<std::uint8_t>(found, port, shape);
    case ort::kUint16:
      return converted<std::uint16_t>(found, port, shape);
    case ort::kUint32:
      return converted<std::uint32_t>(found, port, shape);
    case ort::kUint64:
      return converted<std::uint64_t>(found, port, shape);
    default:
      return nullptr;
  }
}

/// The one field that a message of contents has; nothing where it has several, or pieces of one.
std::optional<std::pair<std::uint32_t, Bytes>> only_field(Bytes contents) noexcept {
  FieldReader fields(contents);
  if (!fields.next() || fields.type() != WireType::bytes) return std::nullopt;
  const std::pair<std::uint32_t, Bytes> found{fields.field(), fields.content()};
  if (fields.next() || fields.failed()) return std::nullopt;
  return found;
}

/// An element type, and that of the field that its values travel in.
template <typename Element, typename Wide = Element>
struct As {};

ValuePtr typed_value(Bytes contents, const Port& port, const std::vector<std::int64_t>& shape) {
  const auto count = count_of(shape);
  const auto field = only_field(contents);
  if (!count || !field) return nullptr;
  const std::uint32_t number = field->first;
  const Bytes content = field->second;
  const auto fixed = [&](Contents wanted, std::size_t each) {
    const bool fits = number == wanted && content.size() % each == 0;
    return fits && content.size() / each == *count && content.size() <= most_copied
               ? copied(content, port, shape)
               : nullptr;
  };
  const auto packed = [&]<typename Element, typename Wide>(Contents wanted, As<Element, Wide>) {
    return number == wanted ? numbers<Element, Wide>(content, *count, port, shape) : nullptr;
  };
  switch (port.elem_type) {
    case ort::kFloat:
      return fixed(floats, 4);
    case ort::kDouble:
      return fixed(doubles, 8);
    case ort::kInt8:
      return packed(ints, As<std::int8_t, std::int32_t>{});
    case ort::kInt16:
      return packed(ints, As<std::int16_t, std::int32_t>{});
    case ort::kInt32:
      return packed(ints, As<std::int32_t>{});
    case ort::kInt64:
      return packed(longs, As<std::int64_t>{});
    case ort::kUint8:
      return packed(uints, As<std::uint8_t, std::uint32_t>{});
    case ort::kUint16:
      return packed(uints, As<std::uint16_t, std::uint32_t>{});
    case ort::kUint32:
      return packed(uints, As<std::uint32_t>{});
    case ort::kUint64:
      return packed(ulongs, As<std::uint64_t>{});
    case ort::kBool:
      return packed(bools, As<bool>{});  // any number but 0 is true
    default:
      return nullptr;
  }
}

}  // namespace

bool collect(const InferRequest& request, const Message& message, const FrontModel& model,
             const Regions& regions, std::size_t most_bytes, std::vector<ValuePtr>& values) {
  std::size_t next_raw = 0;
  if (request.inputs.size() != model.inputs.size()) return false;
  values.assign(model.inputs.size(), nullptr);
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const GivenInput& given = request.inputs[i];
    const auto place = FrontModel::find(model.inputs, given.name);
    if (!place || values[*place] != nullptr) return false;
    const Port& port = model.inputs[*place];
    if (given.datatype != port.datatype || !port.fits(given.shape)) return false;
    if (!given.part.region.empty()) {
      values[*place] = shared_value(given, port, regions, most_bytes);
    } else if (given.numbers) {
      values[*place] = json_value(*given.numbers, port, given.shape);
    } else {
      if (given.is_typed == !request.raw.empty()) return false;
      values[*place] = given.is_typed
                           ? typed_value(given.contents, port, given.shape)
                           : raw_value(request.raw[next_raw++], message, port, given.shape);
    }
    if (values[*place] == nullptr) return false;
  }
  return true;
}

}  // namespace engine::frontend
