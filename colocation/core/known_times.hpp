// Times that were asked for, by what they are of.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "types.hpp"

namespace colocation {

/// Where lists by service and share have one.
[[nodiscard]] constexpr std::size_t place_of(Count service, Count share) noexcept {
  return static_cast<std::size_t>(service * (kFullPercent + 1) + share);
}

/// Batches of a service on a share; `items` of a query, or 0 where that is no matter.
struct TimesKey {
  Count service = 0, items = 0, sequence = 0, share = 0;
  bool operator==(const TimesKey&) const = default;
};

/// Lists of times. Those of the key that was asked for last are found without a search, for each
/// service and share: that is nearly always the one that is asked for. One thread.
class KnownTimes {
 public:
  /// Empty at first; valid as long as this.
  [[nodiscard]] std::vector<Ns>& of(const TimesKey& key);

 private:
  struct Hash {
    std::size_t operator()(const TimesKey& key) const noexcept;
  };
  struct Last {
    TimesKey key;
    std::vector<Ns>* times = nullptr;
  };

  std::unordered_map<TimesKey, std::vector<Ns>, Hash> all_;
  std::vector<Last> last_;
};

}  // namespace colocation
