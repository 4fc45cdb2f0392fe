// A query between two moments: all that decides what happens from then on.
#pragma once

#include <cstdint>
#include <vector>

#include "query.hpp"

namespace placement {

/// What will happen. Times here are counted from the moment, so that the same state may be gone on
/// from at another one.
struct Coming {
  Ns in_ns;
  Happening what;
  Index index;  ///< of the task that ends, or the tensor whose copy arrives
  Index link;   ///< nobody unless a copy arrives
  friend bool operator==(const Coming&, const Coming&) = default;
};

/// A device. Of the lists each kind of device has those that it needs.
struct DeviceMoment {
  std::int64_t free_lanes = 0;
  double work_ns = 0;           ///< as Lanes::work_ns
  Ns thread_in_ns = 0;          ///< until the submitting thread is free
  std::vector<Index> waiting;   ///< in the queue, the most urgent first
  std::vector<Index> running;   ///< by lane where tasks are submitted, else by index
  std::vector<Index> next;      ///< by lane: submitted behind the one that runs
  std::vector<Ns> launched_in;  ///< until these can start
  friend bool operator==(const DeviceMoment&, const DeviceMoment&) = default;
};

/// A link.
struct LinkMoment {
  Ns free_in_ns = 0;
  std::int64_t staged_bytes = 0;
  std::vector<Index> waiting;  ///< tensors, in the order of their turn
  friend bool operator==(const LinkMoment&, const LinkMoment&) = default;
};

/// All of them. From two that are equal all goes on alike, at whichever time.
struct Moment {
  std::vector<Coming> coming;  ///< in the order in which it will be booked
  std::vector<DeviceMoment> devices;
  std::vector<LinkMoment> links;
  friend bool operator==(const Moment&, const Moment&) = default;
};

/// A moment, and what came before it.
struct Saved {
  Index ended = 0;               ///< tasks
  std::uint64_t ended_hash = 0;  ///< the same for the same tasks
  std::vector<Index> missing;    ///< inputs that each task lacks
  Moment moment;
};

}  // namespace placement
