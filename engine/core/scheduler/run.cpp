// Long because what callers, devices and the watch ask of a run is one object.
#include "scheduler/run.hpp"

#include <algorithm>
#include <stdexcept>

#include "scheduler/completion_queue.hpp"
#include "scheduler/signal_hook.hpp"
#include "scheduler/status_error.hpp"
#include "scheduler/waiting_room.hpp"

namespace engine {

const char* to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::pending:
      return "pending";
    case Outcome::ok:
      return "ok";
    case Outcome::failed:
      return "failed";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::deadline:
      return "deadline";
    case Outcome::refused:
      return "refused";
    case Outcome::turned_away:
      return "turned away";
  }
  return "unknown";
}

Run::Run(const Plan& plan, std::unique_ptr<CancelToken> token)
    : plan_(plan),
      machine_(plan.machine()),
      token_(std::move(token)),
      waiting_(std::make_unique<std::atomic<std::uint32_t>[]>(plan.node_count())),
      slots_(std::make_unique<Slot[]>(plan.slots().size())),
      ready_(std::make_unique<ReadySet[]>(machine_.executor_count())) {
  for (std::size_t i = 0; i < machine_.executor_count(); ++i) ready_[i].reserve(plan.node_count());
  // relaxed, both: no other thread knows this run yet
  for (std::uint32_t i = 0; i < plan.node_count(); ++i)
    waiting_[i].store(plan.node(i).dependencies, std::memory_order_relaxed);
  for (std::size_t i = 0; i < plan.slots().size(); ++i)
    slots_[i].uses.store(plan.slots()[i].uses, std::memory_order_relaxed);
}

Run::~Run() = default;

std::size_t Run::bytes_of(const Plan& plan) noexcept {
  return sizeof(Run) + plan.node_count() * sizeof(std::atomic<std::uint32_t>) +
         plan.slots().size() * sizeof(Slot);
}

Outcome Run::outcome() const noexcept {
  // acquire: whoever sees the outcome of a done run sees its error text
  return done() ? outcome_.load(std::memory_order_acquire) : Outcome::pending;
}

void Run::begin(std::span<const ValuePtr> inputs, RunOptions options, std::uint64_t arrival) {
  keeps_plan_ = plan_.shared_from_this();
  options_ = std::move(options);
  is_recorded_ = machine_.recorder().is_on();
  is_timed_ = is_recorded_ || options_.traced;
  begun_ns_ = is_timed_ || plan_.critical_path_ns() != 0 ? now_ns() : 0;
  spans_.assign(options_.traced ? plan_.node_count() : 0,
                NodeSpan{.ready_ns = begun_ns_, .start_ns = 0, .end_ns = 0});
  order_ = take_order(arrival);
  counted_ns_ = 0;
  promise_ = Promise::none;
  room_ = nullptr;
  call_ = 0;
  next_of_call_ = nullptr;
  refused_by_ns_ = 0;
  if (order_.is_due()) [[unlikely]]
    machine_.recorder().note_due(begun_ns_);
  error_.clear();
  error_node_ = -1;
  error_code_ = 0;
  if (token_) token_->reset();
  // relaxed, both: no kernel is running
  hears_signals_.store(options_.hears_signals, std::memory_order_relaxed);
  watched_since_ns_.store(0, std::memory_order_relaxed);
  // relaxed, all: handing the first nodes to their queues publishes them
  done_.store(false, std::memory_order_relaxed);
  sinks_left_.store(plan_.sink_count(), std::memory_order_relaxed);
  references_.store(handle + 1, std::memory_order_relaxed);
  const auto slots = plan_.graph_inputs();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const PlanSlot& slot = plan_.slots()[slots[i]];
    if (slot.uses == 0 || !inputs[i]) continue;
    static_cast<void>(machine_.meter(slot.meter).try_add(inputs[i]->bytes()));
    slots_[slots[i]].value = inputs[i];
  }
  // release: a cancel that sees the run pending sees it prepared
  outcome_.store(Outcome::pending, std::memory_order_release);
}

