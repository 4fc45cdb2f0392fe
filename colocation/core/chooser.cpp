#include "chooser.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace colocation {

namespace {

constexpr double kWeight = 0.1;

}  // namespace

Chooser::Chooser(Params params, std::vector<double> values, Alone alone)
    : params_(std::move(params)),
      market_(std::move(values)),
      times_(std::move(alone)),
      choice_(params_, market_, times_),
      wakes_(market_.values.size()) {}

void Chooser::set_rooms(std::vector<DeviceRoom> rooms) { rooms_ = std::move(rooms); }

void Chooser::set_patiences(std::vector<Patience> patiences, Count slots) {
  patiences_ = std::move(patiences);
  market_.slots = slots;
  set_prices(market_.per_work, std::move(market_.per_ns));
}

void Chooser::set_works(std::vector<double> works) { market_.works = std::move(works); }

void Chooser::set_prices(double per_work, std::vector<double> per_ns) {
  market_.per_work = per_work;
  market_.per_ns = std::move(per_ns);
  market_.patiences.clear();
  // Of whom nobody comes, nobody is made late: left out, such services cost no time.
  for (const Patience& own : patiences_)
    if (market_.per_ns[at(own.service)] != 0.0) market_.patiences.push_back(own);
}

void Chooser::set_ratios(Count service, double mean, double bound) {
  market_.means.at(at(service)) = mean;
  market_.bounds.at(at(service)) = bound;
}

void Chooser::set_given_up(Count service, double part) { market_.given_up.at(at(service)) = part; }

void Chooser::set_value(Count service, double value) { market_.values.at(at(service)) = value; }

void Chooser::warm(Count service, Count items, Count share, Count most_items) {
  static_cast<void>(times_.row(service, items, 0, share, most_items));
}

Choice Chooser::next(Queues& queues, const Happening& happening, Ns now_ns) {
  if (happening.device) {
    for (DeviceRoom& room : rooms_)
      if (room.device() == *happening.device) return on(room, queues, happening, now_ns);
    return {};
  }
  order_.resize(rooms_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  // Not stable_sort, which takes memory each time.
  std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    const Count more = rooms_[a].free_percent() - rooms_[b].free_percent();
    return more > 0 || (more == 0 && a < b);
  });
  for (const std::size_t place : order_) {
    Choice found = on(rooms_[place], queues, happening, now_ns);
    if (!std::holds_alternative<std::monostate>(found)) return found;
  }
  return {};
}

Choice Chooser::on(DeviceRoom& room, Queues& queues, const Happening& happening, Ns now_ns) {
  if (room.free_percent() < room.least_percent()) return {};
  columns_.clear();
  wishes_.clear();
  if (happening.came) {
    for (const Wish& wish : room.wishes)
      if (wish.service != *happening.came) wishes_.push_back(wish);
    if (room.places(*happening.came))
      if (const auto hopeless = weigh(*happening.came, room, queues, now_ns)) return *hopeless;
  } else {
    for (const ServicePlaces& own : room.services())
      if (const auto hopeless = weigh(own.service, room, queues, now_ns)) return *hopeless;
  }
  room.wishes = wishes_;
  if (const auto found = best(room, now_ns))
    return Start{room.device(), *found, room.least_percent() == kFullPercent};
  return {};
}

std::optional<Hopeless> Chooser::weigh(Count service, DeviceRoom& room, Queues& queues, Ns now_ns) {
  const Queue& queue = queues.of(service);
  if (queue.size() == 0) return std::nullopt;
  const Found found = choice_.of_service(service, queue, room, now_ns);
  if (const auto* hopeless = std::get_if<Hopeless>(&found)) return *hopeless;
  if (const auto* wish = std::get_if<Wish>(&found))
    wishes_.push_back(*wish);
  else if (const Column& column = std::get<Column>(found); !waits(queue, room, column, now_ns))
    columns_.push_back(column);
  return std::nullopt;
}

bool Chooser::waits(const Queue& queue, const DeviceRoom& room, const Column& column, Ns now_ns) {
  std::optional<Ns>& wake_ns = wakes_[at(column.service)];
  wake_ns.reset();
  if (column.size < queue.size() || column.size >= column.full) return false;
  if (!params_.together) {
    const auto end_ns = room.next_end_ns(column.service);
    if (end_ns && std::max(*end_ns, now_ns) + column.task.took_ns <= column.task.deadline_ns)
      return true;
  }
  wake_ns = choice_.wait_until(queue, column, now_ns);
  if (!wake_ns) wake_ns = choice_.too_dear_until(column, now_ns);
  return wake_ns.has_value();
}

