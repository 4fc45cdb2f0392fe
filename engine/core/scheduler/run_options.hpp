// What a caller may say about one run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace engine {

class CompletionQueue;

/// Without `due_ns`, `priority` and `best_effort` it is as its plan's runs are (Plan::urgency).
struct RunOptions {
  std::int64_t deadline_ns = 0;          ///< on the monotonic clock, when it is ended; 0: none
  std::int64_t due_ns = 0;               ///< when it is to be answered; it goes on if it is not
  std::optional<int> priority = {};      ///< the higher goes first
  std::optional<bool> best_effort = {};  ///< behind all that is not
  bool traced = false;                   ///< record spans
  bool hears_signals = false;            ///< its caller, which computes, is who handles signals
  std::shared_ptr<CompletionQueue> completions = nullptr;
  std::int64_t tag = 0;  ///< the caller's, untouched
};

}  // namespace engine
