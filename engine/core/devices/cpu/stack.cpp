#include "devices/cpu/stack.hpp"

#include <algorithm>
#include <array>
#include <exception>

#include "scheduler/clock.hpp"
#include "scheduler/plan.hpp"

namespace engine {

namespace {

/// That of a plan of one node.
constexpr std::uint32_t only_position = 0;

/// When it is due, if it can be in time at all.
std::int64_t due_to_keep(const Run& run, std::int64_t now_ns, std::int64_t takes_ns) noexcept {
  const RunOrder& order = run.order();
  return order.is_due() && now_ns + takes_ns <= order.due_ns ? order.due_ns : RunOrder::never;
}

}  // namespace

int Stack::gather(ReadyQueue& queue, Run& first, const Stacking* found_stacking, int lanes) {
  if (first.call() != 0) return gather_call(queue, first, found_stacking);
  if (found_stacking == nullptr) return 0;
  const Stacking& stacking = *found_stacking;
  if (!queue.maybe_ready() || first.stopped() || stacking.has_failed()) return 0;
  stacking_ = &stacking;
  const std::int64_t now = now_ns();
  const Asked own = asked_by(first, now);
  if (own.rows == 0) return 0;
  const std::uint32_t rows =
      own.due_ns == RunOrder::never ? stacking.most_rows() : stacking.rows_within(own.due_ns - now);
  if (rows < own.rows + stacking.least_rows()) return 0;
  const std::size_t most =
      std::min<std::size_t>(1 + (rows - own.rows) / stacking.least_rows(), Stacking::most_queries);
  const std::int64_t alone_ns = stacking.takes_ns(stacking.least_rows());
  std::array<Run*, Stacking::most_queries> found;
  const std::size_t others = queue.take_alike(
      first.plan().family(), std::span(found.data(), most - 1), lanes, now + alone_ns);
  if (others == 0) return 0;
  choose(first, own, std::span(found.data(), others), now);
  for (Run* const run : left_) queue.push(*run, {&only_position, 1});
  return static_cast<int>(left_.size());
}

int Stack::gather_call(ReadyQueue& queue, Run& first, const Stacking* stacking) {
  std::array<Run*, Stacking::most_queries> found;
  std::size_t others = 0;
  for (Run* run = first.take_next_of_call(); run != nullptr; run = run->take_next_of_call())
    found[others++] = run;
  if (others == 0) return 0;
  const std::span<Run* const> followers(found.data(), others);
  left_.clear();
  stacking_ = stacking;
  const std::int64_t now = now_ns();
  const bool may_be = stacking != nullptr && !first.stopped() && !stacking->has_failed();
  const Asked own = may_be ? asked_by(first, now) : Asked{};
  if (own.rows != 0)
    choose(first, own, followers, now);
  else
    left_.assign(followers.begin(), followers.end());
  for (Run* const run : left_) queue.push(*run, {&only_position, 1});
  return static_cast<int>(left_.size());
}

/// Those that are best answered together with the first one; none if it is best answered alone.
void Stack::choose(Run& first, Asked all, std::span<Run* const> others, std::int64_t now_ns) {
  const Stacking& stacking = *stacking_;
  rows_.clear();
  left_.clear();
  std::int64_t alone_ns = stacking.takes_ns(all.rows);
  runs_.push_back(&first);
  rows_.push_back(all.rows);
  std::size_t best = 1;
  for (Run* const run : others) {
    const Asked one = asked_by(*run, now_ns);
    const Asked both{all.rows + one.rows, std::min(all.due_ns, one.due_ns)};
    if (one.rows == 0 || both.rows > stacking.most_rows() ||
        now_ns + stacking.takes_ns(both.rows) > both.due_ns) {
      left_.push_back(run);
      continue;
    }
    all = both;
    alone_ns += stacking.takes_ns(one.rows);
    runs_.push_back(run);
    rows_.push_back(one.rows);
    if (!stacking.gains(all.rows, alone_ns)) continue;
    best = runs_.size();
    takes_ns_ = stacking.takes_ns(all.rows);
  }
  left_.insert(left_.end(), runs_.begin() + static_cast<std::ptrdiff_t>(best), runs_.end());
  runs_.resize(best == 1 ? 0 : best);
}

/// No rows: it is not to be answered with others.
Stack::Asked Stack::asked_by(const Run& run, std::int64_t now_ns) {
  const Stacking& stacking = *stacking_;
  looked_at_.clear();
  run.look_at_inputs(run.plan().node(0), looked_at_);
  const std::uint32_t rows = stacking.stacker().rows(looked_at_);
  if (rows < stacking.least_rows() || rows > stacking.most_rows()) return {};
  return {rows, due_to_keep(run, now_ns, stacking.takes_ns(rows))};
}

int Stack::execute(std::uint32_t index) {
  const PlanNode& node = runs_.front()->plan().node(index);
  if (values_.size() < runs_.size()) values_.resize(runs_.size());
  asking_.clear();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    runs_[i]->take_inputs(node, values_[i]);
    if (!runs_[i]->should_skip()) asking_.push_back(i);
  }
  const bool together = asking_.size() > 1 && execute_together(index, node);
  if (!together)
    for (const std::size_t i : asking_)
      if (!runs_[i]->should_skip()) runs_[i]->compute(index, node, values_[i]);
  for (std::size_t i = 0; i < runs_.size(); ++i) runs_[i]->publish(index, node, values_[i]);
  return together ? static_cast<int>(asking_.size()) : 1;
}

/// False: it failed, and nothing has come of it.
bool Stack::execute_together(std::uint32_t index, const PlanNode& node) {
  const Plan& plan = runs_.front()->plan();
  queries_.clear();
  std::uint32_t rows = 0;
  for (const std::size_t i : asking_) {
    values_[i].outputs.resize(node.end_output - node.first_output);
    queries_.push_back({values_[i].inputs, values_[i].outputs});
    rows += rows_[i];
  }
  CancelToken* const own = token(plan);
  const std::int64_t start_ns = now_ns();
  try {
    const KernelWatch::Stay stay(*this, index);
    stacking_->stacker().execute(*node.kernel, queries_, own);
    stacking_->note(rows, now_ns() - start_ns, asking_.size());
    return true;
  } catch (...) {
    stacking_->note_failure();
  }
  for (const std::size_t i : asking_) values_[i].outputs.clear();
  return false;
}

/// One for all of its runs, since each may end by itself; null where kernels want none.
CancelToken* Stack::token(const Plan& plan) {
  const Plan::TokenMaker maker = plan.token_maker();
  if (tokens_maker_ != maker) token_ = maker == nullptr ? nullptr : maker();
  tokens_maker_ = maker;
  if (token_ != nullptr) token_->reset();
  return token_.get();
}

bool Stack::look(std::int64_t now_ns) noexcept {
  bool in_vain = true;
  for (Run* const run : runs_) in_vain = run->look(now_ns) && in_vain;
  if (in_vain && token_ != nullptr) token_->cancel();
  return in_vain;
}

}  // namespace engine
