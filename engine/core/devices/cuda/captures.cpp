#include "devices/cuda/captures.hpp"

namespace engine::cuda {

namespace {

std::mutex& turns() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

std::unique_lock<std::mutex> capture_turn() { return std::unique_lock(turns()); }

std::unique_lock<std::mutex> try_capture_turn() {
  return std::unique_lock(turns(), std::try_to_lock);
}

void ignore_captures_of_others(const Api& api) {
  int mode = capture_thread_local;
  api.exchange_capture_mode(&mode);
}

void end_capture(const Api& api, StreamHandle stream) noexcept {
  int status = 0;
  GraphHandle graph = nullptr;
  if (api.stream_is_capturing.code(stream, &status) != 0 || status == 0) return;
  api.stream_end_capture.code(stream, &graph);
  if (graph != nullptr) api.graph_destroy.code(graph);
}

}  // namespace engine::cuda
