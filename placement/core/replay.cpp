#include "replay.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace placement {

namespace {

/// Moments that are saved of a schedule, and what they may take altogether.
constexpr Index most_moments = 256;
constexpr std::size_t most_bytes = std::size_t{16} << 20;

/// So many tasks end between two of them at least: restoring one takes about as long.
constexpr Index least_spacing = 8;

/// Moments between two looks at whether too much work is left: looking at each takes a tenth of
/// all.
constexpr unsigned looks_every = 8;

/// By how much sums of doubles may be wrong.
constexpr double rounding = 1e-12;

Index spacing_of(const Problem& problem) {
  const Index count = problem.task_count();
  const std::size_t moment_bytes = static_cast<std::size_t>(count + 1) * sizeof(Index);
  const auto moments =
      std::min<std::size_t>(most_moments, std::max<std::size_t>(most_bytes / moment_bytes, 1));
  return std::max(least_spacing, count / static_cast<Index>(moments));
}

}  // namespace

Replay::Replay(const Problem& problem, const Placed& placed)
    : problem_(problem),
      simulation_(problem),
      query_(simulation_.query()),
      spacing_(spacing_of(problem)),
      counts_thread_(problem.has_streams()),
      depends_on_use_(problem.has_pageable_links()),
      uses_(at(problem.device_count())),
      start_ns_(at(problem.task_count())),
      end_ns_(start_ns_.size()),
      is_changed_(start_ns_.size()) {
  reset(placed);
}

void Replay::reset(const Placed& placed) {
  query_.begin(placed);
  std::ranges::fill(uses_, 0);
  for (const Index device : query_.device_of) ++uses_[at(problem_.home(device))];
  forget_change();
  spare(0, saved_.size());
  from_ = 0;
  go_back();
  makespan_ns_ = *play(end_of_times_ns, true);
  take_times();
  take_moments();
}

void Replay::place(Index task, Index device) {
  const Index before = this->device(task);
  if (before == device) return;
  mark(task);
  query_.put(task, device);
  const bool is_left = --uses_[at(problem_.home(before))] == 0;
  const bool is_new = ++uses_[at(problem_.home(device))] == 1;
  if (is_left || is_new) use_changed_ = depends_on_use_;
}

void Replay::swap_ranks(Index a, Index b) {
  mark(a);
  mark(b);
  const Index rank_of_a = rank(a);
  const Index rank_of_b = rank(b);
  rerank(a, rank_of_b);
  rerank(b, rank_of_a);
}

void Replay::shift(Index task, Index rank) {
  const Index before = this->rank(task);
  if (before == rank) return;
  mark(task);
  const Index step = rank > before ? 1 : -1;
  for (Index place = before; place != rank; place += step) rerank(task_at(place + step), place);
  rerank(task, rank);
}

void Replay::line_up(const std::vector<Index>& tasks) {
  ranks_.clear();
  for (const Index task : tasks) ranks_.push_back(rank(task));
  std::ranges::sort(ranks_);
  for (std::size_t place = 0; place < tasks.size(); ++place) {
    if (rank(tasks[place]) == ranks_[place]) continue;
    mark(tasks[place]);
    rerank(tasks[place], ranks_[place]);
  }
}

void Replay::mark(Index task) {
  if (is_changed_[at(task)] != 0) return;
  is_changed_[at(task)] = 1;
  changed_.push_back({task, device(task)});
}

void Replay::rerank(Index task, Index rank) {
  reranked_.emplace_back(task, this->rank(task));
  query_.rank_of[at(task)] = rank;
  query_.task_at[at(rank)] = task;
}

std::optional<Ns> Replay::evaluate(Ns limit_ns) {
  from_ = use_changed_ ? 0 : saved_before(first_effect_ns());
  try {
    go_back();
    return play(limit_ns, false);
  } catch (const std::range_error&) {
    return std::nullopt;
  }
}

/// When a change is first noticed: a task's place decides where its inputs go, and its rank how
/// urgent that is. A thread that submits looks ahead at who reads what is being made.
Ns Replay::first_effect_ns() const noexcept {
  Ns first_ns = end_of_times_ns;
  for (const Changed& changed : changed_) {
    if (problem_.inputs_of(changed.task).empty()) return 0;
    for (const Index tensor : problem_.inputs_of(changed.task)) {
      const Index producer = problem_.tensor(tensor).producer;
      if (producer == nobody) return 0;
      first_ns = std::min(first_ns, counts_thread_ ? start_ns(producer) : end_ns(producer));
    }
  }
  return first_ns;
}

/// How many moments are before.
std::size_t Replay::saved_before(Ns ns) const noexcept {
  const auto found = std::ranges::lower_bound(saved_, ns, {}, &Kept::at_ns);
  return static_cast<std::size_t>(found - saved_.begin());
}

void Replay::go_back() {
  if (from_ > 0) {
    simulation_.restore(*saved_[from_ - 1].saved, saved_[from_ - 1].at_ns);
    for (const Changed& changed : changed_) {
      const Index after = device(changed.task);
      simulation_.add_work(changed.device_before, -work_ns(changed.task, changed.device_before));
      simulation_.add_work(after, work_ns(changed.task, after));
    }
    return;
  }
  simulation_.rewind();
  for (Index task = 0; task < problem_.task_count(); ++task)
    simulation_.add_work(device(task), work_ns(task, device(task)));
}

