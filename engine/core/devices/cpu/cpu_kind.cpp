#include "devices/cpu/cpu_device.hpp"
#include "devices/kinds.hpp"

namespace engine {

/// The first CPU of a machine is the one whose lanes callers may take.
DeviceKind cpu_kind() {
  return {.name = "cpu", .open = [](const Opening& opening) -> std::unique_ptr<Device> {
            const DeviceParams& params = opening.params();
            bool helps = true;
            for (const auto& device : opening.earlier) helps = helps && device->helper() == nullptr;
            return std::make_unique<CpuDevice>(params.name, params.lanes, opening.place,
                                               opening.machine, helps);
          }};
}

}  // namespace engine
