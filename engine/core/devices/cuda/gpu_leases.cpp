// A GPU among the processes that use it: the parts of CudaDevice that know of the broker.
#include <algorithm>
#include <ranges>

#include "devices/cuda/cuda_device.hpp"

namespace engine::cuda {

/// Short nodes pay nothing, nor does any while there is no other process.
bool CudaDevice::is_leased(const PlanNode& node) const noexcept {
  return node.service_ns >= broker::Broker::worth_leasing_ns && machine_.broker().is_shared();
}

/// Whether it is our turn on the GPU.
bool CudaDevice::may_submit(const Task& task) {
  const Run& run = *task.run;
  const PlanNode& node = run.plan().node(task.node);
  return lease_->may_submit({.order = run.order(),
                             .arrival_ns = run.begun_ns(),
                             .service_ns = node.service_ns,
                             .what = run.plan().node_name(task.node)},
                            now_ns());
}

/// Lets go of the lease where nothing of ours is on the GPU, or to be.
void CudaDevice::let_others() {
  const auto waits = [this](std::size_t i) { return !backlog_.empty(Backlog::kernels_of(i)); };
  const bool is_over =
      lease_->is_held()
          ? !kernels_in_flight()
          : lease_->waits() && std::ranges::none_of(
                                   std::views::iota(std::size_t{0}, gpu_.partitions.size()), waits);
  if (is_over) lease_->end();
}

bool CudaDevice::kernels_in_flight() const noexcept {
  if (is_launching()) return true;
  return std::ranges::any_of(std::views::iota(std::uint32_t{0}, gpu_.in_stream),
                             [this](std::uint32_t lane) { return in_flight_.count(lane) != 0; });
}

}  // namespace engine::cuda
