// Which GPU a thread's calls are about.
#pragma once

#include "devices/cuda/api.hpp"

namespace engine::cuda {

/// The calling thread's current one. Throws Error.
[[nodiscard]] inline int current_device(const Api& api) {
  int device = 0;
  api.get_device(&device);
  return device;
}

/// Makes a GPU the current one for a while, for threads that are not its own: what they free may be
/// of any GPU, and a call that finds a lost one current fails. Does not throw: where it cannot be
/// changed it stays.
class DeviceScope {
 public:
  DeviceScope(const Api& api, int device) noexcept : api_(api) {
    is_changed_ =
        api.get_device.code(&before_) == 0 && before_ != device && api.set_device.code(device) == 0;
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  ~DeviceScope() {
    if (is_changed_) api_.set_device.code(before_);
  }

 private:
  const Api& api_;
  int before_ = 0;
  bool is_changed_ = false;
};

}  // namespace engine::cuda
