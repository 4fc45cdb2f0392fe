#include "plan.hpp"

#include "machine.hpp"
#include "run.hpp"

namespace engine {

Plan::Plan() = default;

Plan::~Plan() {
  if (has_wide_nodes_) machine_->forget_wide_plan();
}

Run* Plan::take_run() const {
  Run* run = nullptr;
  if (pool_.try_pop(run)) return run;
  const std::lock_guard lock(runs_mutex_);
  if (!pool_overflow_.empty()) {
    run = pool_overflow_.back();
    pool_overflow_.pop_back();
    return run;
  }
  auto token = make_token_ == nullptr ? nullptr : make_token_();
  runs_.push_back(std::make_unique<Run>(*this, std::move(token)));
  return runs_.back().get();
}

void Plan::give_back(Run* run) const {
  if (pool_.try_push(run)) return;
  const std::lock_guard lock(runs_mutex_);
  pool_overflow_.push_back(run);
}

void Plan::cancel_runs() const {
  const std::lock_guard lock(runs_mutex_);
  for (const auto& run : runs_) run->cancel();
}

}  // namespace engine
