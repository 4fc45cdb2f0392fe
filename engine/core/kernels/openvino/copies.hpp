// The copies of a compiled model: each runs one query at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/library.hpp"
#include "kernels/openvino/compiled_model.hpp"

namespace engine::kernels::openvino {

/// What every kernel of the library shares.
class Shared {
 public:
  explicit Shared(const std::string& path) : cores_(path) {}
  [[nodiscard]] Cores& cores() noexcept { return cores_; }
  [[nodiscard]] bool has_failed() const noexcept {
    return failed_.load(std::memory_order_acquire);  // acquire: pairs with fail(), for the reason
  }
  void fail(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (!has_failed()) why_ = why;
    failed_.store(true, std::memory_order_release);  // release: see has_failed()
  }
  [[nodiscard]] std::string failure() const {
    const std::lock_guard lock(mutex_);
    return why_;
  }

 private:
  Cores cores_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::string why_;
};

/// The copies of a compiled model. Thread-safe.
class Copies {
 public:
  /// `params` outlive it.
  Copies(Shared& shared, const KernelParams& params, std::unique_ptr<CompiledModel> first);
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  /// Waits for one that is being opened.
  ~Copies();

  /// One that nobody else uses until this is gone.
  class Lease {
   public:
    Lease(Copies& from, std::unique_ptr<CompiledModel> model)
        : from_(from), model_(std::move(model)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      if (model_) from_.give_back(std::move(model_));
    }
    /// False of closed copies.
    [[nodiscard]] explicit operator bool() const noexcept { return model_ != nullptr; }
    [[nodiscard]] CompiledModel& operator*() const noexcept { return *model_; }
    [[nodiscard]] CompiledModel* operator->() const noexcept { return model_.get(); }

   private:
    Copies& from_;
    std::unique_ptr<CompiledModel> model_;
  };

  /// Waits for one. Where that takes a while, a further one is opened meanwhile, as long as there
  /// may be more. An empty one of closed copies.
  [[nodiscard]] Lease take();
  /// Frees those that nobody uses, and each other one once it is given back. For good.
  void close();
  [[nodiscard]] bool is_closed() const noexcept {
    return is_closed_.load(std::memory_order_relaxed);  // relaxed: take() asks again with the lock
  }

 private:
  void give_back(std::unique_ptr<CompiledModel> model);
  /// With the lock held.
  void open_another();

  Shared& shared_;
  const KernelParams& params_;
  std::mutex mutex_;  // held for nanoseconds
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<CompiledModel>> free_;
  int count_ = 1;  // those that are open, or were meant to be
  bool is_opening_ = false;
  std::atomic<bool> is_closed_{false};  // written with the lock held
  std::thread opener_;
};

}  // namespace engine::kernels::openvino
