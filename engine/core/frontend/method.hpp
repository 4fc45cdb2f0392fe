// What a call asks for, as far as it is answered without Python.
#pragma once

#include <cstdint>
#include <string_view>

namespace engine::frontend {

/// What is answered here; of `other` Python knows.
enum class Method : std::uint8_t {
  infer,
  stream_infer,
  live,
  server_ready,
  model_ready,
  health,
  other
};

/// Of gRPC's path.
[[nodiscard]] Method method_of(std::string_view path) noexcept;

}  // namespace engine::frontend
