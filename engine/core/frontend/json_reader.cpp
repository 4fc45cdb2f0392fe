#include "frontend/json_reader.hpp"

#include <charconv>

namespace engine::frontend {

void JsonReader::skip_spaces() noexcept {
  while (at_ < document_.size()) {
    const char c = document_[at_];
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return;
    ++at_;
  }
}

bool JsonReader::take(char wanted) noexcept {
  skip_spaces();
  if (at_ == document_.size() || document_[at_] != wanted) return false;
  ++at_;
  return true;
}

bool JsonReader::take(std::string_view wanted) noexcept {
  skip_spaces();
  if (!document_.substr(at_).starts_with(wanted)) return false;
  at_ += wanted.size();
  return true;
}

bool JsonReader::text(std::string_view& found) noexcept {
  if (!take('"')) return false;
  const std::size_t begin = at_;
  for (; at_ < document_.size(); ++at_) {
    const char c = document_[at_];
    if (c == '"') {
      found = document_.substr(begin, at_++ - begin);
      return true;
    }
    if (c < ' ' || c > '~' || c == '\\') return false;
  }
  return false;
}

bool JsonReader::whole_number(std::int64_t& found) noexcept {
  skip_spaces();
  const std::string_view left = document_.substr(at_);
  const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), found);
  if (error != std::errc{}) return false;
  const auto length = static_cast<std::size_t>(end - left.data());
  const std::string_view digits = left.substr(left.front() == '-' ? 1 : 0, length);
  const bool is_padded =
      digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
  const bool goes_on = length < left.size() && (left[length] == '.' || (left[length] | 32) == 'e');
  at_ += length;
  return !is_padded && !goes_on;
}

bool JsonReader::boolean(bool& found) noexcept {
  found = take("true");
  return found || take("false");
}

bool JsonReader::numbers(std::optional<JsonNumbers>& found) {
  skip_spaces();
  if (at_ == document_.size() || document_[at_] != '[') return false;
  found = numbers_at(document_, at_);
  return found.has_value();
}

bool JsonReader::skip() noexcept {
  skip_spaces();
  const std::size_t begin = at_;
  for (std::size_t depth = 0; at_ < document_.size(); ++at_) {
    switch (document_[at_]) {
      case '"':
        at_ = document_.find('"', at_ + 1);
        if (at_ == document_.npos) return false;
        break;
      case '[':
      case '{':
        ++depth;
        break;
      case ']':
      case '}':
        if (depth-- == 0) return at_ > begin;
        break;
      case ',':
        if (depth == 0) return at_ > begin;
        break;
      default:
        break;
    }
  }
  return false;  // a document ends with what it is in
}

}  // namespace engine::frontend
