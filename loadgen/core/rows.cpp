#include "rows.hpp"

#include <algorithm>

namespace loadgen {

std::uint32_t Rows::begin(std::int64_t intended, std::int64_t sent) {
  intended_ns.push_back(intended);
  sent_ns.push_back(sent);
  done_ns.push_back(0);
  kind.push_back(unfinished);
  return static_cast<std::uint32_t>(kind.size() - 1);
}

void Rows::finish(std::uint32_t row, std::int64_t done, std::string_view name,
                  std::string_view message) {
  done_ns[row] = done;
  kind[row] = name.empty() ? std::int16_t{0} : code(name, message);
}

std::int16_t Rows::code(std::string_view name, std::string_view message) {
  const auto found = std::find(kinds.begin(), kinds.end(), name);
  const auto place = found - kinds.begin();
  if (found == kinds.end()) {
    kinds.emplace_back(name);
    messages.emplace_back(message);
  }
  return static_cast<std::int16_t>(1 + place);
}

}  // namespace loadgen
