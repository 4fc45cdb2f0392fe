#include "scheduler/plan.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "scheduler/machine.hpp"
#include "scheduler/run.hpp"
#include "scheduler/waiting_room.hpp"

namespace engine {

namespace {

/// What the idle runs of a plan may hold together, but for the first few.
constexpr std::size_t pool_bytes = 4U << 20;
constexpr std::size_t least_pooled = 4, most_pooled = 256;

std::uint32_t next_number() noexcept {
  static std::atomic<std::uint32_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);  // relaxed: a number
}

}  // namespace

Plan::Plan() : flown_(std::make_shared<FlownPlan>(next_number())) {}

Plan::~Plan() {
  if (has_wide_nodes_) machine_->forget_wide_plan();
  if (urgency().due_after_ns != 0) machine_->recorder().let_go();
  be_remembered();
}

void Plan::be_remembered() const noexcept {
  try {
    FlightRecorder& recorder = machine_->recorder();
    if (flown_->runs().written() != 0 || (recorder.is_on() && !flown_->label().empty()))
      recorder.bury({flown_, urgency(), flown_nodes()});
  } catch (const std::exception&) {
    // Without memory it is forgotten: records name its number.
  }
}

void Plan::be_urgent(const Urgency& urgency) const noexcept {
  // relaxed, all: see urgency()
  const std::int64_t before_ns =
      due_after_ns_.exchange(urgency.due_after_ns, std::memory_order_relaxed);
  priority_.store(urgency.priority, std::memory_order_relaxed);
  best_effort_.store(urgency.best_effort, std::memory_order_relaxed);
  if (before_ns == 0 && urgency.due_after_ns != 0) machine_->recorder().hold();
  if (before_ns != 0 && urgency.due_after_ns == 0) machine_->recorder().let_go();
}

std::vector<FlownNode> Plan::flown_nodes() const {
  std::vector<FlownNode> found(nodes_.size());
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const PlanNode& node = nodes_[i];
    found[i].name = names_[i];
    found[i].service_ns = node.service_ns;
    found[i].executor = node.executor;
    found[i].width = node.width;
    found[i].is_copy = node.kind == NodeKind::copy;
    for (const std::uint32_t next : successors(node)) found[next].after.push_back(i);
  }
  return found;
}

void Plan::make_pool() {
  pool_.emplace(std::clamp(pool_bytes / Run::bytes_of(*this), least_pooled, most_pooled));
}

void Plan::admit_by(const AdmissionRules& rules) const noexcept {
  refuses_late_.store(rules.refuses_late, std::memory_order_relaxed);  // relaxed: see urgency()
  max_wait_ns_.store(rules.max_wait_ns, std::memory_order_relaxed);    // relaxed: see urgency()
  if (rules.any()) machine_->admission().begin();
}

void Plan::stack_by(std::unique_ptr<const Stacking> stacking) const {
  static std::atomic<std::uint32_t> families{0};
  const bool fits = nodes_.size() == 1 && nodes_[0].width == 1 && nodes_[0].kernel != nullptr;
  if (stacking != nullptr && !fits)
    throw std::invalid_argument("only runs of one kernel on one lane are answered together");
  const std::lock_guard lock(runs_mutex_);
  // relaxed, both: numbers that are given once
  if (family() == 0)
    family_.store(families.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  stacking_.store(stacking.get(), std::memory_order_release);          // release: see stacking()
  if (stacking != nullptr) stackings_.push_back(std::move(stacking));  // lanes may be in others
}

void Plan::wait_in(std::shared_ptr<WaitingRoom> room) const {
  const std::lock_guard lock(runs_mutex_);
  room_.store(room.get(), std::memory_order_release);      // release: see room()
  if (room != nullptr) rooms_.push_back(std::move(room));  // runs may be in others
}

Run* Plan::take_run() const {
  Run* run = nullptr;
  if (pool_->try_pop(run)) return run;
  auto made = std::make_unique<Run>(*this, make_token_ == nullptr ? nullptr : make_token_());
  run = made.get();
  const std::lock_guard lock(runs_mutex_);
  runs_.emplace(run, std::move(made));
  return run;
}

std::vector<ValuePtr> Plan::own_inputs(std::span<const ValuePtr> inputs) const {
  std::vector<ValuePtr> own(inputs.begin(), inputs.end());
  for (const std::size_t i : handed_on_)
    if (ValuePtr copy = own[i] ? own[i]->copied() : nullptr) own[i] = std::move(copy);
  return own;
}

void Plan::give_back(Run* run) const {
  if (pool_->try_push(run)) return;
  const std::lock_guard lock(runs_mutex_);
  runs_.erase(run);
}

void Plan::cancel_runs() const {
  const std::lock_guard lock(runs_mutex_);
  for (const auto& [run, _] : runs_) run->cancel();
}

std::size_t Plan::run_count() const {
  const std::lock_guard lock(runs_mutex_);
  return runs_.size();
}

}  // namespace engine
