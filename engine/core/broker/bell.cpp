#include "broker/bell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace engine::broker {

void sleep_on(std::atomic<std::uint32_t>& word, std::atomic<std::uint32_t>& sleepers,
              std::uint32_t key, std::int64_t until_ns) noexcept {
  timespec until{};
  until.tv_sec = until_ns / 1'000'000'000;
  until.tv_nsec = until_ns % 1'000'000'000;
  sleepers.fetch_add(1, std::memory_order_seq_cst);  // seq_cst: before the kernel tests the word
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, key, until_ns == 0 ? nullptr : &until, nullptr,
          FUTEX_BITSET_MATCH_ANY);
  sleepers.fetch_sub(1, std::memory_order_relaxed);  // relaxed: a late view only wakes in vain
}

void ring(std::atomic<std::uint32_t>& word, const std::atomic<std::uint32_t>& sleepers) noexcept {
  word.fetch_add(1, std::memory_order_seq_cst);       // seq_cst: before we look who sleeps
  if (sleepers.load(std::memory_order_seq_cst) != 0)  // seq_cst: as above
    syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX);
}

}  // namespace engine::broker