void Run::finish() noexcept {
  Outcome expected = Outcome::pending;
  // acq_rel: see the failing lane's error text, publish with done_
  // One that has failed is held as long as what tells of it; nobody gets those outputs that it had.
  if (!outcome_.compare_exchange_strong(expected, Outcome::ok, std::memory_order_acq_rel))
    release_outputs();
  if (share_length_ != 0) machine_.virtual_time().advance(share_class_, order_.due_ns);
  if (counted_ns_ != 0) machine_.admission().leave(*this, now_ns());
  if (call_ != 0) room_->leave(*this);
  if (is_recorded_) record_end();
  const std::shared_ptr<CompletionQueue> completions = std::move(options_.completions);
  if (completions) add_reference();  // before done_, see drop_reference()
  done_.store(true,
              std::memory_order_seq_cst);  // seq_cst: before we look for waiters
  event_.notify_all();
  helpers_.notify_all();
  if (completions) completions->push(RunPtr(this));
  Machine& machine = machine_;
  unpin();
  machine.run_ended();
}

void Run::unpin() noexcept {
  // acq_rel: whoever is last sees every other holder's reads and writes
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) recycle();
}

void Run::drop_reference() noexcept {
  // The last handle of a done run frees the outputs itself, so that they are gone when it is,
  // even if the lane that ended the run has not quite let go of it.
  // acquire: other handles' reads of the outputs happened before
  if (done() && references_.load(std::memory_order_acquire) / handle == 1) release_outputs();
  // acq_rel: whoever is last sees every other holder's reads and writes
  if (references_.fetch_sub(handle, std::memory_order_acq_rel) == handle) recycle();
}

void Run::recycle() noexcept {
  release_outputs();
  options_.completions.reset();
  const std::shared_ptr<const Plan> plan = std::move(keeps_plan_);
  plan->give_back(this);
}

void Run::release_outputs() noexcept {
  for (const std::uint32_t index : plan_.graph_outputs()) {
    Slot& slot = slots_[index];
    const PlanSlot& spec = plan_.slots()[index];
    if (slot.value) machine_.meter(spec.meter).remove(slot.value->bytes());
    slot.value.reset();
    slot.uses.store(spec.uses,
                    std::memory_order_relaxed);  // relaxed: the last reference is ours
  }
}

bool Run::help(std::int64_t until_ns) { return done() || machine_.help(*this, until_ns); }

bool Run::wait(std::int64_t deadline_ns, bool help) {
  if (done()) return true;
  // A limited wait must not begin a kernel that may last longer.
  if (help && deadline_ns == 0 && machine_.help(*this, 0)) return true;
  const std::int64_t since_ns = now_ns();
  if (machine_.spin_until(plan_.waits(), [this] { return done(); })) return true;
  while (!done()) {
    if (deadline_ns != 0 && now_ns() >= deadline_ns) return done();
    const EventCount::Key key = event_.prepare();
    if (done())
      event_.cancel();
    else
      event_.wait(key, deadline_ns);
  }
  machine_.waited(plan_.waits(), since_ns);
  return true;
}

std::vector<ValuePtr> Run::outputs() const {
  std::vector<ValuePtr> values(plan_.graph_outputs().size());
  if (outcome() != Outcome::ok) return values;
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = slots_[plan_.graph_outputs()[i]].value;
  return values;
}

bool Run::stop(Outcome outcome) noexcept {
  Outcome expected = Outcome::pending;
  // acq_rel: one winner; it sees the run prepared
  if (!outcome_.compare_exchange_strong(expected, outcome, std::memory_order_acq_rel)) return false;
  if (token_) token_->cancel();
  machine_.kick_timed();
  if (WaitingRoom* const room = plan_.room()) room->kick();
  return true;
}

void Run::fail(std::uint32_t node, const std::string& what, int code) noexcept {
  if (!stop(Outcome::failed)) return;
  // Ours alone: the run cannot end before the caller has completed its node.
  error_ =
      (plan_.node_count() == 1 ? "model '" : "segment '") + plan_.node_name(node) + "': " + what;
  error_node_ = static_cast<int>(node);
  error_code_ = code;
}

bool Run::check_limits() noexcept {
  if (machine_.closing())
    stop(Outcome::cancelled);
  else if (now_ns() >= options_.deadline_ns)
    stop(Outcome::deadline);
  return stopped();
}

