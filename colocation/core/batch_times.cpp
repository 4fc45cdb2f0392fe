#include "batch_times.hpp"

#include <algorithm>
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

std::vector<Ns>& BatchTimes::known(Count service, Count sequence, Count share) {
  return known_.of({service, 0, sequence, share});
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
  const auto most = static_cast<std::size_t>(std::max<Count>(1, most_items / items));
  std::vector<Ns>& own = rows_.of({service, items, sequence, share});
  if (own.size() >= most) return own;
  std::vector<Ns> times;
  times.reserve(most);
  Ns longest_ns = 0;
  for (std::size_t count = 1; count <= most; ++count) {
    const Count together = static_cast<Count>(count) * items;
    longest_ns = std::max(longest_ns, alone_(service, together, sequence, share));
    times.push_back(longest_ns);
  }
  return own = std::move(times);
}

FittingBatch BatchTimes::longest(Count service, const Queue& queue, const Waiter& head,
                                 Count most_items, Count share, double limit_ns) {
  const std::size_t place = place_of(service, share);
  if (place >= fits_.size()) fits_.resize(place + 1);
  Fit& own = fits_[place];
  const std::uint64_t version = queue.version();
  if (own.version != version || own.most_items != most_items || own.limit_ns != limit_ns) {
    const FittingBatch found = queue.alike()
                                   ? alike(service, queue, head, most_items, share, limit_ns)
                                   : unlike(service, queue, most_items, share, limit_ns);
    own = {version, most_items, limit_ns, found};
  }
  return own.fitting;
}

FittingBatch BatchTimes::alike(Count service, const Queue& queue, const Waiter& head,
                               Count most_items, Count share, double limit_ns) {
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
    const Waiter& query = queue.at(place);
    items += query.items;
    if (items > most_items && !times.empty()) break;
    if (query.sequence > sequence) own = &known(service, sequence = query.sequence, share);
    times.push_back(alone_ns(*own, service, items, sequence, share));
  }
}

FittingBatch BatchTimes::unlike(Count service, const Queue& queue, Count most_items, Count share,
                                double limit_ns) {
  FittingBatch found;
  Count sequence = -1;
  std::vector<Ns>* own = nullptr;
  const Count size = queue.size();
  for (Count place = 0; place < size; ++place) {
    const Waiter& last = queue.at(place);
    if (last.items_together > most_items && place > 0) break;
    if (last.longest_sequence > sequence)
      own = &known(service, sequence = last.longest_sequence, share);
    const Ns took_ns = alone_ns(*own, service, last.items_together, sequence, share);
    if (static_cast<double>(took_ns) > limit_ns) break;
    found = {place + 1, took_ns};
  }
  return found;
}

}  // namespace colocation
