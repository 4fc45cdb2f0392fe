#include "devices/emulated/emulated_device.hpp"
#include "devices/kinds.hpp"

namespace engine {

namespace {

constexpr const char* kind_name = "emulated";

LinkParams from_host(const EmulatedParams& params) {
  return {params.h2d_latency_ns, params.h2d_bytes_per_s, params.h2d_occupancy_ns,
          params.staging_bytes, params.pageable};
}

LinkParams to_host(const EmulatedParams& params) {
  return {params.d2h_latency_ns, params.d2h_bytes_per_s, params.d2h_occupancy_ns,
          params.staging_bytes, params.pageable};
}

/// From one device to another: down, then up.
LinkParams through_host(const LinkParams& down, const LinkParams& up) {
  LinkParams both = up;
  both.latency_ns += down.latency_ns;
  both.occupancy_ns += down.occupancy_ns;
  both.bytes_per_s = 1 / (1 / down.bytes_per_s + 1 / up.bytes_per_s);
  return both;
}

/// The links whose copies the device runs: from the host, to it, and from each device.
std::vector<LinkParams> links_of(std::span<const DeviceParams> all, const EmulatedParams& device) {
  std::vector<LinkParams> links{from_host(device), to_host(device)};
  for (const DeviceParams& other : all)
    links.push_back(other.kind == kind_name
                        ? through_host(to_host(other.get<EmulatedParams>()), from_host(device))
                        : from_host(device));
  return links;
}

void check(const DeviceParams& params) {
  const auto own = params.get<EmulatedParams>();
  params.require(own.submit_ns >= 0 && own.first_run_ns >= 0,
                 "submit_ns and first_run_ns must be >= 0");
  params.require(own.h2d_latency_ns >= 0 && own.d2h_latency_ns >= 0, "copy latencies must be >= 0");
  params.require(own.h2d_bytes_per_s > 0 && own.d2h_bytes_per_s > 0, "copy bandwidths must be > 0");
  params.require(own.h2d_occupancy_ns >= 0 && own.d2h_occupancy_ns >= 0,
                 "copy occupancies must be >= 0");
  params.require(own.capture_ns >= 0, "capture_ns must be >= 0");
  for (const double factor : own.slowdown)
    params.require(factor > 0, "slowdown factors must be > 0");
}

std::unique_ptr<Device> open(const Opening& opening) {
  const DeviceParams& params = opening.params();
  auto links = links_of(opening.all, params.get<EmulatedParams>());
  return std::make_unique<EmulatedDevice>(params, std::move(links), opening.place, opening.machine);
}

}  // namespace

DeviceKind emulated_kind() {
  return {.name = kind_name, .open = open, .check = check, .emulates_memory = true};
}

}  // namespace engine
