#include "frontend/rest_skim.hpp"

#include <functional>

#include "frontend/json_reader.hpp"
#include "frontend/rest_request.hpp"

namespace engine::frontend {

namespace {

/// A number or a text, as a number that the same sequence always has.
bool read_sequence(JsonReader& json, std::uint64_t& found) noexcept {
  std::int64_t number = 0;
  if (std::string_view name; json.text(name)) {
    found = name.empty() ? 0 : std::hash<std::string_view>{}(name) | 1;
    return true;
  }
  if (!json.whole_number(number)) return false;
  found = static_cast<std::uint64_t>(number);
  return true;
}

bool read_parameters(JsonReader& json, RestSkim& found) {
  SeenMembers seen;
  return json.object([&](std::string_view name) {
    if (name == "timeout")
      return seen.note(0) && json.whole_number(found.timeout_us) && found.timeout_us >= 0;
    if (name == "sequence_id") return seen.note(1) && read_sequence(json, found.sequence);
    return json.skip();
  });
}

}  // namespace

std::optional<RestSkim> skimmed(const Rest& rest, Bytes body) {
  const std::optional<std::size_t> length = document_bytes(rest, body);
  if (!length || *length > most_skimmed_bytes) return std::nullopt;
  const std::string_view document = text_of(body.first(*length));
  if (document.find('\\') != document.npos ||
      document.find("shared_memory_region") != document.npos)
    return std::nullopt;
  RestSkim found;
  SeenMembers seen;
  JsonReader json(document);
  const bool is_plain = json.object([&](std::string_view name) {
    if (name == "id") return seen.note(0) && json.text(found.id);
    if (name == "parameters") return seen.note(1) && read_parameters(json, found);
    return json.skip();
  });
  return is_plain && json.at_end() ? std::optional(found) : std::nullopt;
}

}  // namespace engine::frontend
