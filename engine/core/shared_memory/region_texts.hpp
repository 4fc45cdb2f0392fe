// Words of errors about regions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace engine {

constexpr std::size_t most_region_name_bytes = 1024;

/// Of what clients send, as much as a name may have.
inline std::string quoted_region(std::string_view text) {
  return "'" + std::string(text.substr(0, most_region_name_bytes)) + "'";
}

inline std::string region_part(std::uint64_t bytes, std::uint64_t offset, std::uint64_t all) {
  return std::to_string(bytes) + " bytes from byte " + std::to_string(offset) + " on, of " +
         std::to_string(all);
}

}  // namespace engine
