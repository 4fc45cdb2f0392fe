// What a device is opened with.
#pragma once

#include <any>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace engine {

/// One device of a machine: what all kinds have, and what its kind alone has.
struct DeviceParams {
  std::string kind = "cpu";  ///< a name of the registry (devices/kinds.hpp)
  std::string name = "cpu";
  int lanes = 1;
  std::size_t memory_bytes = 0;  ///< 0: unlimited
  std::any own = {};             ///< its kind's params, or nothing: their defaults

  /// The params of its kind, to be changed.
  template <typename Params>
  [[nodiscard]] Params& of() {
    if (!own.has_value()) own = Params{};
    return std::any_cast<Params&>(own);
  }
  /// A copy of them. Throws std::invalid_argument if they are another kind's.
  template <typename Params>
  [[nodiscard]] Params get() const {
    if (!own.has_value()) return Params{};
    if (const auto* found = std::any_cast<Params>(&own)) return *found;
    throw std::invalid_argument("device '" + name + "': parameters of another kind");
  }
  /// Throws std::invalid_argument naming the device unless `holds`.
  void require(bool holds, const std::string& what) const {
    if (!holds) throw std::invalid_argument("device '" + name + "': " + what);
  }
};

}  // namespace engine
