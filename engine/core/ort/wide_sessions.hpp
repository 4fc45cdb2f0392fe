// Sessions and whose threads they run on: a pool of their own, or the one that all share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ort/session.hpp"

namespace engine::ort {

/// A session of a plan. Of width 1 it has no pool. A wide one has a pool of its own, whose threads
/// spin between operators and stop when the run ends, as long as there are few wide sessions; see
/// WideSessions. Thread-safe.
class PlanSession {
 public:
  /// As InferenceSession's constructor. May reopen other sessions, which takes as long.
  explicit PlanSession(SessionParams params);
  PlanSession(const PlanSession&) = delete;
  PlanSession& operator=(const PlanSession&) = delete;
  ~PlanSession();

  /// The session to run now; a run holds it until it ends.
  [[nodiscard]] std::shared_ptr<const InferenceSession> use() const;

 private:
  friend class WideSessions;

  [[nodiscard]] bool is_wide() const noexcept { return params_.width > 1; }
  /// Opens it anew on the shared pool; false, and it stays as it is, where that fails.
  bool give_up_pool();

  SessionParams params_;
  mutable std::mutex mutex_;  // guards session_, of wide sessions only
  std::shared_ptr<const InferenceSession> session_;
  mutable std::atomic<std::int64_t> last_used_ns_{0};
};

/// Decides which wide sessions have pools of their own. Few of them all do: that is as fast as
/// ONNX Runtime alone. When there are many, the last used keep pools of about the cores together
/// and the others move to the shared pool, so that a thousand models are not a thousand pools.
/// Thread-safe; blocks while sessions move.
class WideSessions {
 public:
  struct Stats {
    int sessions = 0;      ///< wide ones that are open
    int own_threads = 0;   ///< threads of pools of their own
    int pool_threads = 0;  ///< threads of the shared pool that run
  };

  [[nodiscard]] static WideSessions& get();
  [[nodiscard]] Stats stats() const;
  /// So many are about to be opened, each of `threads` pool threads: where that makes many, they
  /// are opened on the shared pool and need not move. Replaces what was said before.
  void expect(int sessions, int threads);

 private:
  friend class PlanSession;

  /// Before a session opens: whether it gets a pool of its own. Moves others if need be.
  [[nodiscard]] bool claim_pool(int threads);
  /// Once it is open it may be moved.
  void enter(PlanSession& session);
  /// Undoes both; `session` may be one that never entered.
  void leave(const PlanSession& session);
  void shrink_to(int threads);

  mutable std::mutex mutex_;
  std::vector<PlanSession*> open_;
  int sessions_ = 0;
  int wanted_threads_ = 0;  ///< if each had a pool of its own
  int own_threads_ = 0;
  int expected_threads_ = 0;  ///< of sessions still to come, if each had a pool of its own
};

}  // namespace engine::ort
