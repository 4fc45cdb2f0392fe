#include "batch_times.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace colocation {

Count bisect_right(std::span<const Ns> times, double limit_ns) {
  std::size_t low = 0, high = times.size();
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (limit_ns < static_cast<double>(times[middle]))
      high = middle;
    else
      low = middle + 1;
  }
  return static_cast<Count>(low);
}

std::size_t BatchTimes::Hash::operator()(const Key& key) const noexcept {
  std::uint64_t mixed = static_cast<std::uint64_t>(key.service * 101 + key.share);
  mixed = mixed * 1'000'003 + static_cast<std::uint64_t>(key.items);
  mixed = mixed * 1'000'003 + static_cast<std::uint64_t>(key.sequence);
  return static_cast<std::size_t>(mixed ^ (mixed >> 29));
}

std::vector<Ns>& BatchTimes::known(Count service, Count sequence, Count share) {
  return known_[{service, 0, sequence, share}];
}

Ns BatchTimes::alone_ns(std::vector<Ns>& known, Count service, Count items, Count sequence,
                        Count share) {
  const auto place = static_cast<std::size_t>(items);
  if (place < known.size() && known[place] != 0) return known[place];
  const Ns took_ns = alone_(service, items, sequence, share);
  if (place >= known.size()) known.resize(place + 1);
  return known[place] = took_ns;
}

Ns BatchTimes::alone_ns(Count service, Count items, Count sequence, Count share) {
  return alone_ns(known(service, sequence, share), service, items, sequence, share);
}

std::span<const Ns> BatchTimes::row(Count service, Count items, Count sequence, Count share,
                                    Count most_items) {
  const Key key{service, items, sequence, share};
  const auto most = static_cast<std::size_t>(std::max<Count>(1, most_items / items));
  const auto found = rows_.find(key);
  if (found != rows_.end() && found->second.size() >= most) return found->second;
  std::vector<Ns> times;
  times.reserve(most);
  Ns longest_ns = 0;
  for (std::size_t count = 1; count <= most; ++count) {
    const Count together = static_cast<Count>(count) * items;
    longest_ns = std::max(longest_ns, alone_(service, together, sequence, share));
    times.push_back(longest_ns);
  }
  return rows_[key] = std::move(times);
}

FittingBatch BatchTimes::longest(Count service, const Queue& queue, const Waiter& head,
                                 Count most_items, Count share, double limit_ns) {
  if (!queue.alike()) return unlike(service, queue, most_items, share, limit_ns);
  const auto times = row(service, head.items, head.sequence, share, most_items);
  const Count most = std::min(queue.size(), std::max<Count>(1, most_items / head.items));
  const Count count = bisect_right(times.first(static_cast<std::size_t>(most)), limit_ns);
  if (count == 0) return {};
  return {count, times[static_cast<std::size_t>(count - 1)]};
}

void BatchTimes::prefixes_of(Count service, const Queue& queue, Count first, Count count,
                             Count most_items, Count share, std::vector<Ns>& times) {
  times.clear();
  Count items = 0, sequence = -1;
  std::vector<Ns>* own = nullptr;
  const Count last = std::min(queue.size(), first + count);
  for (Count place = first; place < last; ++place) {
    const Waiter query = queue.at(place);
    items += query.items;
    if (items > most_items && !times.empty()) break;
    if (query.sequence > sequence) own = &known(service, sequence = query.sequence, share);
    times.push_back(alone_ns(*own, service, items, sequence, share));
  }
}

FittingBatch BatchTimes::unlike(Count service, const Queue& queue, Count most_items, Count share,
                                double limit_ns) {
  FittingBatch found;
  Count items = 0, sequence = -1;
  std::vector<Ns>* own = nullptr;
  for (Count place = 0; place < queue.size(); ++place) {
    const Waiter query = queue.at(place);
    items += query.items;
    if (items > most_items && place > 0) break;
    if (query.sequence > sequence) own = &known(service, sequence = query.sequence, share);
    const Ns took_ns = alone_ns(*own, service, items, sequence, share);
    if (static_cast<double>(took_ns) > limit_ns) break;
    found = {place + 1, took_ns};
  }
  return found;
}

}  // namespace colocation
