#include "known_times.hpp"

#include <cstdint>

namespace colocation {

std::size_t KnownTimes::Hash::operator()(const TimesKey& key) const noexcept {
  std::uint64_t mixed = static_cast<std::uint64_t>(key.service * 101 + key.share);
  mixed = mixed * 1'000'003 + static_cast<std::uint64_t>(key.items);
  mixed = mixed * 1'000'003 + static_cast<std::uint64_t>(key.sequence);
  return static_cast<std::size_t>(mixed ^ (mixed >> 29));
}

std::vector<Ns>& KnownTimes::of(const TimesKey& key) {
  const std::size_t place = place_of(key.service, key.share);
  if (place >= last_.size()) last_.resize(place + 1);
  Last& last = last_[place];
  if (!last.times || last.key != key) last = {key, &all_[key]};
  return *last.times;
}

}  // namespace colocation