std::optional<std::size_t> Chooser::best(DeviceRoom& room, Ns now_ns) {
  left_.resize(columns_.size());
  std::iota(left_.begin(), left_.end(), std::size_t{0});
  if (room.on_demand() && params_.reserve) reserve(room, now_ns);
  if (left_.empty()) return std::nullopt;
  const std::size_t most = most_of_left();
  if (!params_.look_ahead) return most;
  return ahead(room, most, now_ns);
}

void Chooser::reserve(const DeviceRoom& room, Ns now_ns) {
  for (const Wish& wish : room.wishes) {
    if (left_.empty()) return;
    keep_out_of_the_way(wish.task, room, now_ns,
                        [&](const Column& own) { return own.score >= wish.score; });
  }
}

std::optional<std::size_t> Chooser::ahead(const DeviceRoom& room, std::size_t best, Ns now_ns) {
  const Column& first = columns_[best];
  if (!room.on_demand())
    std::erase_if(left_, [&](std::size_t k) { return columns_[k].partition != first.partition; });
  std::erase(left_, best);
  rivals_.clear();
  for (const std::size_t k : left_) rivals_.push_back(columns_[k].task);
  if (room.on_demand())
    for (const Wish& wish : room.wishes) rivals_.push_back(wish.task);
  Ns end_ns = now_ns + first.task.took_ns;
  for (const WaitingBatch& rival : rivals_) end_ns += rival.took_ns;
  if (std::all_of(rivals_.begin(), rivals_.end(),
                  [&](const WaitingBatch& rival) { return rival.deadline_ns >= end_ns; }))
    return best;
  fill_bins(room, first.task.share_percent);
  const auto urgent = lookahead_.goes_before(first.task, rivals_, now_ns);
  if (!urgent) return best;
  if (*urgent < left_.size()) return left_[*urgent];
  left_.push_back(best);
  keep_out_of_the_way(rivals_[*urgent], room, now_ns, [](const Column&) { return false; });
  if (left_.empty()) return std::nullopt;
  return most_of_left();
}

template <typename Keeps>
void Chooser::keep_out_of_the_way(const WaitingBatch& wish, const DeviceRoom& room, Ns now_ns,
                                  Keeps keeps) {
  const Ns latest_ns = wish.deadline_ns - wish.took_ns;
  const Count held = room.held_after(latest_ns) + wish.share_percent;
  std::erase_if(left_, [&](std::size_t k) {
    const Column& own = columns_[k];
    const bool in_the_way =
        now_ns + own.task.took_ns > latest_ns && held + own.task.share_percent > kFullPercent;
    return in_the_way && !keeps(own);
  });
}

std::size_t Chooser::most_of_left() const {
  return *std::max_element(left_.begin(), left_.end(),
                           [&](std::size_t a, std::size_t b) { return columns_[a] < columns_[b]; });
}

void Chooser::fill_bins(const DeviceRoom& room, Count share_percent) {
  if (!room.on_demand()) {
    lookahead_.bins(1)[0].free_percent = share_percent;
    return;
  }
  std::vector<Bin>& bins = lookahead_.bins(rooms_.size());
  for (std::size_t k = 0; k < rooms_.size(); ++k) {
    bins[k].free_percent = rooms_[k].free_percent();
    for (const HeldShare& held : rooms_[k].running())
      bins[k].ends.emplace_back(held.end_ns, held.share_percent);
  }
}

void Chooser::started(Count device, const HeldShare& held, Ns took_ns) {
  for (DeviceRoom& room : rooms_)
    if (room.device() == device) room.started(held);
  const double weight = market_.mean_ns != 0.0 ? kWeight : 1.0;
  market_.mean_ns += weight * (static_cast<double>(took_ns) - market_.mean_ns);
}

void Chooser::ended(Count partition) {
  for (DeviceRoom& room : rooms_) room.ended(partition);
}

std::optional<Ns> Chooser::wake_ns(Ns now_ns) const {
  std::optional<Ns> first;
  for (const auto& when_ns : wakes_)
    if (when_ns && *when_ns > now_ns && (!first || *when_ns < *first)) first = when_ns;
  return first;
}

}  // namespace colocation
