// The ready nodes of one CPU device, in the order in which its lanes take them.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/ready_set.hpp"
#include "scheduler/run_order.hpp"
#include "scheduler/seats.hpp"
#include "scheduler/spin_lock.hpp"
#include "scheduler/task.hpp"

namespace engine {

struct PlanNode;

/// The order is exact: the most urgent run first (run_order.hpp), and within a run the node that
/// was planned to start first (its rank, then its number). A heap holds the runs with ready nodes,
/// each run a bit set of them. The first up to 64 nodes of all are kept apart, beside the lock, so
/// that a pop moves a single cache line between the cores.
///
/// Not everybody may take the first node. A caller who helps takes nodes of its own run, and narrow
/// ones that are predicted to end before that does. A wide node is taken together with its seats;
/// while these are too few, nothing goes before it but more urgent nodes, and narrow ones that are
/// predicted to end before it could start (EASY backfilling: Lifka, "The ANL/IBM SP scheduling
/// system", 1995; without its second rule, for lanes that the wide node will leave over).
///
/// A run that is due is looked at when it is first of all: where it cannot be in time any more, it
/// gives way to those that may be (RunOrder), or, if it was promised to be (Admission), ends.
///
/// Thread-safe. Every call locks once, for 5-40 ns and O(log runs + nodes moved), while a wide node
/// waits O(lanes + backfill_looks) more; the heap's growth is the only allocation.
class ReadyQueue {
 public:
  /// Runs that are looked at for those that are alike, at most.
  static constexpr std::size_t alike_looks = 64;

  /// Who asks for a node.
  struct Taker {
    const Run* helps = nullptr;  ///< the run of a caller who helps, null: takes what comes
    int seats = 1;               ///< in hand; as many as the taken node needs, or more, afterwards
    /// Takes narrow nodes only that pre-empt this run; null: whatever comes.
    const RunOrder* before = nullptr;
  };

  /// Of the machine's executor with that index: runs keep a ReadySet per executor. `seats` are
  /// its device's; null: it has no wide nodes.
  explicit ReadyQueue(std::uint32_t executor, Seats* seats = nullptr);

  /// Adds nodes of one run, by their positions in the plan's order.
  void push(Run& run, std::span<const std::uint32_t> positions);
  /// Takes the first node that the taker may take. False if there is none.
  [[nodiscard]] bool pop(Task& task, Taker& taker);
  [[nodiscard]] bool pop(Task& task) {
    Taker anyone;
    return pop(task, anyone);
  }
  /// push and pop at once: takes what is first then, maybe one of `positions`; some are given.
  [[nodiscard]] bool exchange(Run& run, std::span<const std::uint32_t> positions, Task& task,
                              Taker& taker);
  /// Takes runs of that family (Run::family), each of a single node, which come next in the order:
  /// as many of those that wait as are one lane's share where `lanes` take of them, up to so many
  /// as `found` holds. Others may be passed over, but not what is more urgent or wide. Who is due
  /// before `late_from_ns` is late and gives way. Returns how many; O(alike_looks * log runs).
  [[nodiscard]] std::size_t take_alike(std::uint32_t family, std::span<Run*> found, int lanes,
                                       std::int64_t late_from_ns);
  /// Whose node goes first, if it is a narrow one.
  [[nodiscard]] std::optional<RunOrder> first_order();
  /// Whether who helps `run` would find a foreign node to take.
  [[nodiscard]] bool suits(const Run& run);
  /// Seats came free while a wide node waits: maybe a narrow one may start.
  void look_again();

  /// Whether there are nodes. seq_cst, so that a thread about to park and one that pushes cannot
  /// miss each other (parker.hpp); as the next two.
  [[nodiscard]] bool maybe_ready() const noexcept { return first_run() != nullptr; }
  /// Whose node is first; to be compared only, the run may be gone.
  [[nodiscard]] const Run* first_run() const noexcept {
    return shown_run_.load(std::memory_order_seq_cst);  // seq_cst: see maybe_ready()
  }
  /// Free seats from which on a thread would find a node to take.
  [[nodiscard]] int seats_needed() const noexcept {
    return shown_seats_.load(std::memory_order_seq_cst);  // seq_cst: see maybe_ready()
  }
  [[nodiscard]] std::size_t size_approx() const noexcept {
    return size_.load(std::memory_order_relaxed);  // relaxed: a statistic
  }

 private:
  struct Entry {
    RunOrder order;
    Run* run = nullptr;
    bool has_wide_nodes = false;
    std::uint32_t family = 0;
    /// For the standard heap, whose first element is the greatest.
    bool operator<(const Entry& other) const noexcept { return other.order < order; }
  };
  /// A node that was taken. What node it is, is looked up once the lock is free.
  struct Place {
    Run* run = nullptr;
    std::uint32_t position = 0;

    [[nodiscard]] Task task() const noexcept;
  };
  /// A node behind the first one, by its run's place: in the heap, or at its end for the front.
  struct Candidate {
    std::size_t place = 0;
    std::uint32_t position = 0;
  };

  void insert(Run& run, std::span<const std::uint32_t> positions);
  [[nodiscard]] bool take(Place& place, Taker& taker);
  [[nodiscard]] bool take_with_care(Place& place, Taker& taker);
  void let_late_ones_give_way();
  [[nodiscard]] bool comes_late() const noexcept;
  [[nodiscard]] Place take_first() noexcept;
  [[nodiscard]] Place take_from_behind(const Candidate& candidate);
  /// Whether the first node needs one seat, and is for everybody or of the run that the taker
  /// helps.
  [[nodiscard]] bool is_plain(const Taker& taker) const noexcept {
    return !front_.has_wide_nodes && taker.before == nullptr &&
           (taker.helps == nullptr || taker.helps == front_.run);
  }
  [[nodiscard]] int width_of_first() const noexcept;
  [[nodiscard]] std::optional<Candidate> behind_wide(int seats_in_hand, const Run* helps) const;
  [[nodiscard]] bool is_overtaken() const noexcept;
  void put_back_front();
  void refill_front() noexcept;
  void next_front();
  void show_nothing();
  [[nodiscard]] std::size_t count_alike(std::uint32_t family) const noexcept;
  void enter(const Entry& entry);
  void show();
  void add_size(std::uint32_t nodes) noexcept {
    // relaxed, both: written under the lock
    size_.store(size_.load(std::memory_order_relaxed) + nodes, std::memory_order_relaxed);
  }

  const std::uint32_t executor_;
  Seats* const seats_;
  std::vector<Entry> runs_;    ///< heap of the runs whose ReadySet is not empty
  std::vector<Entry> passed_;  ///< within take_alike()
  alignas(64) SpinLock lock_;
  std::atomic<std::uint32_t> size_{0};
  ReadySet::Word first_;  ///< nodes of front_ before all others; empty only if all is
  Entry front_;
  // On a line of their own, since spinners read them; written where they change only.
  alignas(64) std::atomic<const Run*> shown_run_{nullptr};
  std::atomic<int> shown_seats_{1};
};

}  // namespace engine
