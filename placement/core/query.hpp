// One query on its way: what is known of each task, and what will happen next.
#pragma once

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "holds.hpp"
#include "problem.hpp"
#include "ready_queue.hpp"

namespace placement {

/// What happens at one moment happens in this order.
enum class Happening : std::uint8_t { task_ends, copy_arrives, wakes };

struct Event {
  Ns at_ns;
  Happening what;
  Index index;  ///< of the task or the copy; 0 of a wake
  friend bool operator<(const Event& a, const Event& b) noexcept {
    return std::tie(a.at_ns, a.what, a.index) < std::tie(b.at_ns, b.what, b.index);
  }
  friend bool operator>(const Event& a, const Event& b) noexcept { return b < a; }
};

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
  [[nodiscard]] Index home(Index task) const noexcept { return problem.home(device(task)); }
  /// Lanes that a task takes where it was placed, and for how long.
  [[nodiscard]] std::int64_t width(Index task) const noexcept {
    return problem.width(task, device(task));
  }
  [[nodiscard]] Ns service_ns(Index task) const noexcept {
    return problem.service_ns(task, device(task));
  }
  [[nodiscard]] Index memory(Index task) const noexcept { return memory_of[at(task)]; }
  [[nodiscard]] Index task(Key key) const noexcept { return task_at[at(key.rank)]; }

  /// A task starts and will end.
  void start(Index task, Ns now_ns, Ns service_ns);
  void push(Event event);
  [[nodiscard]] Event pop();

  const Problem& problem;
  bool is_fifo = false;
  Holds holds;
  std::vector<Index> device_of, memory_of;  ///< place and memory of each task
  std::vector<Index> rank_of, task_at;      ///< of each task, by priority; the task of each rank
  std::vector<Index> missing;               ///< inputs that each task still lacks
  std::vector<Ns> ready_ns, start_ns, end_ns;
  std::vector<Ns> launched_ns;   ///< from when a submitted task can start; -1: not submitted
  std::vector<char> is_running;  ///< of devices with streams
  std::vector<Event> events;     ///< a heap

 private:
  void take_devices(std::span<const std::int64_t> device_of);
  void rank(std::span<const std::int64_t> priority);
  [[nodiscard]] bool are_ranks(std::span<const std::int64_t> priority);
};

}  // namespace placement
