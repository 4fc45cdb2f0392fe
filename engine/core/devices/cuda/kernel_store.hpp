// How a GPU's kernels are made, opened on lanes, captured and dropped.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

#include "devices/cuda/backlog.hpp"
#include "devices/cuda/gpu.hpp"

namespace engine::cuda {

/// What a plan holds of a kernel: the device itself owns it, and destroys it when the plan goes, or
/// else before its streams, whatever plans there still are.
class KernelSlot final : public CudaKernel {
 public:
  explicit KernelSlot(std::shared_ptr<const CudaKernel> kernel) : kernel_(std::move(kernel)) {}
  void enqueue(Launch& launch, std::span<const ValuePtr> inputs,
               std::span<ValuePtr> outputs) const override {
    kernel_->enqueue(launch, inputs, outputs);
  }
  [[nodiscard]] LaneSet lanes() const noexcept override { return kernel_->lanes(); }
  void open(const DeviceParts& device, std::uint32_t lane) const override {
    kernel_->open(device, lane);
  }
  [[nodiscard]] bool replays(std::uint32_t lane, std::span<const ValuePtr> inputs) const override {
    return kernel_->replays(lane, inputs);
  }
  /// Whether its last launches on a lane took less than a hand-over to the lane's thread may. The
  /// first ones do not count as such: they take long, and a session that is opened by a thread
  /// makes what it keeps for threads once where the next runs are that thread's.
  [[nodiscard]] bool is_brief(std::uint32_t lane) const noexcept {
    return brief_launches_[lane] >= brief_in_a_row;
  }
  void note_launch(std::uint32_t lane, std::int64_t took_ns) const noexcept {
    std::uint8_t& brief = brief_launches_[lane];
    brief = took_ns > brief_ns ? 0 : std::min<std::uint8_t>(brief + 1, brief_in_a_row);
  }
  /// The first time that a lane is asked for.
  [[nodiscard]] bool ask(std::uint32_t lane) const noexcept {
    const bool is_first = !has(asked_, lane);
    asked_ |= LaneSet{1} << lane;
    return is_first;
  }
  [[nodiscard]] const std::shared_ptr<const CudaKernel>& kernel() const noexcept { return kernel_; }
  void clear(bool is_lost) noexcept {
    if (is_lost && kernel_ != nullptr) kernel_->abandon();
    kernel_.reset();
  }

 private:
  static constexpr std::int64_t brief_ns = 100'000;
  static constexpr std::uint8_t brief_in_a_row = 8;

  std::shared_ptr<const CudaKernel> kernel_;  ///< the device's thread's own, as all here
  mutable LaneSet asked_ = 0;                 ///< refused ones stay
  mutable std::array<std::uint8_t, max_streams> brief_launches_{};
};

/// Makes kernels on the device's thread, which also destroys them. A kernel is opened on one lane
/// with its plan. Where another would have been less busy, which takes work that overlaps, it is
/// wished for there, and opened later.
class KernelStore {
 public:
  /// `settle()` waits until no lane is launching and the GPU is idle, `end_launches()` only the
  /// former, `lose(why)` ends all that is on the GPU; called by the device's thread.
  struct Calling {
    std::function<void()> settle, end_launches;
    std::function<void(const std::string&)> lose;
  };
  /// All outlive it.
  KernelStore(Gpu& gpu, std::shared_ptr<Calls> calls, Calling device)
      : gpu_(gpu), device_(std::move(device)), calls_(std::move(calls)) {}

  // --- for any thread; these wait for the device's one ---
  /// Adapts a kernel. Throws std::runtime_error.
  [[nodiscard]] std::shared_ptr<const Kernel> prepare(std::size_t partition,
                                                      std::shared_ptr<const Kernel> kernel,
                                                      std::uint32_t lane);
  /// Waits until the GPU is idle. Throws std::runtime_error.
  [[nodiscard]] std::shared_ptr<const Kernel> capture(std::size_t partition,
                                                      std::shared_ptr<const Kernel> prepared,
                                                      std::uint32_t lane);
  /// What other threads wait for; the device's one runs them.
  [[nodiscard]] Calls& calls() noexcept { return *calls_; }

  // --- for the device's thread ---
  /// Wants the node's kernel on a lane that would have been less busy.
  void wish(const PlanNode& node, std::size_t partition, std::uint32_t lane);
  /// Opens one kernel on a lane that was wished for, between queries: where nothing has happened
  /// for a millisecond, since `quiet_since_ns`. Where queries leave no such gap for a tenth of a
  /// second, they wait for it, for a fifth of the time at most. Never while another thread of
  /// the process opens or captures. Whether one was tried.
  bool open_further(std::optional<std::int64_t> quiet_since_ns);
  /// Gives memory of kernels that have gone back to the GPU, which is idle.
  void return_memory();
  /// Whether there is something to do when the GPU is idle.
  [[nodiscard]] bool waits_for_quiet() const noexcept {
    return returns_memory_ || !wishes_.empty();
  }
  void forget_wishes() noexcept { wishes_.clear(); }
  /// Destroys all kernels, on an idle GPU; no call may come any more, and it is the caller's turn.
  void clear();

 private:
  /// A lane that would have been less busy than those that the kernel is open on.
  struct Wish {
    const KernelSlot* kernel;
    std::size_t partition;
    std::uint32_t lane;
    std::int64_t since_ns;
  };
  using KernelMaker = std::function<std::shared_ptr<const CudaKernel>()>;

  [[nodiscard]] std::shared_ptr<const Kernel> make(const KernelMaker& maker);
  [[nodiscard]] std::shared_ptr<const Kernel> make_when_idle(const KernelMaker& maker);
  void drop(const std::shared_ptr<KernelSlot>& slot);
  [[nodiscard]] std::shared_ptr<const CudaKernel> opened(std::shared_ptr<const CudaKernel> kernel,
                                                         std::size_t partition, std::uint32_t lane);
  template <typename Maker>
  auto alone(const Maker& maker);
  void open(const Wish& wish);
  void lose_now();

  Gpu& gpu_;
  const Calling device_;
  const std::shared_ptr<Calls> calls_;
  std::unordered_set<std::shared_ptr<KernelSlot>> kernels_;
  std::deque<Wish> wishes_;
  std::int64_t next_opening_ns_ = 0;  ///< beside work, not earlier
  bool returns_memory_ = false;       ///< a kernel has gone, and its memory is to go too
};

}  // namespace engine::cuda
