#include "list_schedule.hpp"

#include <algorithm>
#include <optional>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "agenda.hpp"

namespace placement {

namespace {

/// Of tasks that are ready: the higher rank is greater, then the earlier task.
struct Waiting {
  double rank;
  Index task;
  friend bool operator<(const Waiting& a, const Waiting& b) noexcept {
    return std::tuple(a.rank, -a.task) < std::tuple(b.rank, -b.task);
  }
};

/// A task at a place; the cost is its end and what lies ahead.
struct Offer {
  Ns end_ns, cost_ns;
  Start start;
  Index device;
};

auto by_end(const Offer& offer) { return std::tuple(offer.end_ns, offer.start.start_ns); }
auto by_cost(const Offer& offer) { return std::tuple(offer.cost_ns, offer.start.start_ns); }

class Scheduler {
 public:
  Scheduler(const Problem& problem, const ListRules& rules);

  ListSchedule run();

 private:
  void place(Index task);
  /// In the order of places; std::invalid_argument if there is none.
  void find_offers(Index task, std::vector<Offer>& found);
  Ns inputs_ns(Index task, Index device) const;
  /// The same where copies over one link wait for each other, and are booked if that is asked for.
  Ns inputs_by_links_ns(Index task, Index device, bool books);
  Offer chosen(Index task, const std::vector<Offer>& offers);
  Offer earliest_or_fastest(Index task, const std::vector<Offer>& offers) const;
  Offer best_for_readers(Index task, const std::vector<Offer>& offers);
  Ns readers_end_ns(Index task, const Offer& offer, const std::vector<Index>& readers);
  std::vector<Index> readers_by_rank(Index task) const;
  void take(Index task, const Offer& offer, Journal* journal = nullptr);

