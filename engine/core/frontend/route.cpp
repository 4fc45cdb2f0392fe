#include "frontend/route.hpp"

#include <algorithm>

#include "broker/broker.hpp"
#include "scheduler/asked_models.hpp"
#include "scheduler/machine.hpp"

namespace engine::frontend {

namespace {

bool is_in_trouble(const Plan& plan) {
  return plan.machine().has_lost(plan.devices()) || plan.machine().is_stalled();
}

}  // namespace

bool Route::is_in_doubt() const {
  const std::lock_guard lock(mutex_);
  return plan_ != nullptr && has_trouble();
}

/// With the lock, and a plan.
bool Route::has_trouble() const {
  return is_in_trouble(*plan_) ||
         std::ranges::any_of(busy_, [](const PlanPtr& busy) { return is_in_trouble(*busy); });
}

/// With the lock; null where none is open yet.
PlanPtr Route::next_busy() { return busy_.empty() ? nullptr : busy_[turn_++ % busy_.size()]; }

Route::Way Route::take(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (plan_ == nullptr) return {};
  const Machine& machine = plan_->machine();
  if (has_trouble()) return {};
  bool others_asked = false;
  if (rule_.who != 0) {
    broker::Broker& broker = broker::Broker::of_process();
    broker.note_asked(now_ns);
    AskedModels& models = AskedModels::of_process();
    others_asked = models.asked(rule_.who, now_ns, broker.asked_elsewhere());
    if (models.has_news()) return {};
  }
  const bool is_busy = rule_.always || (rule_.by_neighbours && others_asked) ||
                       (rule_.found > 0 && machine.runs_in_flight() >= rule_.found);
  return {is_busy ? next_busy() : plan_,
          rule_.is_bounded};  // a plan that is not open yet is opened by Python
}

}  // namespace engine::frontend
