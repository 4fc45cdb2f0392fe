// Queries that another thread asks for one by one, and what became of them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace loadgen {

/// All calls are for any thread; only take() blocks.
class Mailbox {
 public:
  /// A query that is to be sent.
  struct Asked {
    std::uint32_t request;
    std::int64_t asked_ns;
  };
  /// A query that has ended: its number, as ask() was called, and whether it succeeded.
  struct Ended {
    std::uint32_t row;
    bool is_ok;
  };

  void ask(std::uint32_t request);
  /// What was asked since the last call.
  [[nodiscard]] std::vector<Asked> asked();
  void put(const Ended& ended);
  /// Waits until something has ended. Empty: the run is over, and nothing will.
  [[nodiscard]] std::vector<Ended> take();

  /// Nothing more will be asked.
  void finish();
  [[nodiscard]] bool is_finished();
  /// Nothing more will end.
  void close();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Asked> asked_;
  std::vector<Ended> ended_;
  bool is_finished_ = false, is_closed_ = false;
};

}  // namespace loadgen
