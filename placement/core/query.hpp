// One query on its way: what is known of each task, and what will happen next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "event_queue.hpp"
#include "holds.hpp"
#include "problem.hpp"
#include "ready_queue.hpp"

namespace placement {

/// Which place runs each task, how urgent each is (lower starts first), in which order queues go,
/// and who is held.
struct Placed {
  std::span<const std::int64_t> device_of, priority;
  bool is_fifo = false;                      ///< by the time of becoming ready, ties by priority
  std::span<const std::int64_t> holds = {};  ///< as Holds::take
};

/// What the parts of a simulation share. Its arrays are used again, query after query.
class Query {
 public:
  explicit Query(const Problem& problem);

  /// Throws std::invalid_argument, naming the task, if the placement cannot be run.
  void begin(const Placed& placed);
  /// As before anything happened, of the placement that its arrays hold.
  void rewind();

  [[nodiscard]] Key key(Index task) const noexcept {
    return {is_fifo ? ready_ns[at(task)] : 0, rank_of[at(task)]};
  }
  [[nodiscard]] Index device(Index task) const noexcept { return device_of[at(task)]; }
  [[nodiscard]] Index home(Index task) const noexcept { return home_of[at(task)]; }
  /// Lanes that a task takes where it was placed, and for how long.
  [[nodiscard]] std::int64_t width(Index task) const noexcept {
    return problem.width(task, device(task));
  }
  [[nodiscard]] Ns service_ns(Index task) const noexcept { return service_of[at(task)]; }
  [[nodiscard]] Index memory(Index task) const noexcept { return memory_of[at(task)]; }
  [[nodiscard]] Index task(Key key) const noexcept { return task_at[at(key.rank)]; }

  /// Puts a task on a place that can run it.
  void put(Index task, Index place) noexcept {
    device_of[at(task)] = place;
    home_of[at(task)] = problem.home(place);
    memory_of[at(task)] = problem.memory(place);
    service_of[at(task)] = problem.service_ns(task, place);
  }

  /// A task starts and will end.
  void start(Index task, Ns now_ns, Ns service_ns) {
    const Ns end = later(now_ns, service_ns);
    start_ns[at(task)] = now_ns;
    end_ns[at(task)] = end;
    events.push(end, Happening::task_ends, task);
  }

  const Problem& problem;
  bool is_fifo = false;
  Holds holds;
  std::vector<Index> device_of, home_of, memory_of;  ///< place, its device and memory, of each task
  std::vector<Ns> service_of;                        ///< of each task where it is
  std::vector<Index> rank_of, task_at;  ///< of each task, by priority; the task of each rank
  std::vector<Index> missing;           ///< inputs that each task still lacks
  std::vector<Ns> ready_ns, start_ns, end_ns;
  std::vector<Ns> launched_ns;   ///< from when a submitted task can start; -1: not submitted
  std::vector<char> is_running;  ///< of devices with streams
  EventQueue events;

 private:
  void take_devices(std::span<const std::int64_t> device_of);
  void rank(std::span<const std::int64_t> priority);
  [[nodiscard]] bool are_ranks(std::span<const std::int64_t> priority);
};

}  // namespace placement
