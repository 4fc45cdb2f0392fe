// What was submitted to a GPU and has not ended.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "devices/cuda/memory.hpp"
#include "devices/cuda/streams.hpp"
#include "scheduler/run.hpp"
#include "scheduler/task.hpp"

namespace engine::cuda {

struct Submitted {
  std::uint64_t number = 0;  ///< in order of submission
  Task task = {};
  Stamp stamp = {};
  std::int64_t start_ns = 0;
  NodeValues values = {};                ///< of a copy to the host, which publishes at its end
  Memory pinned = nullptr;               ///< what the copy reads or writes
  ValuePtr kept = nullptr;               ///< what the copy reads without staging
  std::vector<Memory> launch_kept = {};  ///< as Launch::take_kept()
};

/// Submissions by stream, in their order, and how many each run has. A run is held meanwhile, so
/// that a GPU that ends nodes in a wrong order gives wrong answers and not worse. For one thread.
class InFlight {
 public:
  explicit InFlight(std::uint32_t streams) : streams_(streams) {}

  [[nodiscard]] bool empty() const noexcept { return runs_.empty(); }
  [[nodiscard]] std::size_t count(std::uint32_t stream) const noexcept {
    return streams_[stream].size();
  }
  /// The last of a stream, or null.
  [[nodiscard]] const Submitted* last(std::uint32_t stream) const noexcept {
    return streams_[stream].empty() ? nullptr : &streams_[stream].back();
  }
  [[nodiscard]] bool has(const Run& run) const { return runs_.contains(&run); }

  /// At the end of the stream of its stamp.
  void add(Submitted entry);
  /// Those whose event has passed, and all, in the order of submission. end() has to follow for
  /// each.
  [[nodiscard]] std::vector<Submitted> take_passed(const Streams& streams);
  [[nodiscard]] std::vector<Submitted> take_all();
  /// One of the run's has ended; what held the run if it was the last.
  [[nodiscard]] std::optional<RunPtr> end(const Run& run);

 private:
  struct OfRun {
    int count = 0;
    RunPtr hold;
  };
  std::vector<std::deque<Submitted>> streams_;
  std::unordered_map<const Run*, OfRun> runs_;
  std::uint64_t next_number_ = 0;
};

}  // namespace engine::cuda
