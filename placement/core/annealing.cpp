#include "annealing.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "chain.hpp"

namespace placement {

namespace {

/// The start and its length.
RankedPlacement start_of(const Problem& problem, const Placed& placed, const Constants& constants) {
  Simulation simulation(problem);
  simulation.run(placed);
  if (!Room(problem, constants).holds(simulation))
    throw std::invalid_argument("annealing: the start does not fit into the memories");
  const Query& query = std::as_const(simulation).query();
  return {{query.device_of.begin(), query.device_of.end()},
          {query.rank_of.begin(), query.rank_of.end()},
          simulation.makespan_ns()};
}

}  // namespace

Annealing::Annealing(const Problem& problem, const Placed& start, Constants constants,
                     const AnnealingParams& params)
    : problem_(problem),
      constants_(std::move(constants)),
      params_(params),
      limits_(params.evaluations, params.time_ns),
      best_(start_of(problem, start, constants_)) {
  if (params.evaluations < 0 || params.time_ns < 0 || params.evaluations + params.time_ns == 0)
    throw std::invalid_argument("annealing: a limit of evaluations or time is needed");
  if (params.threads < 1) throw std::invalid_argument("annealing: threads must be >= 1");
  running_ = params.threads;
  for (int chain = 0; chain < params.threads; ++chain)
    threads_.emplace_back([this, chain] { run(static_cast<std::uint64_t>(chain)); });
}

Annealing::~Annealing() { cancel(); }

bool Annealing::wait(Ns most_ns) {
  std::unique_lock lock(mutex_);
  const bool is_done =
      done_.wait_for(lock, std::chrono::nanoseconds(most_ns), [&] { return running_ == 0; });
  if (failed_) std::rethrow_exception(failed_);
  return is_done;
}

void Annealing::cancel() noexcept { limits_.cancel(); }

void Annealing::run(std::uint64_t number) noexcept {
  std::exception_ptr failed;
  try {
    const std::uint64_t seed = mixed(mixed(params_.seed) + number);
    Chain chain(problem_, constants_, best_.plan(), seed, limits_, best_);
    chain.run(params_.target_ns, evaluations_);
  } catch (...) {
    failed = std::current_exception();
    cancel();
  }
  const std::scoped_lock lock(mutex_);
  if (failed) failed_ = failed;
  if (--running_ == 0) done_.notify_all();
}

}  // namespace placement
