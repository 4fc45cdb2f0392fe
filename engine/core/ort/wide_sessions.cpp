#include "ort/wide_sessions.hpp"

#include <algorithm>
#include <utility>

#include "ort/pool.hpp"
#include "scheduler/clock.hpp"
#include "scheduler/cores.hpp"

namespace engine::ort {
namespace {

int threads_of(int width) { return width - 1; }  // the caller is the first

/// Pool threads while there are few wide sessions: four pools of all cores, or some more.
int few_threads() { return std::max(16, 4 * threads_of(available_cores())); }

/// Pool threads when there are many: one pool of all cores.
int many_threads() { return threads_of(available_cores()); }

}  // namespace

PlanSession::PlanSession(SessionParams params) : params_(without_races(std::move(params))) {
  const auto when_read = std::exchange(params_.when_read, {});  // of the first opening alone
  const auto open = [&] {
    SessionParams opening = params_;
    opening.when_read = when_read;
    return std::make_shared<const InferenceSession>(opening);
  };
  if (!is_wide()) {
    session_ = open();
    return;
  }
  WideSessions& all = WideSessions::get();
  params_.shared_pool = !all.claim_pool(threads_of(params_.width));
  try {
    session_ = open();
    all.enter(*this);
  } catch (...) {
    all.leave(*this);
    throw;
  }
}

PlanSession::~PlanSession() {
  if (is_wide()) WideSessions::get().leave(*this);
}

std::shared_ptr<const InferenceSession> PlanSession::use() const {
  // No count of holders for a session that never moves: lanes would pass its cache line around.
  if (!is_wide()) return {std::shared_ptr<const void>(), session_.get()};
  last_used_ns_.store(now_ns(), std::memory_order_relaxed);  // relaxed: a hint whom to move first
  const std::lock_guard lock(mutex_);
  return session_;
}

bool PlanSession::give_up_pool() {
  SessionParams params = params_;
  params.shared_pool = true;
  try {
    auto session = std::make_shared<const InferenceSession>(params);
    const std::lock_guard lock(mutex_);
    session_.swap(session);
  } catch (const std::exception&) {
    return false;  // its file may be gone; the session that it has goes on
  }
  params_.shared_pool = true;
  return true;
}

WideSessions& WideSessions::get() {
  static WideSessions* const instance = new WideSessions;  // outlives every session
  return *instance;
}

WideSessions::Stats WideSessions::stats() const {
  const std::lock_guard lock(mutex_);
  return {sessions_, own_threads_, shared_pool_threads()};
}

void WideSessions::expect(int sessions, int threads) {
  const std::lock_guard lock(mutex_);
  expected_threads_ = sessions * threads;
}

bool WideSessions::claim_pool(int threads) {
  const std::lock_guard lock(mutex_);
  ++sessions_;
  wanted_threads_ += threads;
  expected_threads_ = std::max(0, expected_threads_ - threads);
  bool own = wanted_threads_ + expected_threads_ <= few_threads();
  if (!own) {
    start_shared_pool();
    shrink_to(many_threads());
    own = own_threads_ + threads <= many_threads();
  }
  if (own) own_threads_ += threads;
  return own;
}

void WideSessions::enter(PlanSession& session) {
  const std::lock_guard lock(mutex_);
  open_.push_back(&session);
}

void WideSessions::leave(const PlanSession& session) {
  const std::lock_guard lock(mutex_);
  std::erase(open_, &session);
  --sessions_;
  wanted_threads_ -= threads_of(session.params_.width);
  if (!session.params_.shared_pool) own_threads_ -= threads_of(session.params_.width);
}

void WideSessions::shrink_to(int threads) {
  if (own_threads_ <= threads) return;
  // relaxed: whoever runs at this moment may be taken for idle, which costs it time only
  std::ranges::stable_sort(open_, {}, [](const PlanSession* session) {
    return session->last_used_ns_.load(std::memory_order_relaxed);
  });
  for (PlanSession* session : open_) {
    if (own_threads_ <= threads) return;
    if (session->params_.shared_pool || !session->give_up_pool()) continue;
    own_threads_ -= threads_of(session->params_.width);
  }
}

}  // namespace engine::ort
