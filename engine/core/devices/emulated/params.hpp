// What only an emulated device is opened with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace engine {

/// One direction of a link.
struct LinkParams {
  std::int64_t latency_ns = 0;
  double bytes_per_s = 1e9;
  std::int64_t occupancy_ns = 0;  ///< what a copy holds the link for besides its bytes
  std::size_t staging_bytes = 0;  ///< 0: unlimited
  bool pageable = false;
};

struct EmulatedParams {
  bool replay = false;                ///< answer from the outputs of the first execution
  std::int64_t submit_ns = 10'000;    ///< what a submission takes its submitting thread
  std::vector<double> slowdown = {};  ///< factor on service times with 1, 2, ... busy lanes
  std::int64_t first_run_ns = 0;      ///< extra cost of a node's first execution
  bool fail_prepare = false;          ///< refuse every kernel
  std::uint64_t fail_every = 0;       ///< every n-th execution fails; 0: never
  std::uint64_t lose_at = 0;          ///< the n-th execution loses the device; 0: never
  std::int64_t capture_ns = 0;        ///< extra cost of a captured node's first execution
  bool fail_capture = false;          ///< capture no graph: operators are launched one by one
  std::int64_t h2d_latency_ns = 10'000;
  double h2d_bytes_per_s = 12e9;
  std::int64_t h2d_occupancy_ns = 0;
  std::int64_t d2h_latency_ns = 10'000;
  double d2h_bytes_per_s = 12e9;
  std::int64_t d2h_occupancy_ns = 0;
  std::size_t staging_bytes = 0;  ///< pinned pool of each direction; 0: unlimited
  bool pageable = false;          ///< copies hold the submitting thread, too
};

}  // namespace engine
