// What a run tells who traces it, and the machine's recorder.
#include "scheduler/run.hpp"

namespace engine {

void Run::record_end() const noexcept {
  const std::int64_t end_ns = now_ns();
  const Outcome outcome = outcome_.load(std::memory_order_relaxed);  // relaxed: ours since finish()
  const std::int64_t due_ns = order_.is_due() ? order_.due_ns : 0;
  plan_.flown().add({static_cast<std::int64_t>(order_.arrival), begun_ns_, due_ns, end_ns,
                     static_cast<std::int64_t>(outcome)},
                    due_ns != 0 && end_ns > due_ns);
}

void Run::trace(std::uint32_t node, int lane, std::int64_t start_ns, std::int64_t end_ns,
                NodeRing* ring, int stacked) noexcept {
  if (options_.traced) {
    spans_[node].lane = lane;
    spans_[node].stacked = stacked;
    spans_[node].start_ns = start_ns;
    spans_[node].end_ns = end_ns;
  }
  if (!is_recorded_ || lane < 0) return;
  if (ring == nullptr) ring = &machine_.recorder().ring_of(plan_.node(node).executor);
  ring->write_node({static_cast<std::int64_t>(order_.arrival), plan_.flown().number(), node, lane,
                    start_ns, end_ns});
}

void Run::record_wait(int lane, const std::string& process, std::int64_t start_ns,
                      std::int64_t end_ns, NodeRing& ring) const {
  if (!is_recorded_) return;
  ring.write({static_cast<std::int64_t>(order_.arrival), plan_.flown().number(),
              -1 - machine_.recorder().number_of(process), lane, start_ns, end_ns});
}

}  // namespace engine
