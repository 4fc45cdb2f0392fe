// Protocol buffers' wire format: fields read in place, fields written behind each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace engine::frontend {

using Bytes = std::span<const std::byte>;

[[nodiscard]] inline std::string_view text_of(Bytes bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// Reads a number and goes behind it; false where it does not end.
[[nodiscard]] inline bool read_varint(const std::byte*& at, const std::byte* end,
                                      std::uint64_t& value) noexcept {
  value = 0;
  for (unsigned shift = 0; shift < 64 && at != end; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(*at++);
    value |= static_cast<std::uint64_t>(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

/// The fields of one message, one after the other. What is malformed ends it with `failed()`.
class FieldReader {
 public:
  explicit FieldReader(Bytes message) noexcept
      : begin_(message.data()), at_(begin_), end_(begin_ + message.size()) {}

  /// Goes to the next field; false at the end, and where there is none that is well formed.
  [[nodiscard]] bool next() noexcept {
    if (at_ == end_ || failed_) return false;
    std::uint64_t tag = 0;
    if (!read_varint(at_, end_, tag) || tag >> 3 == 0 || tag >> 35 != 0) return fail();
    field_ = static_cast<std::uint32_t>(tag >> 3);
    type_ = static_cast<WireType>(tag & 7);
    switch (type_) {
      case WireType::varint:
        return read_varint(at_, end_, number_) || fail();
      case WireType::fixed64:
        return take(8) || fail();
      case WireType::fixed32:
        return take(4) || fail();
      case WireType::bytes: {
        std::uint64_t length = 0;
        return (read_varint(at_, end_, length) && take(length)) || fail();
      }
    }
    return fail();  // groups, which nobody writes
  }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] std::uint32_t field() const noexcept { return field_; }
  [[nodiscard]] WireType type() const noexcept { return type_; }
  [[nodiscard]] bool is(std::uint32_t field, WireType type) const noexcept {
    return field_ == field && type_ == type;
  }
  /// Of a varint.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Of any other; of `bytes` its content.
  [[nodiscard]] Bytes content() const noexcept { return content_; }
  /// Where the content begins, from the message's beginning on.
  [[nodiscard]] std::size_t offset() const noexcept {
    return static_cast<std::size_t>(content_.data() - begin_);
  }

 private:
  bool fail() noexcept {
    failed_ = true;
    return false;
  }
  bool take(std::uint64_t bytes) noexcept {
    if (bytes > static_cast<std::uint64_t>(end_ - at_)) {
      content_ = {at_, std::size_t{0}};
      return false;
    }
    content_ = {at_, static_cast<std::size_t>(bytes)};
    at_ += bytes;
    return true;
  }
  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  std::uint32_t field_ = 0;
  WireType type_ = WireType::varint;
  std::uint64_t number_ = 0;
  Bytes content_;
  bool failed_ = false;
};

/// Numbers behind each other: what a packed field holds.
class PackedReader {
 public:
  explicit PackedReader(Bytes content) noexcept : at_(content.data()), end_(at_ + content.size()) {}

  /// False at the end, and where there is no number.
  [[nodiscard]] bool next(std::uint64_t& value) noexcept { return read_varint(at_, end_, value); }
  [[nodiscard]] bool at_end() const noexcept { return at_ == end_; }

 private:
  const std::byte* at_;
  const std::byte* end_;
};

inline void put_varint(std::string& to, std::uint64_t value) {
  while (value > 127) {
    to.push_back(static_cast<char>((value & 127) | 128));
    value >>= 7;
  }
  to.push_back(static_cast<char>(value));
}

/// Tag and length of a field of bytes, which are to follow.
inline void put_length(std::string& to, std::uint32_t field, std::size_t bytes) {
  put_varint(to, static_cast<std::uint64_t>(field) << 3 | 2);
  put_varint(to, bytes);
}

inline void put_text(std::string& to, std::uint32_t field, std::string_view text) {
  if (text.empty()) return;
  put_length(to, field, text.size());
  to.append(text);
}

}  // namespace engine::frontend
