// A device whose work ends on a clock: base of the emulated device and of copy engines.
#pragma once

#include <atomic>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "device.hpp"
#include "inbox.hpp"
#include "parker.hpp"
#include "run.hpp"

namespace engine {

/// One thread takes ready nodes in the order of a ReadyQueue (run_order.hpp, then rank), lets the
/// derived class say when each ends, and sleeps until then without burning a core. Times are
/// virtual: a node that waited for a lane starts when the lane was free, and a node that waited for
/// one of this device when that one ended, however late the thread woke up.
class TimedDevice : public Device {
 public:
  TimedDevice(std::string name, int lanes, Machine& machine);

  void start() override;
  void stop() noexcept override;
  void push(const Task& task) override;
  void kick() noexcept override;
  [[nodiscard]] bool is_timed() const noexcept override { return true; }
  [[nodiscard]] DeviceStats stats() const override;

 protected:
  struct Span {
    int lane;
    std::int64_t start_ns, end_ns;
  };

  /// Whether a node could start at `now_ns`; called on the device's thread, as launch() is.
  [[nodiscard]] virtual bool can_start(const PlanNode& node, std::int64_t now) const = 0;
  /// When something that can_start() waits for happens.
  [[nodiscard]] virtual std::int64_t next_start_ns(const PlanNode& node) const = 0;
  /// Executes the node (its run may fail by that) and says when it starts and ends.
  virtual Span launch(const Task& task, const PlanNode& node, NodeValues& values) = 0;
  [[nodiscard]] Machine& machine() const noexcept { return machine_; }

 private:
  struct Pending {
    Task task;
    Span span;
    NodeValues values;
  };
  struct LaterEnd {
    bool operator()(const Pending& a, const Pending& b) const noexcept {
      return a.span.end_ns > b.span.end_ns;
    }
  };
  using Key = std::pair<RunOrder, std::uint32_t>;  ///< run, position in the plan
  struct Waiting {
    Key key;
    Task task;
    bool operator<(const Waiting& other) const noexcept { return key < other.key; }
  };

  void work();
  bool step();
  void drain();
  bool launch_one();
  void skip(const Task& task);
  bool end_one();
  void end(Pending& pending, int lane);
  void end_stopped();
  void watch(const Run& run) noexcept;
  void end_late();
  void park();

  Machine& machine_;
  Inbox inbox_;
  EventCount parked_;
  std::vector<Task> arrivals_;         ///< thread's own
  std::set<Waiting> backlog_;          ///< thread's own
  std::vector<Pending> pending_;       ///< thread's own; heap, earliest end first
  std::int64_t next_deadline_ns_ = 0;  ///< thread's own; of the runs held here, 0: none
  std::vector<std::pair<std::uint32_t, Task>> made_ready_;  ///< thread's own; empty between nodes
  std::atomic<std::uint64_t> executed_{0};
  std::atomic<std::uint64_t> backlog_size_{0};
  std::atomic<bool> kicked_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace engine
