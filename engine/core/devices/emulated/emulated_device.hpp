// Stands in for a GPU where there is none: real outputs, time charged from a profile.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "devices/emulated/copy_engine.hpp"
#include "devices/emulated/params.hpp"
#include "devices/emulated/timed_device.hpp"

namespace engine {

/// L streams, one submitting thread and the device's links, on one virtual clock.
///
/// Submitting a node takes the thread `submit_ns`; it can start on the device then, and the
/// thread goes on launching its operators for `PlanNode::launch_ns` more, which a captured node
/// spares it. The most urgent ready node goes to the lowest idle lane. If none is idle, or
/// nothing is ready, a lane that runs may get one more node behind the one that it runs, so that
/// its submission costs no time: the most urgent of those that are ready and those that wait for
/// nothing but running nodes of this device, if they end no later than the lane's own. It starts
/// when the lane is free and its inputs are there, without a round trip to the host.
///
/// With b lanes busy at its start, a node takes service_ns * slowdown[b - 1]. Its kernel is
/// executed on the device's thread when it starts, so it ends at the later of the charged time
/// and the real end of computing; with replay the outputs of the first execution are kept and
/// given again at no cost. placement/streams.py predicts by the same rules.
class EmulatedDevice final : public TimedDevice {
 public:
  EmulatedDevice(const DeviceParams& params, std::vector<LinkParams> links, std::uint32_t executor,
                 Machine& machine);

  /// Throws std::runtime_error if fail_prepare is set.
  [[nodiscard]] std::shared_ptr<const Kernel> prepare(std::shared_ptr<const Kernel> kernel,
                                                      std::uint32_t lane) override;
  [[nodiscard]] std::string failure() const override;
  [[nodiscard]] std::size_t metered_bytes() const noexcept override { return memory_bytes_; }
  [[nodiscard]] std::shared_ptr<const Kernel> capture(std::shared_ptr<const Kernel> prepared,
                                                      std::uint32_t lane) override;

 protected:
  void arrive(const Task& task) override;
  [[nodiscard]] std::int64_t next_event_ns() const override;
  void happen(std::int64_t clock_ns) override;
  void end_stopped() override;
  [[nodiscard]] std::size_t waiting() const override;
  void check_runs() override;

 private:
  /// A node that was submitted, until it ends.
  struct Submitted {
    TimedWork work;
    int width = 1;
    std::int64_t launched_ns = 0;
    bool here = false;  ///< whether its inputs are
  };
  using SubmittedPtr = std::shared_ptr<Submitted>;  ///< held by each of its lanes
  struct Lane {
    SubmittedPtr running, next;
    std::int64_t free_ns = 0;
    [[nodiscard]] bool is_idle() const noexcept { return !running && !next; }
    [[nodiscard]] bool takes_more() const noexcept { return running && !next; }
  };
  /// What could go behind the node that a lane runs.
  struct Ahead {
    WaitingNode waiting;
    std::int64_t inputs_ns;
    std::size_t lane;
    bool here;
  };

  void book();
  void launch_copies();
  [[nodiscard]] bool copies_end_now() const;
  bool submit_one();
  bool submit_ahead();
  void submit(const Task& task, const std::vector<std::size_t>& lanes, bool here);
  void consider(const WaitingNode& waiting, std::int64_t inputs_ns, bool here,
                std::vector<Ahead>& found) const;
  void prospects(const Submitted& running, std::vector<Ahead>& found) const;
  [[nodiscard]] std::int64_t inputs_ns(const Run& run, std::uint32_t node) const;
  [[nodiscard]] SubmittedPtr claim_of(const Task& task) const;
  bool start_all();
  void begin(Submitted& submitted);
  void compute(TimedWork& work, const PlanNode& node);
  void release(const SubmittedPtr& submitted);

  const EmulatedParams params_;
  const std::size_t memory_bytes_;
  std::vector<CopyEngine> links_;  ///< by PlanNode::link
  std::vector<Lane> lanes_;
  std::set<WaitingNode> backlog_;  ///< ready segments
  std::int64_t clock_ns_ = 0;
  std::int64_t submitter_free_ns_ = 0;
  std::atomic<bool> is_lost_{false};
  std::uint64_t executions_ = 0;
};

}  // namespace engine
