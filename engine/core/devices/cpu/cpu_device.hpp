// N lanes of this process's cores.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "devices/cpu/cpu_spread.hpp"
#include "devices/cpu/loan.hpp"
#include "devices/cpu/stack.hpp"
#include "devices/device.hpp"
#include "scheduler/parker.hpp"
#include "scheduler/ready_nodes.hpp"
#include "scheduler/ready_queue.hpp"
#include "scheduler/ready_set.hpp"
#include "scheduler/run.hpp"
#include "scheduler/seats.hpp"
#include "scheduler/spin_lock.hpp"

namespace engine {

/// A lane is a seat: N worker threads and any number of helping submitters compete for N seats, so
/// at most N threads run nodes. A thread that finishes a node goes on with the first of all ready
/// nodes in the order of ReadyQueue; what else it made ready is in the queue before its next kernel
/// starts. It passes the queue by only where that changes nothing: if what it made ready is a
/// single narrow node or the device has no other lane, and nobody else's nodes wait. A submitter on
/// an idle machine runs its whole plan without any hand-over.
///
/// A node of width w is executed by a thread that holds w seats. Who finds it first in the queue
/// and free seats too few leaves its own; whoever finds enough free takes them all at once.
///
/// A helper takes what ReadyQueue lets it: its own run's nodes, and short foreign ones. Callers
/// park on their own run, so that its end wakes nobody else; ready nodes wake the helpers of their
/// run, then workers.
///
/// **A more urgent run does not wait longer than it can afford.** Where all seats are taken and
/// none is predicted to come free within a quarter of the time that the first run of the queue has
/// left, that is lent the place of the least urgent one that computes, if it goes before that by
/// more than its arrival (RunOrder::preempts): a further thread, the borrower, runs what goes
/// before that run, while the system divides a core between both (loan.hpp). Nobody's weight is
/// changed: who computes may hold a lock. Wide nodes are not lent, nor is what takes less than
/// `worth_lending_ns`.
///
/// What is best effort has as many lanes of its own, begun by the first such node. Their threads
/// run where no other thread of the process or the machine wants to (SCHED_IDLE, which needs no
/// privilege), so that an urgent node finds its lane free and takes the core from them at once. A
/// run is on one sort of lanes with all of its nodes.
///
/// A lane that has taken a run of a plan whose queries may be stacked takes further ones of it that
/// wait, and answers them by one call (cpu_stacks.cpp, stack.hpp).
///
/// No node is left waiting while a lane idles. Work in the queue with enough free seats always has
/// a thread coming: whoever makes one of both true (a push, a taken node that was in the way, a
/// seat given back) calls wake(), which looks at the other; a thread that stops spinning or
/// helping, and one that took a node, does so for the nodes that remain. A spinning helper counts
/// as coming: it wakes a worker for what it may not take.
class CpuDevice final : public Device {
 public:
  /// `executor` is its index in the machine; on one of its CPU devices callers help.
  CpuDevice(std::string name, int lanes, std::uint32_t executor, Machine& machine, bool has_helpers,
            bool is_idle = false);

  /// A shorter node is waited for.
  static constexpr std::int64_t worth_lending_ns = 300'000;

  void start() override;
  void stop() noexcept override;
  void push(const Task& task) override;
  [[nodiscard]] DeviceStats stats() const override;
  [[nodiscard]] CpuDevice* helper() noexcept override { return has_helpers_ ? this : nullptr; }

  /// Runs nodes until `run` is done, or it would wait beyond `until_ns` (0: no limit).
  void help(Run& run, std::int64_t until_ns);
  /// Takes a seat and runs `run` from those of its roots that are this device's. False, and
  /// nothing done, if no seat is free. `push_others` hands the other roots over first.
  template <typename PushOthers>
  bool run_here(Run& run, PushOthers&& push_others);

 private:
  [[nodiscard]] CpuDevice& idle_lanes();

  struct alignas(64) Lane {
    int id = 0;
    int shown_id = 0;                  ///< of the lane with the seat whose place it has
    int cpu = 0;                       ///< of its holder, when it sat down
    ReadyQueue::Taker taker;           ///< its seats, and whom its holder helps
    std::vector<std::uint32_t> fresh;  ///< positions made ready by the last node, not yet shared
    ReadySet kept;  ///< of the run in hand, on a device of one lane, which need not share
    Loan loan;
    Lane* lender = nullptr;       ///< whose place its holder takes; null: it has a seat
    RunOrder lenders_order;       ///< of what computes there
    bool is_coming = false;       ///< who borrows it has not looked for nodes yet
    int row = -1;                 ///< of the broker's table, once it has leased
    NodeRing* flights = nullptr;  ///< what it ran lately
    NodeValues values;
    Stack stack;           ///< what it answers together with the run in hand
    ReadyNodes elsewhere;  ///< made ready for other executors
    std::atomic<std::uint64_t> executed{0};
  };

  /// How a thread leaves what it did.
  enum class Left : std::uint8_t {
    nothing,    ///< there is no node for it
    by_itself,  ///< it is to leave the lane
    gone,       ///< its lane is another thread's now
  };

  void serve(Run* mine, std::int64_t until_ns = 0);
  void idle(Run* mine, std::int64_t until_ns);
  [[nodiscard]] SpinHabit& habit(const Run* mine) noexcept {
    return mine != nullptr ? helpers_waits_ : workers_waits_;
  }
  bool spin(Run* mine);
  [[nodiscard]] bool is_over(const Run* mine) const noexcept;
  [[nodiscard]] bool is_wanted(const Run* mine);
  [[nodiscard]] bool has_work() const noexcept;
  [[nodiscard]] int workers_coming() const noexcept;
  void wake(int count, ParkedHelpers* helpers = nullptr);

