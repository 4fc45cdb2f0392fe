// What the lanes of a device and the thread that submits to them are booked for in a list schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "gaps.hpp"
#include "problem.hpp"

namespace placement {

/// What was booked of a lane, so that it can be undone.
struct Booked {
  Gaps* lane;
  Gap gap;
  Ns start_ns, end_ns;
};

/// Bookings to try out; undone from the last to the first.
class Journal {
 public:
  void add(const Booked& booked) { booked_.push_back(booked); }
  void undo();

 private:
  std::vector<Booked> booked_;
};

/// Some machines of one kind. A task of width 1 may fill a gap, a wider one starts when enough
/// machines have run out of work.
class Agenda {
 public:
  explicit Agenda(std::int64_t lanes) : lanes_(static_cast<std::size_t>(lanes)) {}

  [[nodiscard]] Ns earliest_ns(Ns ready_ns, Ns service_ns, std::int64_t width) const;
  /// Takes the first lanes that are free then.
  void book(Ns start_ns, Ns service_ns, std::int64_t width, Journal* journal);

 private:
  std::vector<Gaps> lanes_;
};

/// When a task could start on a device, and when its submission would begin.
struct Start {
  Ns start_ns, submission_ns;
};

/// The lanes of a device and its submitting thread; the problem must outlive it.
class DeviceAgenda {
 public:
  DeviceAgenda(const Problem& problem, Index device);

  /// The earliest start at or after `ready_ns`, submission included, at one of the device's places.
  [[nodiscard]] Start earliest(Index task, Index place, Ns ready_ns) const;
  /// Takes what `earliest` found; noted in the journal, if there is one.
  void book(Index task, Index place, const Start& start, Journal* journal = nullptr);

 private:
  [[nodiscard]] Ns held_ns(Index task) const noexcept;

  const Problem* problem_;
  Index device_;
  Agenda lanes_, thread_;
};

}  // namespace placement
