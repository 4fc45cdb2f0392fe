// Whether a run is admitted: what cannot be in time, or would wait for too long, is refused at
// once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broker/broker.hpp"
#include "devices/device.hpp"
#include "scheduler/admission_rules.hpp"
#include "scheduler/error_margins.hpp"
#include "scheduler/flow_demand.hpp"
#include "scheduler/lane_outlook.hpp"
#include "scheduler/spin_lock.hpp"

namespace engine {

class Plan;
class Run;

/// The lock over all outlooks of a machine, and what is known of how good they are.
///
/// A run that is due and comes where late ones are refused is admitted if it ends in time with a
/// probability of 99 %, as predicted from measured times, behind what goes before it (RunOrder) and
/// with what is kept for other models (FlowDemand), and if no promised one comes late by it. That
/// is a promise; so is what is expected in time, not surely, where it begins at once, or its model
/// has one of its few chances left.
/// What was not promised and would be late, or make a promised one late, is ordered as late from
/// the start. Of runs that are not due the time until they begin counts.
///
/// By how much single runs are off at most, of a hundred one, is learnt, and so are the chances
/// (ErrorMargins).
///
/// What waits before it in its model's room counts, too (WaitingRoom::forecast).
///
/// What runs on a CPU is followed node by node; of what runs on other devices the planned times
/// count, whole until the run ends. What other processes lease of the cores counts (broker.hpp);
/// what they have not begun is not known. Runs count once a plan has rules: until then nothing is
/// locked. Thread-safe; O(runs * log lanes) a run.
class Admission {
 public:
  struct Counts {
    std::uint64_t promised = 0;  ///< runs that were promised to be in time
    std::uint64_t kept = 0;      ///< of those that have ended, which were
    std::uint64_t broken = 0;    ///< and which not, or were dropped
    std::uint64_t refused = 0;   ///< for the end, or the wait, that was predicted
  };
  /// Why a run is refused: by how much it would be late, or wait longer than it may; 0: it is not.
  struct Verdict {
    std::int64_t by_ns = 0;
    bool is_late = false;
    [[nodiscard]] bool refuses() const noexcept { return by_ns > 0; }
    /// What to tell who asked.
    [[nodiscard]] std::string text() const;
  };

  Admission(const std::vector<std::unique_ptr<Device>>& devices, broker::Broker& broker);

  /// A plan has rules: from now on runs count.
  void begin() noexcept {
    counts_runs_.store(true, std::memory_order_relaxed);  // relaxed: a run that is just missed
  }
  [[nodiscard]] bool counts_runs() const noexcept {
    return counts_runs_.load(std::memory_order_relaxed);  // relaxed: as above
  }
  /// Judges a run that has begun and is not shared yet; counts it unless it is refused.
  [[nodiscard]] Verdict admit(Run& run, std::int64_t now_ns);
  /// What would be of such a run, which is not to be submitted if it is refused.
  /// `priority` is what its caller has said.
  [[nodiscard]] Verdict foresee(const Plan& plan, const RunOrder& order,
                                const std::optional<int>& priority, std::int64_t now_ns);
  /// Of a run that counts: it has ended.
  void leave(const Run& run, std::int64_t now_ns) noexcept;
  /// Of one that counts: a node that takes `lanes` for `expected_ns` in all begins, or has ended.
  void begin_node(const Run& run, std::uint32_t executor, int lanes, std::int64_t expected_ns,
                  std::int64_t now_ns) noexcept;
  void end_node(const Run& run, std::uint32_t executor, int lanes, std::int64_t expected_ns,
                std::int64_t began_ns) noexcept;
  [[nodiscard]] Counts counts() const noexcept;
  /// How long a further run, less urgent than all that are due, waits for a lane of the busiest
  /// device. O(runs * log lanes).
  [[nodiscard]] std::int64_t wait_ns(std::int64_t now_ns);

 private:
  /// What is predicted of a run on all devices that it needs.
  struct Prediction {
    Outlook outlook;
    std::int64_t harms_ns = 0;
    std::int64_t kept_ns = 0;
    /// Whether, if it is refused, it is for what it takes itself, or what it may: it makes no
    /// promised one late, and begins at once, or is expected to be in time.
    [[nodiscard]] bool is_for_its_time(const RunOrder& order, std::int64_t now_ns) const noexcept {
      return harms_ns == 0 && (outlook.start_ns <= now_ns || outlook.end_ns <= order.due_ns);
    }
  };

  [[nodiscard]] Prediction predict(const Plan& plan, const RunOrder& order, const Outlook& room,
                                   std::int64_t now_ns);
  [[nodiscard]] bool is_asked(const Plan& plan, const RunOrder& order, const Prediction& found,
                              std::int64_t now_ns) noexcept;
  [[nodiscard]] Promise promise(const Plan& plan, const RunOrder& order, const Prediction& found,
                                const Verdict& verdict, std::int64_t now_ns) const;
  [[nodiscard]] Verdict judge(const Plan& plan, const RunOrder& order, const Prediction& found,
                              std::int64_t now_ns) const;
  void look_elsewhere(std::int64_t now_ns);
  void add(bool is_promised);

  broker::Broker& broker_;
  int host_ = -1;  ///< the CPU device that is shared with other processes
  std::atomic<bool> counts_runs_{false};
  mutable SpinLock lock_;
  // All guarded by lock_.
  std::vector<LaneOutlook> outlooks_;     ///< by executor
  std::vector<LaneOutlook::Work> works_;  ///< of the last predicted run, by executor
  std::vector<LaneOutlook::Elsewhere> elsewhere_;
  FlowDemand demand_;
  ErrorMargins margins_;
  Counts counts_;
};

}  // namespace engine
