// The kinds of devices: to add one, a file like cpu/cpu_kind.cpp and a line in kinds.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "devices/device.hpp"
#include "devices/params.hpp"

namespace engine {

class Machine;

/// What a device is opened among.
struct Opening {
  std::span<const DeviceParams> all;                 ///< of the machine
  std::uint32_t place;                               ///< which of them
  std::span<const std::unique_ptr<Device>> earlier;  ///< those before it, opened
  Machine& machine;                                  ///< not used before Device::start()

  [[nodiscard]] const DeviceParams& params() const { return all[place]; }
};

/// How devices of a kind are checked and opened; all throw std::invalid_argument naming the device
/// and the bad field.
struct DeviceKind {
  std::string name;
  std::unique_ptr<Device> (*open)(const Opening& opening);
  void (*check)(const DeviceParams& params) = nullptr;
  /// All devices of a machine that has one of this kind.
  void (*check_together)(std::span<const DeviceParams> all) = nullptr;
  /// Whether its values lie in the host's memory and are only said to lie elsewhere.
  bool emulates_memory = false;
};

/// The kind of a device. Throws std::invalid_argument if there is none of that name.
[[nodiscard]] const DeviceKind& kind_of(const DeviceParams& params);
/// Knows a further kind from now on; for those that are not ours. Thread-safe. Throws
/// std::invalid_argument if there is one of that name.
void add_kind(DeviceKind kind);

// Ours, each in its folder.
[[nodiscard]] DeviceKind cpu_kind();
[[nodiscard]] DeviceKind emulated_kind();
[[nodiscard]] DeviceKind plugin_kind();
namespace cuda {
[[nodiscard]] DeviceKind cuda_kind();
}  // namespace cuda

}  // namespace engine
