#include "mutations.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "frontend/proto.hpp"

namespace engine::fuzz {

using frontend::FieldReader;
using frontend::put_varint;
using frontend::text_of;
using frontend::WireType;

namespace {

constexpr std::uint64_t numbers[] = {
    0,        1,           2,          7,          63,         64,        127,     128,
    255,      256,         16'383,     16'384,     65'535,     65'536,    1 << 20, 0x7FFF'FFFF,
    1U << 31, 0xFFFF'FFFF, 1ULL << 32, 1ULL << 62, ~0ULL >> 1, ~0ULL - 1, ~0ULL,   1ULL << 63};

/// A field as it is written; `content` of those that have a length or a fixed one.
struct Field {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;
  std::string content;
};

/// The fields of a message; none where it is not well formed.
std::vector<Field> fields_of(std::string_view message) {
  std::vector<Field> fields;
  FieldReader reader({reinterpret_cast<const std::byte*>(message.data()), message.size()});
  while (reader.next()) {
    Field field{.number = reader.field(), .type = reader.type(), .value = 0, .content = {}};
    if (field.type == WireType::varint)
      field.value = reader.number();
    else
      field.content = text_of(reader.content());
    fields.push_back(std::move(field));
  }
  if (reader.failed()) fields.clear();
  return fields;
}

void put(std::string& to, const Field& field) {
  put_varint(to, std::uint64_t{field.number} << 3 | static_cast<std::uint64_t>(field.type));
  if (field.type == WireType::varint) return put_varint(to, field.value);
  if (field.type == WireType::bytes) put_varint(to, field.content.size());
  to += field.content;
}

std::string written(const std::vector<Field>& fields) {
  std::string message;
  for (const Field& field : fields) put(message, field);
  return message;
}

void change_value(Field& field, Random& random) {
  if (field.type == WireType::varint)
    field.value = random.one_in(2) ? random.one_of(numbers) : field.value + random.below(3) - 1;
  else if (field.type == WireType::bytes && !random.one_in(3))
    field.content = mutated_protobuf(field.content, random);
  else
    field.content = mutated_bytes(std::move(field.content), random);
}

std::size_t number_at(std::string_view bytes, std::size_t at, std::size_t count) {
  std::size_t number = 0;
  for (std::size_t i = at; i < at + count; ++i)
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

constexpr std::size_t frame_head = 9;

/// The frames behind each other; the last one may be cut off.
std::vector<std::string> frames_of(std::string_view connection) {
  std::vector<std::string> frames;
  while (connection.size() >= frame_head) {
    const std::size_t bytes = std::min(connection.size(), frame_head + number_at(connection, 0, 3));
    frames.emplace_back(connection.substr(0, bytes));
    connection.remove_prefix(bytes);
  }
  return frames;
}

/// A frame that fits somewhere in most connections.
std::string any_frame(Random& random) {
  const auto stream = static_cast<std::uint32_t>(random.below(8));
  const unsigned kind = static_cast<unsigned>(random.below(11));
  constexpr std::size_t usual[] = {0, 4, 5, 6, 8, 12, 17, 18, 30};
  std::string content(random.one_of(usual), '\0');
  for (char& c : content)
    if (random.one_in(3)) c = static_cast<char>(random.next());
  return frame(kind, random.one_in(2) ? 0 : static_cast<unsigned>(random.below(256)), stream,
               content);
}

void change_frame(std::string& one, Random& random) {
  switch (random.below(6)) {
    case 0:
      one[3] = static_cast<char>(random.below(12));  // its kind
      return;
    case 1:
      one[4] = static_cast<char>(one[4] ^ 1 << random.below(8));  // a flag
      return;
    case 2:
      one[8] = static_cast<char>(random.below(10));  // its stream
      return;
    case 3:
      one[random.below(3)] = static_cast<char>(random.next());  // its length, and so those behind
      return;
    case 4: {  // shorter or longer, and truly so
      std::string content = mutated_bytes(one.substr(frame_head), random);
      one = frame(static_cast<unsigned char>(one[3]), static_cast<unsigned char>(one[4]),
                  static_cast<std::uint32_t>(number_at(one, 5, 4)), content);
      return;
    }
    default:
      if (one.size() > frame_head)
        one[frame_head + random.below(one.size() - frame_head)] = static_cast<char>(random.next());
  }
}

}  // namespace

std::string mutated_bytes(std::string bytes, Random& random) {
  if (bytes.empty()) return std::string(1 + random.below(8), static_cast<char>(random.next()));
  const std::size_t at = random.below(bytes.size());
  const std::size_t most = std::min<std::size_t>(bytes.size() - at, 1 + random.below(64));
  switch (random.below(7)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << random.below(8));
      break;
    case 1:
      bytes[at] = static_cast<char>(random.next());
      break;
    case 2:
      bytes[at] = static_cast<char>(random.one_of(numbers));
      break;
    case 3:
      bytes.erase(at, most);
      break;
    case 4:
      bytes.insert(at, bytes.substr(random.below(bytes.size()), most));
      break;
    case 5:
      bytes.insert(at, 1 + random.below(16), static_cast<char>(random.next()));
      break;
    default:
      bytes.resize(at);
  }
  return bytes;
}

std::string mutated_protobuf(std::string_view message, Random& random) {
  std::vector<Field> fields = fields_of(message);
  if (fields.empty()) return mutated_bytes(std::string(message), random);
  const std::size_t at = random.below(fields.size());
  Field& field = fields[at];
  switch (random.below(12)) {
    case 0:
      fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(random.below(fields.size() + 1)),
                    Field(field));
      break;
    case 2:
      std::swap(field, fields[random.below(fields.size())]);
      break;
    case 3:
      field.number = 1 + static_cast<std::uint32_t>(random.below(16));
      break;
    case 4: {  // another type over the same bytes, which those behind it may not survive
      constexpr WireType types[] = {WireType::varint, WireType::fixed64, WireType::bytes,
                                    WireType::fixed32};
      field.type = random.one_of(types);
      break;
    }
    case 5: {  // a length that is not its own
      std::string written_so_far;
      for (std::size_t i = 0; i < at; ++i) put(written_so_far, fields[i]);
      put_varint(written_so_far, std::uint64_t{field.number} << 3 | 2);
      put_varint(written_so_far, random.one_of(numbers));
      return written_so_far + field.content;
    }
    default:
      change_value(field, random);
  }
  return written(fields);
}

std::string mutated_frames(std::string_view connection, std::size_t first, Random& random) {
  first = std::min(first, connection.size());
  std::vector<std::string> frames = frames_of(connection.substr(first));
  if (frames.empty()) frames.push_back(any_frame(random));
  const std::size_t at = random.below(frames.size());
  const auto place = [&] {
    return frames.begin() + static_cast<std::ptrdiff_t>(random.below(frames.size() + 1));
  };
  switch (random.below(8)) {
    case 0:
      frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1: {
      std::string copy = frames[at];
      frames.insert(place(), std::move(copy));
      break;
    }
    case 2:
      std::swap(frames[at], frames[random.below(frames.size())]);
      break;
    case 3:
      frames.insert(place(), any_frame(random));
      break;
    default:
      change_frame(frames[at], random);
  }
  std::string changed(connection.substr(0, first));
  for (const std::string& one : frames) changed += one;
  return changed;
}

std::string with_word(std::string text, const std::vector<std::string_view>& words,
                      Random& random) {
  const std::string_view word = words[random.below(words.size())];
  const std::size_t at = random.below(text.size() + 1);
  return text.replace(at, random.one_in(2) ? 0 : std::min(word.size(), text.size() - at), word);
}

std::string grpc_message(std::string_view content) {
  std::string made(1, '\0');
  for (const int shift : {24, 16, 8, 0}) made += static_cast<char>(content.size() >> shift);
  return made.append(content);
}

std::string frame(unsigned kind, unsigned flags, std::uint32_t stream, std::string_view content) {
  std::string made;
  for (const int shift : {16, 8, 0}) made += static_cast<char>(content.size() >> shift);
  made += static_cast<char>(kind);
  made += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) made += static_cast<char>(stream >> shift);
  return made.append(content);
}

}  // namespace engine::fuzz