  [[nodiscard]] Lane* try_sit(const Run* mine, int seats);
  void leave(Lane& lane);
  void keep_seats(Lane& lane, int seats);
  void fit_seats(Lane& lane, int before, const Task& task);
  void give_back_seats(int seats);
  bool look_behind_wide();
  [[nodiscard]] Left drive(Lane& lane);
  bool linger(const Lane& lane);
  [[nodiscard]] Left run_from(Lane& lane, Task task);
  [[nodiscard]] bool take(Lane& lane, Task& task);
  [[nodiscard]] bool choose(Lane& lane, Task& task);
  [[nodiscard]] bool passes_queue_by(const Lane& lane, const Run& run) const;
  [[nodiscard]] Left run_node(Lane& lane, const Task& task);
  [[nodiscard]] Left hand_over(Lane& lane, Run& run, const PlanNode& node, std::int64_t end_ns);
  std::int64_t execute(Lane& lane, const Task& task, const PlanNode& node);
  void note_time(Run& run, std::uint32_t node, std::int64_t began_ns,
                 std::optional<std::int64_t> had_ns) const;
  [[nodiscard]] bool gather(Lane& lane, Run& run, const Stacking* stacking);
  std::int64_t execute_stack(Lane& lane, const Task& task, const PlanNode& node);
  void forecast(const Lane& lane, std::int64_t end_ns);
  void complete(Lane& lane, Run& run, const PlanNode& node, std::int64_t end_ns);
  void prepare(Lane& lane, const Run& run) const {
    if (alone_) lane.kept.reserve(run.plan().node_count());
  }
  void keep(Lane& lane, std::uint32_t position) const {
    if (alone_)
      lane.kept.insert(position);
    else
      lane.fresh.push_back(position);
  }
  void flush(Lane& lane, Run& run);

  // --- loans (cpu_loans.cpp) ---
  [[nodiscard]] bool is_lendable(const Lane& lane, std::int64_t service_ns,
                                 bool leases) const noexcept;
  void lend();
  bool lend_once();
  [[nodiscard]] Lane* least_urgent(const RunOrder& first, Loan::Offer& offer);
  [[nodiscard]] bool begin_borrower();
  void borrow();
  [[nodiscard]] bool await_vacancy(Lane*& place);
  void serve_loan(Lane* place);
  void return_place(Lane& place);
  void arrived(Lane& place);
  void offer_vacancy(Lane* place);
  void empty_kept(Lane& lane);

  // --- leases among processes (cpu_leases.cpp) ---
  [[nodiscard]] bool is_leased(std::int64_t service_ns) const noexcept;
  void lease(Lane& lane, const Task& task, std::int64_t service_ns, bool lends);
  void give_back_rows() noexcept;

  Machine& machine_;
  const std::uint32_t executor_;
  const bool alone_;  ///< one lane: nobody to share with
  const bool has_helpers_;
  const bool is_idle_;  ///< the lanes of what is best effort
  Seats seats_;
  CpuSpread spread_;
  std::vector<std::unique_ptr<Lane>> by_id_;  ///< those with seats, then places for borrowers
  ReadyQueue queue_;
  EventCount workers_parked_;
  alignas(64) std::atomic<int> spinning_workers_{0};
  std::atomic<int> spinning_helpers_{0};
  SpinHabit workers_waits_, helpers_waits_;
  std::atomic<std::int64_t> idle_since_ns_{0};  ///< when a worker last ran out of nodes
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> helper_wakes_{0};
  std::mutex threads_mutex_;
  std::vector<std::thread> workers_;  // guarded by threads_mutex_
  std::atomic<bool> lends_{false};    ///< there was a run that may go before others
  std::atomic<int> lend_calls_{0};
  SpinLock places_lock_;
  std::vector<Lane*> free_places_;  // guarded by places_lock_
  std::vector<Lane*> vacancies_;    // for borrowers; guarded by places_lock_
  std::atomic<int> vacant_{0};      ///< how many of these
  std::atomic<int> coming_{0};      ///< borrowers that have not looked for nodes yet
  std::atomic<int> borrowers_{0};   ///< threads that wait for vacancies, or come to
  EventCount borrowers_parked_;
  mutable std::mutex idle_mutex_;  // guards idle_
  std::unique_ptr<CpuDevice> idle_;
  std::atomic<CpuDevice*> idle_shown_{nullptr};
};

template <typename PushOthers>
bool CpuDevice::run_here(Run& run, PushOthers&& push_others) {
  Lane* lane = try_sit(&run, 1);
  if (lane == nullptr) return false;
  prepare(*lane, run);
  for (const std::uint32_t index : run.plan().roots()) {
    const PlanNode& node = run.plan().node(index);
    if (node.executor == executor_) keep(*lane, node.position);
  }
  push_others();
  if (!lane->fresh.empty() || !lane->kept.empty()) {
    Task task{.run = &run};
    Left left = choose(*lane, task) ? run_from(*lane, task) : Left::by_itself;
    if (left == Left::nothing) left = drive(*lane);
    if (left == Left::gone) return true;
  }
  leave(*lane);
  return true;
}

}  // namespace engine
