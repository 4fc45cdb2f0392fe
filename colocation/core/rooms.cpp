#include "rooms.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace colocation {

DeviceRoom::DeviceRoom(Count device, bool on_demand, Count partitions, Count least_percent,
                       std::vector<ServicePlaces> services, const std::vector<HeldShare>& running)
    : device_(device),
      on_demand_(on_demand),
      partitions_(partitions),
      least_percent_(least_percent),
      services_(std::move(services)) {
  for (std::size_t place = 0; place < services_.size(); ++place) {
    const auto service = static_cast<std::size_t>(services_[place].service);
    if (where_.size() <= service) where_.resize(service + 1);
    where_[service] = place;
  }
  for (const HeldShare& held : running) started(held);
}

const std::vector<SharePlace>* DeviceRoom::places(Count service) const noexcept {
  const auto index = static_cast<std::size_t>(service);
  if (index >= where_.size() || !where_[index]) return nullptr;
  return &services_[*where_[index]].places;
}

Count DeviceRoom::left_percent(Count share_percent) const noexcept {
  if (on_demand_) return free_ - share_percent;
  return static_cast<Count>(running_.size()) + 1 >= partitions_ ? 0 : kFullPercent;
}

std::optional<Count> DeviceRoom::free_partition(const SharePlace& place) const noexcept {
  for (const Count partition : place.partitions)
    if (!runs(partition)) return partition;
  return std::nullopt;
}

std::optional<Ns> DeviceRoom::next_end_ns(Count service) const noexcept {
  std::optional<Ns> first;
  for (const HeldShare& held : running_)
    if (held.service == service && (!first || held.end_ns < *first)) first = held.end_ns;
  return first;
}

Count DeviceRoom::held_after(Ns when_ns) const noexcept {
  Count held_percent = 0;
  for (const HeldShare& held : running_)
    if (held.end_ns > when_ns) held_percent += held.share_percent;
  return held_percent;
}

void DeviceRoom::started(const HeldShare& held) {
  ended(held.partition);
  running_.push_back(held);
  free_ -= held.share_percent;
}

void DeviceRoom::ended(Count partition) {
  const auto own = std::find_if(running_.begin(), running_.end(),
                                [&](const HeldShare& held) { return held.partition == partition; });
  if (own == running_.end()) return;
  free_ += own->share_percent;
  running_.erase(own);
}

bool DeviceRoom::runs(Count partition) const noexcept {
  return std::any_of(running_.begin(), running_.end(),
                     [&](const HeldShare& held) { return held.partition == partition; });
}

}  // namespace colocation
