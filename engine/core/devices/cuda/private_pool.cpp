#include "devices/cuda/private_pool.hpp"

namespace engine::cuda {

PrivatePool::~PrivatePool() {
  // Whoever gets the chunks next, on whatever stream, comes after all that was submitted here.
  for (const Memory& chunk : chunks_) memory_.note_use(chunk.get(), streams_.next(lane_));
}

Memory PrivatePool::allocate(std::size_t bytes) {
  const std::size_t size = Ranges::rounded(bytes);
  const auto any = [](const Uses&) { return true; };
  auto taken = ranges_.take(size, any);
  if (!taken) {
    chunks_.push_back(memory_.allocate(lane_, size));
    ranges_.add_chunk(static_cast<std::byte*>(chunks_.back().get()), size);
    taken = ranges_.take(size, any);
  }
  return {taken->first, [pool = shared_from_this()](void* block) {
            pool->ranges_.give(static_cast<std::byte*>(block));
          }};
}

}  // namespace engine::cuda