bool Run::look(std::int64_t now_ns) noexcept {
  end_if_due(now_ns);
  return stopped();
}

void Run::hold(std::uint32_t node) noexcept { machine_.held_lanes().add(plan_, node); }

void Run::let_go(std::uint32_t node) noexcept { machine_.held_lanes().remove(plan_, node); }

void Run::end_if_due(std::int64_t now_ns) noexcept {
  if (stopped()) return;
  if (hears_signals_.load(std::memory_order_relaxed)) {  // relaxed: see hear_signals()
    SignalHook::get().set();
    if (SignalHook::get().heard()) return cancel();
  }
  if (options_.deadline_ns != 0 && now_ns >= options_.deadline_ns) {
    stop(Outcome::deadline);
    return;
  }
  const std::int64_t limit_ns = plan_.time_limit_ns();
  if (limit_ns == 0) return;
  // relaxed, both: the watch's thread is the only one to use it while kernels run
  const std::int64_t since_ns = watched_since_ns_.load(std::memory_order_relaxed);
  if (since_ns == 0) {
    watched_since_ns_.store(now_ns, std::memory_order_relaxed);
  } else if (now_ns - since_ns >= limit_ns && stop(Outcome::deadline)) {
    // Ours alone: the run cannot end before the kernel that is looked at has.
    error_ = "it has computed for longer than its limit of " +
             std::to_string(limit_ns / 1'000'000) + " ms";
  }
}

void Run::take_inputs(const PlanNode& node, NodeValues& values) {
  for (const std::uint32_t index : plan_.inputs_of(node)) {
    ValuePtr& taken = values.inputs.emplace_back();
    if (index == no_slot) continue;
    Slot& slot = slots_[index];
    const PlanSlot& spec = plan_.slots()[index];
    // acquire: if we are the last reader, the others' copies happened before
    bool last = slot.uses.load(std::memory_order_acquire) == 1;
    if (last) {
      taken = std::move(slot.value);
    } else {
      taken = slot.value;
      // acq_rel: releases our copy, and acquires the others' if we turn out to be the last
      last = slot.uses.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }
    if (!last) continue;
    slot.value.reset();
    slot.uses.store(spec.uses,
                    std::memory_order_relaxed);  // relaxed: for the next run
    if (taken) values.released.emplace_back(spec.meter, taken->bytes());
  }
}

bool Run::compute(std::uint32_t index, const PlanNode& node, NodeValues& values) noexcept {
  try {
    values.outputs.resize(node.end_output - node.first_output);
    const KernelWatch::Stay stay(*this, index, has_pressing_limit());
    if (node.kernel != nullptr) node.kernel->execute(values.inputs, values.outputs, token_.get());
    return true;
  } catch (const StatusError& error) {
    fail(index, error.what(), error.code());
  } catch (const std::exception& error) {
    fail(index, error.what());
  } catch (...) {
    fail(index, "unknown exception");
  }
  values.outputs.clear();
  return false;
}

void Run::publish(std::uint32_t index, const PlanNode& node, NodeValues& values) noexcept {
  const auto slots = plan_.outputs_of(node);
  for (std::size_t i = 0; i < values.outputs.size(); ++i) {
    const PlanSlot& spec = plan_.slots()[slots[i]];
    ValuePtr& value = values.outputs[i];
    if (spec.uses == 0 || !value) continue;
    MemoryMeter& meter = machine_.meter(spec.meter);
    if (meter.try_add(value->bytes()))
      slots_[slots[i]].value = std::move(value);
    else
      fail(index,
           machine_.memory_name(spec.meter) + " out of memory: needs " +
               std::to_string(value->bytes()) + " bytes, has " +
               std::to_string(meter.limit_bytes() - std::min(meter.limit_bytes(), meter.bytes())) +
               " of " + std::to_string(meter.limit_bytes()));
  }
  values.outputs.clear();
  values.inputs.clear();
  for (const auto& [memory, size_bytes] : values.released)
    machine_.meter(memory).remove(size_bytes);
  values.released.clear();
}

}  // namespace engine
