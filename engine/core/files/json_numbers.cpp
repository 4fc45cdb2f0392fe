#include "files/json_numbers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>
#include <utility>

namespace engine {
namespace {

constexpr std::size_t kDeepest = 32;
constexpr std::string_view kMember = "\"data\"";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A place in a document; behind its end everything is '\0'.
class Place {
 public:
  Place(std::string_view text, std::size_t at) : text_(text), at_(at) {}
  [[nodiscard]] char now() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] std::size_t at() const { return at_; }
  void next() { ++at_; }
  bool take(char c) {
    if (now() != c) return false;
    ++at_;
    return true;
  }
  void skip_spaces() {
    while (is_space(now())) ++at_;
  }
  bool skip_digits() {
    const std::size_t before = at_;
    while (is_digit(now())) ++at_;
    return at_ > before;
  }

 private:
  std::string_view text_;
  std::size_t at_;
};

/// Whether a number as JSON has them stands here; goes behind it, and says whether it is whole.
bool skip_number(Place& place, bool& is_whole) {
  place.take('-');
  if (!place.take('0') && !place.skip_digits()) return false;
  is_whole = true;
  if (place.take('.')) {
    is_whole = false;
    if (!place.skip_digits()) return false;
  }
  if (place.now() == 'e' || place.now() == 'E') {
    is_whole = false;
    place.next();
    if (!place.take('+')) place.take('-');
    if (!place.skip_digits()) return false;
  }
  return true;
}

template <typename Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

/// An array that may be taken out.
struct Found {
  std::size_t end = 0;  ///< behind it, or where it was seen to be none
  std::size_t count = 0;
  bool is_whole = true;
  bool is_taken = false;
};

/// How many there are at each depth, of the part that is open and of those before it.
class Nest {
 public:
  bool open() {
    if (depth_ == kDeepest) return false;
    if (depth_ > 0) ++counts_[depth_ - 1];
    counts_[depth_++] = 0;
    return lowest_ == 0 || depth_ <= lowest_;
  }
  bool close() {
    std::size_t& before = sizes_[--depth_];
    const std::size_t size = counts_[depth_];
    if (size == 0 || (before != 0 && before != size)) return false;
    before = size;
    return true;
  }
  /// Numbers stand at one depth alone.
  bool number() {
    ++counts_[depth_ - 1];
    if (lowest_ == 0) lowest_ = depth_;
    return lowest_ == depth_;
  }
  [[nodiscard]] bool is_closed() const { return depth_ == 0; }

 private:
  std::array<std::size_t, kDeepest> counts_{};
  std::array<std::size_t, kDeepest> sizes_{};
  std::size_t depth_ = 0;
  std::size_t lowest_ = 0;
};

/// What begins with the bracket at `begin`.
Found look(std::string_view text, std::size_t begin) {
  Place place(text, begin);
  Found found;
  Nest nest;
  const auto stop = [&] {
    found.end = place.at();
    return found;
  };
  for (;;) {
    place.skip_spaces();
    while (place.take('[')) {
      if (!nest.open()) return stop();
      place.skip_spaces();
    }
    bool is_whole = false;
    const std::size_t start = place.at();
    if (!skip_number(place, is_whole) || !nest.number()) {
      found.end = start;
      return found;
    }
    found.is_whole = found.is_whole && is_whole;
    ++found.count;
    place.skip_spaces();
    while (place.take(']')) {
      if (!nest.close()) return stop();
      if (nest.is_closed()) {
        found.is_taken = true;
        return stop();
      }
      place.skip_spaces();
    }
    if (!place.take(',')) return stop();
  }
}

/// The numbers of what look() found; none where one is too large.
std::optional<JsonNumbers> numbers_of(std::string_view array, const Found& found) {
  JsonNumbers numbers;
  if (found.is_whole)
    numbers.integers.reserve(found.count);
  else
    numbers.reals.reserve(found.count);
  for (std::size_t at = 0; at < array.size();) {
    if (array[at] != '-' && !is_digit(array[at])) {
      ++at;
      continue;
    }
    Place place(array, at);
    bool is_whole = false;
    static_cast<void>(skip_number(place, is_whole));
    const std::string_view text = array.substr(at, place.at() - at);
    at = place.at();
    std::int64_t integer = 0;
    double real = 0;
    if (is_whole && !read(text, integer)) return std::nullopt;
    if (found.is_whole) {
      numbers.integers.push_back(integer);
      continue;
    }
    if (is_whole)
      real = static_cast<double>(integer);  // -0 is 0, as an integer
    else if (!read(text, real))
      return std::nullopt;
    numbers.reals.push_back(real);
  }
  return numbers;
}

/// Whether a member "data" begins at the bracket that follows `before`.
bool is_data(std::string_view before) {
  const auto trim = [&] {
    while (!before.empty() && is_space(before.back())) before.remove_suffix(1);
  };
  trim();
  if (!before.ends_with(':')) return false;
  before.remove_suffix(1);
  trim();
  return before.ends_with(kMember);
}

/// Behind the text whose first quotation mark is at `begin`.
std::size_t behind_text(std::string_view document, std::size_t begin) {
  for (std::size_t at = begin + 1; at < document.size(); ++at) {
    if (document[at] == '\\')
      ++at;
    else if (document[at] == '"')
      return at + 1;
  }
  return document.size();
}

template <typename Number>
std::string joined(std::span<const Number> numbers) {
  std::string text = "[";
  std::array<char, 32> one{};
  for (const Number number : numbers) {
    const char* const end = std::to_chars(one.data(), one.data() + one.size(), number).ptr;
    const std::string_view digits(one.data(), static_cast<std::size_t>(end - one.data()));
    text += digits;
    if constexpr (std::is_floating_point_v<Number>) {
      if (digits.find_first_of(".e") == digits.npos) text += ".0";
    }
    text += ',';
  }
  if (text.size() > 1) text.pop_back();
  text += ']';
  return text;
}

}  // namespace

JsonParts take_numbers(std::string_view document, std::string_view mark, std::size_t least) {
  JsonParts parts;
  std::size_t kept = 0;  // up to there it is in the rest
  for (std::size_t at = 0; at < document.size();) {
    if (document[at] == '"') {
      at = behind_text(document, at);
      continue;
    }
    if (document[at] != '[' || !is_data(document.substr(0, at))) {
      ++at;
      continue;
    }
    const Found found = look(document, at);
    const std::string_view array = document.substr(at, found.end - at);
    std::optional<JsonNumbers> numbers;
    if (found.is_taken && found.count >= least) numbers = numbers_of(array, found);
    if (numbers) {
      parts.rest += document.substr(kept, at - kept);
      parts.rest.append("\"").append(mark).append(std::to_string(parts.arrays.size())).append("\"");
      parts.arrays.push_back(std::move(*numbers));
      kept = found.end;
    }
    at = std::max(found.end, at + 1);
  }
  parts.rest += document.substr(kept);
  return parts;
}

std::optional<JsonNumbers> numbers_at(std::string_view document, std::size_t& at) {
  const Found found = look(document, at);
  if (!found.is_taken) return std::nullopt;
  std::optional<JsonNumbers> numbers = numbers_of(document.substr(at, found.end - at), found);
  at = found.end;
  return numbers;
}

std::string json_of(std::span<const double> numbers) { return joined(numbers); }
std::string json_of(std::span<const std::int64_t> numbers) { return joined(numbers); }
std::string json_of(std::span<const std::uint64_t> numbers) { return joined(numbers); }

}  // namespace engine
