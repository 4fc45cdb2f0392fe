#include "kernels/openvino/copies.hpp"

#include <exception>

namespace engine::kernels::openvino {

Copies::Copies(Shared& shared, const KernelParams& params, std::unique_ptr<CompiledModel> first)
    : shared_(shared), params_(params) {
  free_.push_back(std::move(first));
}

Copies::~Copies() {
  if (opener_.joinable()) opener_.join();
}

Copies::Lease Copies::take() {
  std::unique_lock lock(mutex_);
  if (free_.empty() && !is_closed()) {
    open_another();
    given_back_.wait(lock, [this] { return !free_.empty() || is_closed(); });
  }
  if (is_closed()) return {*this, nullptr};
  std::unique_ptr<CompiledModel> taken = std::move(free_.back());
  free_.pop_back();
  return {*this, std::move(taken)};
}

void Copies::give_back(std::unique_ptr<CompiledModel> model) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_closed()) free_.push_back(std::move(model));
  }
  given_back_.notify_one();
}

void Copies::close() {
  std::vector<std::unique_ptr<CompiledModel>> unused;
  {
    const std::lock_guard lock(mutex_);
    is_closed_.store(true, std::memory_order_relaxed);  // relaxed: the lock orders it
    unused.swap(free_);
  }
  given_back_.notify_all();
}

void Copies::open_another() {
  if (count_ >= params_.copies || is_opening_) return;
  if (opener_.joinable()) opener_.join();
  is_opening_ = true;
  ++count_;
  opener_ = std::thread([this] {
    std::unique_ptr<CompiledModel> model;
    try {
      model = std::make_unique<CompiledModel>(shared_.cores(), params_);
    } catch (const std::exception&) {
      model.reset();  // the others go on, one at a time
    }
    {
      const std::lock_guard lock(mutex_);
      is_opening_ = false;
      if (model && !is_closed()) free_.push_back(std::move(model));
    }
    given_back_.notify_one();
  });
}

}  // namespace engine::kernels::openvino
