// JSON that is plain, read in place: texts of ASCII without escapes, whole numbers, no member
// twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "files/json_numbers.hpp"

namespace engine::frontend {

/// Reads one value after the other. All that read return false where something else stands, or
/// something that is not plain; then the reader is of no further use.
class JsonReader {
 public:
  explicit JsonReader(std::string_view document) noexcept : document_(document) {}

  /// An object: `read(name)` reads the value of each member.
  template <typename Read>
  [[nodiscard]] bool object(Read&& read) {
    return list('{', '}', [&] {
      std::string_view name;
      return text(name) && take(':') && read(name);
    });
  }
  /// An array: `read()` reads each element.
  template <typename Read>
  [[nodiscard]] bool array(Read&& read) {
    return list('[', ']', read);
  }
  [[nodiscard]] bool text(std::string_view& found) noexcept;
  [[nodiscard]] bool whole_number(std::int64_t& found) noexcept;
  [[nodiscard]] bool boolean(bool& found) noexcept;
  /// An array of numbers, nested or not.
  [[nodiscard]] bool numbers(std::optional<JsonNumbers>& found);
  /// Any value, in a document without escapes; what it is is not looked at.
  [[nodiscard]] bool skip() noexcept;
  /// Whether nothing more follows.
  [[nodiscard]] bool at_end() noexcept {
    skip_spaces();
    return at_ == document_.size();
  }

 private:
  template <typename Read>
  [[nodiscard]] bool list(char open, char close, Read&& read) {
    if (!take(open)) return false;
    if (take(close)) return true;
    do {
      if (!read()) return false;
    } while (take(','));
    return take(close);
  }
  void skip_spaces() noexcept;
  [[nodiscard]] bool take(char wanted) noexcept;
  [[nodiscard]] bool take(std::string_view wanted) noexcept;

  std::string_view document_;
  std::size_t at_ = 0;
};

/// Which of some members were seen: each may come once.
class SeenMembers {
 public:
  /// False where it came before, or is one too many.
  [[nodiscard]] bool note(unsigned member) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << member;
    const bool is_new = (seen_ & bit) == 0;
    seen_ |= bit;
    return is_new;
  }
  [[nodiscard]] bool has(unsigned member) const noexcept { return (seen_ >> member & 1) != 0; }

 private:
  std::uint64_t seen_ = 0;
};

}  // namespace engine::frontend
