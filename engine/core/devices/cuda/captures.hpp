// Captures of CUDA graphs beside other threads of the process, ours and the user's.
#pragma once

#include <mutex>

#include "devices/cuda/api.hpp"

namespace engine::cuda {

/// While a thread captures, CUDA refuses calls that may be unsafe, polling an event among them, and
/// ends the capture: in global mode, which ONNX Runtime and torch.cuda.graph use, also the calls of
/// other threads, unless these say that they do not take part. Calls that wait for the whole
/// device, as opening and ending a session does, may never be made during a capture of the process:
/// they and captures take turns. Not to be taken twice by a thread.
[[nodiscard]] std::unique_lock<std::mutex> capture_turn();
/// The same without waiting: holds nothing where it is not one's turn.
[[nodiscard]] std::unique_lock<std::mutex> try_capture_turn();

/// From now on captures of other threads forbid the calling thread nothing; its own still do.
/// Throws Error.
void ignore_captures_of_others(const Api& api);

/// The same for a while, in any mode, for threads that are not ours. Does not throw: where the mode
/// cannot be changed it stays.
class CaptureModeScope {
 public:
  explicit CaptureModeScope(const Api& api, int mode = capture_relaxed) noexcept
      : api_(api), mode_(mode), is_changed_(api.exchange_capture_mode.code(&mode_) == 0) {}
  CaptureModeScope(const CaptureModeScope&) = delete;
  CaptureModeScope& operator=(const CaptureModeScope&) = delete;
  ~CaptureModeScope() {
    if (is_changed_) api_.exchange_capture_mode.code(&mode_);
  }

 private:
  const Api& api_;
  int mode_;
  const bool is_changed_;
};

/// Ends what a failed capture may have left on a stream; it captures no more then.
void end_capture(const Api& api, StreamHandle stream) noexcept;

}  // namespace engine::cuda