/// Time of lanes that a task takes; nobody adds it up where a thread submits.
double Replay::work_ns(Index task, Index device) const noexcept {
  if (problem_.has_streams(device)) return 0;
  return static_cast<double>(problem_.width(task, device)) *
         static_cast<double>(problem_.service_ns(task, device));
}

std::optional<Ns> Replay::play(Ns limit_ns, bool keeps) {
  met_.reset();
  Ns known_ns = 0;  // until when the changed tasks matter
  for (const Changed& changed : changed_) known_ns = std::max(known_ns, end_ns(changed.task));
  std::size_t next = from_;
  while (next < saved_.size() && saved_[next].at_ns <= known_ns) ++next;
  Index ended = simulation_.ended();
  Index due = ended + spacing_;
  const auto is_too_long = [&] {
    return simulation_.least_end_ns() > static_cast<double>(limit_ns) * (1 + rounding);
  };
  if (is_too_long()) return std::nullopt;
  for (unsigned step = 1; simulation_.step(); ++step) {
    if (step % looks_every == 0 && is_too_long()) return std::nullopt;
    if (simulation_.ended() == ended || !simulation_.is_between()) continue;
    ended = simulation_.ended();
    while (next < saved_.size() && saved_[next].saved->ended < ended) ++next;
    if (next < saved_.size() && simulation_.is_at(*saved_[next].saved, scratch_)) {
      met_ = Met{next, simulation_.now_ns() - saved_[next].at_ns};
      return within(makespan_ns_ + met_->later_ns, limit_ns);
    }
    if (!keeps || ended < due || ended == problem_.task_count()) continue;
    save();
    due = ended + spacing_;
  }
  return within(simulation_.makespan_ns(), limit_ns);
}

std::optional<Ns> Replay::within(Ns found_ns, Ns limit_ns) const {
  if (simulation_.least_end_ns() > static_cast<double>(found_ns) * (1 + rounding))
    throw std::logic_error("replay: more work was left than the query took");
  return found_ns <= limit_ns ? std::optional(found_ns) : std::nullopt;
}

void Replay::save() {
  if (spare_.empty()) spare_.push_back(std::make_unique<Saved>());
  fresh_.push_back({simulation_.now_ns(), std::move(spare_.back())});
  spare_.pop_back();
  simulation_.save(*fresh_.back().saved);
}

void Replay::keep() {
  go_back();
  makespan_ns_ = *play(end_of_times_ns, true);
  take_times();
  take_moments();
  forget_change();
}

/// What began up to where was gone back to is as it was; what began after all was the same again is
/// only later; the rest is as it was played.
void Replay::take_times() {
  const Ns from_ns = from_ > 0 ? saved_[from_ - 1].at_ns : -1;
  const Ns met_ns = met_ ? saved_[met_->saved].at_ns : end_of_times_ns;
  for (std::size_t task = 0; task < start_ns_.size(); ++task) {
    if (start_ns_[task] <= from_ns) continue;
    if (start_ns_[task] > met_ns) {
      start_ns_[task] += met_->later_ns;
      end_ns_[task] += met_->later_ns;
    } else {
      start_ns_[task] = query_.start_ns[task];
      end_ns_[task] = query_.end_ns[task];
    }
  }
}

void Replay::take_moments() {
  move_work();
  const std::size_t to = met_ ? met_->saved : saved_.size();
  for (std::size_t place = to; place < saved_.size(); ++place)
    saved_[place].at_ns += met_->later_ns;
  spare(from_, to);
  saved_.insert(saved_.begin() + static_cast<std::ptrdiff_t>(from_),
                std::make_move_iterator(fresh_.begin()), std::make_move_iterator(fresh_.end()));
  fresh_.clear();
}

/// Before what was played anew, changed tasks have yet to start: on other devices now.
void Replay::move_work() {
  for (const Changed& changed : changed_) {
    const Index after = device(changed.task);
    if (after == changed.device_before) continue;
    for (std::size_t place = 0; place < from_; ++place) {
      std::vector<DeviceMoment>& devices = saved_[place].saved->moment.devices;
      devices[at(problem_.home(changed.device_before))].work_ns -=
          work_ns(changed.task, changed.device_before);
      devices[at(problem_.home(after))].work_ns += work_ns(changed.task, after);
    }
  }
}

/// Takes out moments, to be used again.
void Replay::spare(std::size_t first, std::size_t end) {
  const auto begin = saved_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto stop = saved_.begin() + static_cast<std::ptrdiff_t>(end);
  for (auto kept = begin; kept != stop; ++kept) spare_.push_back(std::move(kept->saved));
  saved_.erase(begin, stop);
}

void Replay::undo() {
  for (auto step = reranked_.rbegin(); step != reranked_.rend(); ++step) {
    query_.rank_of[at(step->first)] = step->second;
    query_.task_at[at(step->second)] = step->first;
  }
  for (const Changed& changed : changed_) {
    --uses_[at(problem_.home(device(changed.task)))];
    ++uses_[at(problem_.home(changed.device_before))];
    query_.put(changed.task, changed.device_before);
  }
  if (use_changed_) simulation_.find_threads();
  forget_change();
}

void Replay::forget_change() {
  for (const Changed& changed : changed_) is_changed_[at(changed.task)] = 0;
  changed_.clear();
  reranked_.clear();
  use_changed_ = false;
}

}  // namespace placement