  const Problem& problem_;
  const ListRules& rules_;
  std::vector<DeviceAgenda> agendas_;
  std::vector<Index> missing_;    // inputs of each task whose makers are not placed
  std::vector<Index> device_of_;  // nobody where a task is not placed
  std::vector<Ns> start_ns_, end_ns_;
  std::priority_queue<Waiting> ready_;
  std::vector<Offer> offers_, readers_offers_;  // kept for their memory
  // Only where copies wait for each other:
  std::vector<Gaps> links_;
  std::vector<Ns> link_free_ns_;  // after the copies of the inputs that were looked at
  std::vector<Ns> arrival_ns_;    // by tensor and memory; below 0: no copy yet
};

Scheduler::Scheduler(const Problem& problem, const ListRules& rules)
    : problem_(problem),
      rules_(rules),
      missing_(at(problem.task_count())),
      device_of_(at(problem.task_count()), nobody),
      start_ns_(at(problem.task_count())),
      end_ns_(at(problem.task_count())) {
  const std::size_t tasks = at(problem.task_count());
  if (rules.ranks.size() != tasks || rules.ahead_ns.size() != tasks * at(problem.device_count()))
    throw std::invalid_argument(
        "list schedule: a rank is needed for each task, and a number for each task and device");
  if (rules.has_links && rules.choice == Choice::readers)
    throw std::invalid_argument("list schedule: readers are looked at without links only");
  for (Index device = 0; device < problem.device_count(); ++device)
    agendas_.emplace_back(problem, device);
  if (rules.has_links) {
    links_.resize(at(problem.link_count()));
    link_free_ns_.resize(links_.size());
    arrival_ns_.assign(at(problem.tensor_count()) * at(problem.memory_count()), -1);
  }
  for (Index task = 0; task < problem.task_count(); ++task)
    missing_[at(task)] =
        static_cast<Index>(std::ranges::count_if(problem.inputs_of(task), [&](Index tensor) {
          return problem.tensor(tensor).producer != nobody;
        }));
}

ListSchedule Scheduler::run() {
  for (Index task = 0; task < problem_.task_count(); ++task)
    if (missing_[at(task)] == 0) ready_.push({rules_.ranks[at(task)], task});
  while (!ready_.empty()) {
    const Index task = ready_.top().task;
    ready_.pop();
    place(task);
  }
  return {{device_of_.begin(), device_of_.end()}, std::move(start_ns_)};
}

void Scheduler::place(Index task) {
  find_offers(task, offers_);
  const Offer offer = chosen(task, offers_);
  if (rules_.has_links) (void)inputs_by_links_ns(task, offer.device, true);
  take(task, offer);
  for (const Index tensor : problem_.outputs_of(task))
    for (const Index reader : problem_.consumers_of(tensor))
      if (--missing_[at(reader)] == 0) ready_.push({rules_.ranks[at(reader)], reader});
}

void Scheduler::find_offers(Index task, std::vector<Offer>& found) {
  found.clear();
  const Index end = rules_.is_narrow ? problem_.device_count() : problem_.place_count();
  for (Index device = 0; device < end; ++device) {
    const Index home = problem_.home(device);
    const Ns ahead_ns = rules_.ahead_ns[at(task) * at(problem_.device_count()) + at(home)];
    if (ahead_ns < 0 || !problem_.can_run(task, device)) continue;
    const Ns ready_ns =
        rules_.has_links ? inputs_by_links_ns(task, device, false) : inputs_ns(task, device);
    const Start start = agendas_[at(home)].earliest(task, device, ready_ns);
    const Ns end_ns = later(start.start_ns, problem_.service_ns(task, device));
    found.push_back({end_ns, later(end_ns, ahead_ns), start, device});
  }
  if (found.empty())
    throw std::invalid_argument("task '" + problem_.name(task) + "' may run on no device");
}

/// When the inputs are there that have been made, as far as that is planned.
Ns Scheduler::inputs_ns(Index task, Index device) const {
  Ns ready_ns = 0;
  for (const Index index : problem_.inputs_of(task)) {
    const Problem::Tensor& tensor = problem_.tensor(index);
    Index made_on = 0;
    Ns made_ns = 0;
    if (tensor.producer != nobody) {
      made_on = device_of_[at(tensor.producer)];
      if (made_on == nobody) continue;
      made_ns = end_ns_[at(tensor.producer)];
    }
    ready_ns =
        std::max(ready_ns, later(made_ns, problem_.copy_ns(made_on, device, tensor.size_bytes)));
  }
  return ready_ns;
}

Ns Scheduler::inputs_by_links_ns(Index task, Index device, bool books) {
  const Index there = problem_.device(device).memory;
  Ns ready_ns = 0;
  std::ranges::fill(link_free_ns_, 0);
  for (const Index index : problem_.inputs_of(task)) {
    const Problem::Tensor& tensor = problem_.tensor(index);
    const bool is_given = tensor.producer == nobody;
    const Ns made_ns = is_given ? 0 : end_ns_[at(tensor.producer)];
    const Index home = problem_.device(is_given ? 0 : device_of_[at(tensor.producer)]).memory;
    if (home == there || tensor.size_bytes == 0) {
      ready_ns = std::max(ready_ns, made_ns);
      continue;
    }
    Ns& arrival_ns = arrival_ns_[at(index) * at(problem_.memory_count()) + at(there)];
    if (arrival_ns >= 0) {
      ready_ns = std::max(ready_ns, arrival_ns);
      continue;
    }
    const Index number = problem_.link_between(home, there);
    const Link& link = problem_.link(number);
    const Ns hold_ns = problem_.hold_ns(link, tensor.size_bytes);
    const Ns begin_ns = std::max(made_ns, link_free_ns_[at(number)]);
    const Ns start_ns = links_[at(number)].earliest_ns(begin_ns, hold_ns);
    link_free_ns_[at(number)] = later(start_ns, hold_ns);
    const Ns there_ns = later(link_free_ns_[at(number)], link.latency_ns);
    ready_ns = std::max(ready_ns, there_ns);
    if (!books) continue;
    links_[at(number)].take(start_ns, link_free_ns_[at(number)]);
    arrival_ns = there_ns;
  }
  return ready_ns;
}

Offer Scheduler::chosen(Index task, const std::vector<Offer>& offers) {
  switch (rules_.choice) {
    case Choice::fastest:
      return earliest_or_fastest(task, offers);
    case Choice::readers:
      return best_for_readers(task, offers);
    case Choice::least:
      break;
  }
  return std::ranges::min(offers, {}, by_cost);
}

Offer Scheduler::earliest_or_fastest(Index task, const std::vector<Offer>& offers) const {
  const auto service_ns = [&](const Offer& offer) {
    return problem_.service_ns(task, offer.device);
  };
  const Offer earliest = std::ranges::min(offers, {}, by_end);
  const Offer fastest = std::ranges::min(
      offers, {}, [&](const Offer& offer) { return std::tuple(service_ns(offer), offer.end_ns); });
  if (service_ns(earliest) == service_ns(fastest)) return earliest;
  return earliest.cost_ns < fastest.cost_ns ? earliest : fastest;
}

Offer Scheduler::best_for_readers(Index task, const std::vector<Offer>& offers) {
  const std::vector<Index> readers = readers_by_rank(task);
  if (readers.empty() || offers.size() == 1) return std::ranges::min(offers, {}, by_cost);
  using Key = std::tuple<Ns, Ns, Index>;
  std::optional<Key> least;
  Offer best = offers.front();
  for (const Offer& offer : offers) {
    const Ns end_ns = std::max(readers_end_ns(task, offer, readers), offer.cost_ns);
    const Key key{end_ns, offer.end_ns, offer.device};
    if (least && *least <= key) continue;
    least = key;
    best = offer;
  }
  return best;
}

/// When the last reader ends, each placed where it ends first, if the task goes there.
Ns Scheduler::readers_end_ns(Index task, const Offer& offer, const std::vector<Index>& readers) {
  Journal journal;
  take(task, offer, &journal);
  Ns end_ns = 0;
  for (const Index reader : readers) {
    find_offers(reader, readers_offers_);
    const Offer best = std::ranges::min(readers_offers_, {}, by_cost);
    agendas_[at(problem_.home(best.device))].book(reader, best.device, best.start, &journal);
    end_ns = std::max(end_ns, best.cost_ns);
  }
  device_of_[at(task)] = nobody;
  journal.undo();
  return end_ns;
}

std::vector<Index> Scheduler::readers_by_rank(Index task) const {
  std::vector<Index> readers;
  for (const Index tensor : problem_.outputs_of(task))
    readers.insert(readers.end(), problem_.consumers_of(tensor).begin(),
                   problem_.consumers_of(tensor).end());
  const auto key = [&](Index reader) { return std::tuple(-rules_.ranks[at(reader)], reader); };
  std::ranges::sort(readers, {}, key);
  const auto twice = std::ranges::unique(readers);
  readers.erase(twice.begin(), twice.end());
  return readers;
}

void Scheduler::take(Index task, const Offer& offer, Journal* journal) {
  agendas_[at(problem_.home(offer.device))].book(task, offer.device, offer.start, journal);
  device_of_[at(task)] = offer.device;
  start_ns_[at(task)] = offer.start.start_ns;
  end_ns_[at(task)] = offer.end_ns;
}

}  // namespace

ListSchedule list_schedule(const Problem& problem, const ListRules& rules) {
  return Scheduler(problem, rules).run();
}

}  // namespace placement
