#include "memory/refused.hpp"

namespace engine {

MemoryRefused::MemoryRefused(std::size_t bytes)
    : text_(std::to_string(bytes) + " bytes more are " + std::string(kText)) {}

bool MemoryRefused::is_said_by(std::string_view text) noexcept {
  return text.find(kText) != std::string_view::npos;
}

std::string MemoryRefused::cut_from(std::string_view text) {
  static constexpr std::string_view before = " bytes more are ";
  const std::size_t end = text.find(kText);
  if (end == std::string_view::npos || end < before.size()) return std::string(text);
  std::size_t begin = end - before.size();
  while (begin > 0 && text[begin - 1] >= '0' && text[begin - 1] <= '9') --begin;
  return std::string(text.substr(begin, end + kText.size() - begin));
}

}  // namespace engine
