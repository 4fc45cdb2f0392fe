// What of each device is free, and where a service may start on it: as policies/surplus/rooms.py.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "types.hpp"

namespace colocation {

/// A share of a device on which a service may run, in any of some partitions.
struct SharePlace {
  Count share_percent = 0;
  Count batch = 0;
  std::vector<Count> partitions;
};

/// The places of a service, the smallest share first.
struct ServicePlaces {
  Count service = 0;
  std::vector<SharePlace> places;
};

/// What holds a share, until when it is predicted to, and a service of it.
struct HeldShare {
  Count partition = 0;
  Count share_percent = 0;
  Ns end_ns = 0;
  Count service = 0;
};

/// A device. `wishes` is what would have started at the last event, had there been more room;
/// partitions hold their share only while they run if they are on demand.
class DeviceRoom {
 public:
  DeviceRoom(Count device, bool on_demand, Count partitions, Count least_percent,
             std::vector<ServicePlaces> services, const std::vector<HeldShare>& running);

  [[nodiscard]] Count device() const noexcept { return device_; }
  [[nodiscard]] bool on_demand() const noexcept { return on_demand_; }
  [[nodiscard]] Count least_percent() const noexcept { return least_percent_; }
  /// In the order in which they are looked at.
  [[nodiscard]] const std::vector<ServicePlaces>& services() const noexcept { return services_; }
  /// Null if the service has no place here.
  [[nodiscard]] const std::vector<SharePlace>* places(Count service) const noexcept;

  [[nodiscard]] Count free_percent() const noexcept { return on_demand_ ? free_ : kFullPercent; }
  /// What is free beside one more batch.
  [[nodiscard]] Count left_percent(Count share_percent) const noexcept;
  [[nodiscard]] std::optional<Count> free_partition(const SharePlace& place) const noexcept;
  [[nodiscard]] std::optional<Ns> next_end_ns(Count service) const noexcept;
  /// Share of what runs now that will still run then.
  [[nodiscard]] Count held_after(Ns when_ns) const noexcept;
  [[nodiscard]] const std::vector<HeldShare>& running() const noexcept { return running_; }

  void started(const HeldShare& held);
  /// A partition that runs nothing changes nothing.
  void ended(Count partition);

  std::vector<Wish> wishes;

 private:
  [[nodiscard]] bool runs(Count partition) const noexcept;

  Count device_;
  bool on_demand_;
  Count partitions_;
  Count least_percent_;
  std::vector<ServicePlaces> services_;
  std::vector<std::optional<std::size_t>> where_;
  std::vector<HeldShare> running_;
  Count free_ = kFullPercent;
};

}  // namespace colocation
