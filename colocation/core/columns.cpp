#include "columns.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace colocation {

namespace {

constexpr double kUnworthy = 1e3;
constexpr double kLeastGain = 1e-3;
constexpr double kLeastGood = 0.3;

double number(std::int64_t value) { return static_cast<double>(value); }

/// As Python rounds: halves to even.
Ns rounded(double value) { return static_cast<Ns>(std::nearbyint(value)); }

}  // namespace

Found ColumnChoice::of_service(Count service, const Queue& queue, const DeviceRoom& room,
                               Ns now_ns) {
  const Waiter head = queue.at(0);
  const Ns slack_ns = head.deadline_ns - now_ns;
  const double mean = market_.means[at(service)];
  if (pressed(service))
    if (const auto found = regrouped(service, queue, head, room, now_ns)) return *found;
  Fastest found = fastest_for_its_share(service, queue, head, room,
                                        number(slack_ns) / market_.bounds[at(service)]);
  if (!found.place)
    found = fastest_for_its_share(service, queue, head, room, number(slack_ns) / mean);
  if (!found.place) {
    Ns took_ns = std::numeric_limits<Ns>::max();
    for (const SharePlace& place : *room.places(service))
      took_ns = std::min(took_ns,
                         times_.alone_ns(service, head.items, head.sequence, place.share_percent));
    return Hopeless{service, now_ns + rounded(number(took_ns) * mean)};
  }
  if (!found.partition) {
    const double worth = score(service, found.place->share_percent, found.fitting, slack_ns, 0.0);
    return Wish{worth, service, task(service, head.deadline_ns, *found.place, found.fitting)};
  }
  return column(service, queue, head, room, found, now_ns);
}

std::optional<Ns> ColumnChoice::wait_until(const Queue& queue, const Column& column, Ns now_ns) {
  if (params_.fill == 0.0) return std::nullopt;
  const Waiter head = queue.at(0);
  const auto row = times_.row(column.service, head.items, head.sequence, column.task.share_percent,
                              column.full * head.items);
  const double full_ns = number(row[at(column.full - 1)]) * market_.bounds[at(column.service)];
  const double spare_ns = number(head.deadline_ns) - full_ns - number(head.arrival_ns);
  const Ns until_ns = head.arrival_ns + rounded(params_.fill * spare_ns);
  if (until_ns <= now_ns) return std::nullopt;
  return until_ns;
}

std::optional<Ns> ColumnChoice::too_dear_until(const Column& column, Ns now_ns) const {
  const WaitingBatch& task = column.task;
  const std::size_t service = at(column.service);
  if (params_.thrift == 0.0) return std::nullopt;
  const double work = number(task.share_percent * task.took_ns) / number(column.size);
  if (work <= params_.thrift * market_.works[service]) return std::nullopt;
  const Ns latest_ns = task.deadline_ns - rounded(number(task.took_ns) * market_.bounds[service] /
                                                  market_.means[service]);
  // A shift rounds down as Python's division does, below zero too.
  const Ns until_ns = (now_ns + latest_ns) >> 1;
  if (until_ns <= now_ns + task.took_ns / 8) return std::nullopt;
  return until_ns;
}

ColumnChoice::Fastest ColumnChoice::fastest_for_its_share(Count service, const Queue& queue,
                                                          const Waiter& head,
                                                          const DeviceRoom& room, double limit_ns) {
  Fastest best;
  double most = 0.0;
  for (const SharePlace& place : *room.places(service)) {
    const Count share = place.share_percent;
    const FittingBatch fitting =
        times_.longest(service, queue, head, std::max(place.batch, head.items), share, limit_ns);
    if (fitting.size == 0) continue;
    std::optional<Count> partition;
    if (share <= room.free_percent()) partition = room.free_partition(place);
    if (best.partition && !partition) continue;
    const double value =
        number(fitting.size) / (params_.costs[at(share)] * number(fitting.took_ns));
    const bool freer = partition && !best.partition;
    if (!best.place || freer || value > most) {
      best = {&place, partition, fitting};
      most = value;
    }
  }
  return best;
}

std::optional<Column> ColumnChoice::regrouped(Count service, const Queue& queue, const Waiter& head,
                                              const DeviceRoom& room, Ns now_ns) {
  const SharePlace* best = nullptr;
  Count free = 0;
  QueueWindow taken;
  double most = 0.0;
  for (const SharePlace& place : *room.places(service)) {
    const Count share = place.share_percent;
    if (share > room.free_percent()) continue;
    const auto partition = room.free_partition(place);
    if (!partition) continue;
    const auto own = window(service, queue, head, place, now_ns);
    if (!own || holds_much(service, share, *own)) continue;
    const double gain = number(own->size) - kLeastLost * number(own->skipped);
    const double value = gain / (params_.costs[at(share)] * number(own->took_ns));
    if (!best || value > most) {
      best = &place;
      free = *partition;
      taken = *own;
      most = value;
    }
  }
  if (!best) return std::nullopt;
  return sized(service, queue, head, room, *best, free, taken, now_ns);
}

