// What all that llhttp calls have in common.
#pragma once

#include <llhttp.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string_view>

namespace engine::http1 {

[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

/// Whether a text is that one, which is of small letters.
[[nodiscard]] inline bool same(std::string_view text, std::string_view small) noexcept {
  return std::ranges::equal(text, small, [](char a, char b) { return lower(a) == b; });
}

/// Members of who parses as llhttp's callbacks; what returns false ends the parser. No exception
/// passes through the library: `Parsing::has_no_memory()` hears of them.
template <typename Parsing>
struct LlhttpCalls {
  template <bool (Parsing::*Take)(std::string_view)>
  static int text(llhttp_t* parser, const char* at, std::size_t bytes) {
    return guarded(parser, [&](Parsing& self) { return (self.*Take)({at, bytes}); });
  }
  template <bool (Parsing::*Take)()>
  static int moment(llhttp_t* parser) {
    return guarded(parser, [](Parsing& self) { return (self.*Take)(); });
  }

 private:
  template <typename Action>
  static int guarded(llhttp_t* parser, Action&& action) noexcept {
    Parsing& self = *static_cast<Parsing*>(parser->data);
    try {
      return action(self) ? HPE_OK : HPE_USER;
    } catch (const std::exception&) {
      self.has_no_memory();
      return HPE_USER;
    }
  }
};

}  // namespace engine::http1
