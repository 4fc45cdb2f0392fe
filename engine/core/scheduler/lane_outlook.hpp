// What the lanes of one device have before them, and when a further run would end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "scheduler/run_order.hpp"

namespace engine {

/// When something is predicted to begin and to end, and within what time after that it nearly
/// always has ended.
struct Outlook {
  std::int64_t start_ns = 0, end_ns = 0, margin_ns = 0;

  [[nodiscard]] std::int64_t surely_ns() const noexcept { return end_ns + margin_ns; }
};

/// The runs that were admitted to a device and have not ended, in their order, with what each has
/// left to do. Predicts by list scheduling: each run in its order takes the lanes that are free
/// first. What computes on one lane makes way for what pre-empts it (RunOrder); what computes on
/// several does not. Errors of different runs are taken to be independent, but for a share of the
/// time from now on, by which all may be slower.
///
/// One thread at a time. O(runs * log lanes) a prediction; allocates only where it grows.
class LaneOutlook {
 public:
  static constexpr std::int64_t nothing_promised = std::numeric_limits<std::int64_t>::max();

  /// Of one run: what it takes of the lanes' time.
  struct Work {
    RunOrder order;
    std::int64_t left_ns = 0;
    std::int64_t margin_ns = 0;  ///< beyond which it nearly never takes more than that
    int width = 1;               ///< lanes that it takes at once
    std::int64_t due_ns = nothing_promised;
    /// It begins and ends not before: it waits elsewhere, too.
    std::int64_t least_start_ns = 0, least_end_ns = 0;
    Outlook outlook = {};  ///< as of the last run that was admitted before it
    // Of the nodes that compute now: their lanes, when these began, summed up, what was expected.
    int computing = 0;
    std::int64_t since_ns = 0, in_hand_ns = 0;
  };
  /// What would be if a run was admitted.
  struct Forecast {
    Outlook outlook;
    /// By how much it would make the end of a run late that was promised; 0: it would not.
    std::int64_t harms_ns = 0;
  };

  /// Of what another process computes on the device's cores, or waits to.
  struct Elsewhere {
    RunOrder order;
    std::int64_t left_ns = 0;  ///< on each of its lanes
    int lanes = 1;
    bool waits = false;
  };

  explicit LaneOutlook(int lanes) : lanes_(lanes) {}

  [[nodiscard]] int lanes() const noexcept { return lanes_; }
  [[nodiscard]] std::size_t size() const noexcept { return runs_.size(); }
  /// What there is elsewhere from now on, in the order in which it has cores, best effort excluded;
  /// `spare` of these the device has no lanes for.
  void share(std::span<const Elsewhere> others, int spare);
  /// Of a run that is not there yet.
  [[nodiscard]] Forecast forecast(const Work& work, std::int64_t now_ns);
  /// How long a further run waits for a lane that nothing makes way for; what is best effort makes
  /// way for all.
  [[nodiscard]] std::int64_t wait_ns(std::int64_t now_ns);
  /// Admits the run of the last forecast.
  void add(const Work& work);
  /// A run has ended; what it was predicted to do. Nothing if it is not there.
  [[nodiscard]] Work remove(const RunOrder& order);
  /// A node of a run begins on so many lanes, expected to take `expected_ns` of them.
  void begin(const RunOrder& order, int lanes, std::int64_t expected_ns, std::int64_t now_ns);
  /// It has ended, which began at `began_ns`.
  void end(const RunOrder& order, int lanes, std::int64_t expected_ns, std::int64_t began_ns);

 private:
  /// A lane, and when it is free.
  struct Lane {
    std::int64_t free_ns = 0;
    double squared_margin = 0;  ///< ns^2, of what is before that
    /// For the standard heap, whose first element is the greatest.
    bool operator<(const Lane& other) const noexcept { return other.free_ns < free_ns; }
  };
  using Lanes = std::vector<Lane>;

  [[nodiscard]] std::size_t place_of(const RunOrder& order) const;
  [[nodiscard]] Work* find(const RunOrder& order);
  void occupy(const Work& newcomer, std::int64_t now_ns);
  void occupy_elsewhere(const RunOrder& newcomer, std::int64_t now_ns);
  [[nodiscard]] Outlook take(Lanes& lanes, int width, std::int64_t work_ns, std::int64_t margin_ns,
                             std::int64_t now_ns) const;
  [[nodiscard]] Outlook take_run(Lanes& lanes, const Work& work, bool holds_lanes,
                                 std::int64_t now_ns) const;

  const int lanes_;
  std::vector<Work> runs_;  ///< sorted
  std::size_t promised_ = 0;
  std::vector<Elsewhere> elsewhere_;
  int spare_ = 0;
  Lanes with_, without_;  ///< of a forecast; heaps
  // Of the last forecast.
  std::size_t newcomers_place_ = 0;
  Outlook newcomers_;
  std::vector<Outlook> outlooks_;  ///< of the runs behind it
};

}  // namespace engine