bool ColumnChoice::holds_much(Count service, Count share, const QueueWindow& window) const {
  const double took_ns = number(window.took_ns) * market_.means[at(service)];
  const double good = number(window.size) * market_.works[at(service)];
  return good < kLeastGood * number(share) * took_ns;
}

Column ColumnChoice::column(Count service, const Queue& queue, const Waiter& head,
                            const DeviceRoom& room, const Fastest& found, Ns now_ns) {
  const SharePlace& place = *found.place;
  const FittingBatch& fitting = found.fitting;
  const Count most = std::max<Count>(1, std::max(place.batch, head.items) / head.items);
  std::optional<QueueWindow> own;
  if (fitting.size < std::min(queue.size(), most))
    own = window(service, queue, head, place, now_ns);
  if (!own) own = QueueWindow{0, fitting.size, fitting.took_ns, head.deadline_ns};
  return sized(service, queue, head, room, place, *found.partition, *own, now_ns);
}

Column ColumnChoice::sized(Count service, const Queue& queue, const Waiter& head,
                           const DeviceRoom& room, const SharePlace& place, Count partition,
                           const QueueWindow& window, Ns now_ns) {
  const Count share = place.share_percent;
  const Ns slack_ns = window.deadline_ns - now_ns;
  const Count left = room.left_percent(share);
  FittingBatch best{window.size, window.took_ns};
  double most = score(service, share, best, slack_ns, loss(service, best, left));
  bool has_row = false;
  for (Count count = window.size / 2; count && loss(service, best, left) != 0.0; count /= 2) {
    if (!has_row)
      times_.prefixes_of(service, queue, window.skipped, window.size,
                         std::max(place.batch, head.items), share, row_);
    has_row = true;
    const FittingBatch shorter{count, row_[at(count - 1)]};
    const double own = score(service, share, shorter, slack_ns, loss(service, shorter, left));
    if (own > most) best = shorter, most = own;
  }
  const Count full = std::max<Count>(1, place.batch / head.items);
  return {most,      service,        task(service, window.deadline_ns, place, best),
          partition, window.skipped, best.size,
          full};
}

std::optional<QueueWindow> ColumnChoice::window(Count service, const Queue& queue,
                                                const Waiter& head, const SharePlace& place,
                                                Ns now_ns) {
  const double per_work =
      pressed(service) ? market_.pressed_per_work(at(service)) : market_.per_work;
  if (per_work == 0.0 || !params_.skip) return std::nullopt;
  const Count share = place.share_percent;
  const Count most_items = std::max(place.batch, head.items);
  prefixes(service, queue, head, most_items, share);
  const Count longest = queue.alike() ? static_cast<Count>(row_.size()) : most_items;
  const Worth worth{market_.values[at(service)], market_.profit(at(service), per_work),
                    per_work * number(share)};
  const WindowSearch search{
      times_, service, queue, share, most_items, longest, market_.bounds[at(service)], now_ns};
  return best_window(search, worth, row_);
}

bool ColumnChoice::pressed(Count service) const {
  return market_.given_up[at(service)] > params_.regroups_above;
}

void ColumnChoice::prefixes(Count service, const Queue& queue, const Waiter& head, Count most_items,
                            Count share) {
  if (!queue.alike()) {
    times_.prefixes_of(service, queue, 0, queue.size(), most_items, share, row_);
    return;
  }
  const auto row = times_.row(service, head.items, head.sequence, share, most_items);
  const Count most = std::max<Count>(1, most_items / head.items);
  row_.assign(row.begin(), row.begin() + most);
}

double ColumnChoice::loss(Count service, const FittingBatch& fitting, Count left_percent) const {
  if (params_.blocking == 0.0) return 0.0;
  const double took_ns = number(fitting.took_ns) * market_.means[at(service)];
  double lost = 0.0;
  for (const Patience& own : market_.patiences) {
    if (own.wait_ns >= took_ns) break;
    const std::size_t other = at(own.service);
    if (own.share_percent > left_percent)
      lost += market_.values[other] * market_.per_ns[other] * (took_ns - own.wait_ns);
  }
  return params_.blocking * (lost / number(market_.slots));
}

WaitingBatch ColumnChoice::task(Count service, Ns deadline_ns, const SharePlace& place,
                                const FittingBatch& fitting) const {
  const double value = market_.values[at(service)] * number(fitting.size);
  const Ns took_ns = rounded(number(fitting.took_ns) * market_.means[at(service)]);
  return {deadline_ns, value, place.share_percent, took_ns};
}

double ColumnChoice::score(Count service, Count share, const FittingBatch& fitting, Ns slack_ns,
                           double loss) const {
  const double took_ns = number(fitting.took_ns) * market_.means[at(service)];
  const double value = market_.values[at(service)] * number(fitting.size);
  const double gain = std::max(kLeastGain * value, value - loss);
  const double work = number(share) * took_ns;
  const double spare_ns = std::max(0.0, number(slack_ns) - took_ns);
  const double typical_ns = market_.mean_ns != 0.0 ? market_.mean_ns : took_ns;
  double found = std::log(gain / work) - spare_ns / (params_.patience * typical_ns);
  if (value < market_.per_work * work) found -= kUnworthy;
  return found;
}

}  // namespace colocation
