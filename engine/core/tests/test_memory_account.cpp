// One account for many threads: exact, and what is kept counts.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "memory/account.hpp"
#include "memory/large_blocks.hpp"
#include "memory/refused.hpp"
#include "test.hpp"

namespace memory_account_tests {

using namespace engine;

namespace {

constexpr std::size_t kLeast = LargeBlocks::kLeastBytes;

template <typename Function>
void side_by_side(int count, Function&& function) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(function);
  for (std::thread& thread : threads) thread.join();
}

bool is_refused(LargeBlocks& blocks, std::size_t bytes) {
  try {
    blocks.release(blocks.allocate(bytes), bytes);
  } catch (const MemoryRefused&) {
    return true;
  }
  return false;
}

}  // namespace

TEST(an_account_of_many_threads_is_filled_to_its_limit_and_no_further) {
  MemoryAccount account(10'007);
  std::atomic<int> held{0};
  std::atomic<bool> exceeded{false};
  side_by_side(lanes, [&] {
    for (int i = 0; i < 2'000; ++i) {
      if (account.try_take(10'008)) exceeded = true;  // must not get in the others' way
      if (account.try_take(10)) ++held;
      if (account.held_bytes() > 10'007) exceeded = true;
    }
  });
  CHECK(!exceeded);
  CHECK(held == 1'000);
  CHECK(account.refused() == static_cast<std::uint64_t>(lanes) * 4'000 - 1'000);
  for (int i = 0; i < 1'000; ++i) account.give(10);
  CHECK(account.held_bytes() == 0);
}

TEST(what_others_hold_counts) {
  MemoryAccount account(100);
  account.set_others(60);
  CHECK(!account.try_take(41));
  CHECK(account.try_take(40));
  account.set_others(200);
  CHECK(!account.try_take(1));
  account.set_limit(0);  // none
  CHECK(account.try_take(SIZE_MAX - 40));
  CHECK(!account.try_take(1));
}

TEST(a_share_gives_itself_back) {
  MemoryAccount account(100);
  {
    MemoryShare share(account);
    CHECK(share.try_take(60));
    CHECK(!share.try_take(60));
    MemoryShare other(std::move(share));
    CHECK(other.bytes() == 60 && account.held_bytes() == 60);
    CHECK(other.try_take(40));
  }
  CHECK(account.held_bytes() == 0);
  MemoryShare lent(account);
  CHECK(lent.try_take(7));
  CHECK(lent.lend() == 7);
  lent.give_all();
  CHECK(account.held_bytes() == 7);
}

TEST(a_large_block_is_used_again_until_the_account_needs_it) {
  MemoryAccount account(4 * kLeast);
  LargeBlocks blocks(account);
  void* const first = blocks.allocate(kLeast);
  std::memset(first, 1, kLeast);
  blocks.release(first, kLeast);
  CHECK(account.held_bytes() == kLeast);
  CHECK(blocks.allocate(kLeast) == first);
  CHECK(is_refused(blocks, 4 * kLeast));
  blocks.release(first, kLeast);
  CHECK(!is_refused(blocks, 4 * kLeast));  // what was kept has gone
  CHECK(blocks.give_back() == 4 * kLeast);
  CHECK(account.held_bytes() == 0);
}

TEST(large_blocks_of_many_threads_stay_within_the_limit) {
  MemoryAccount account(3 * kLeast);
  LargeBlocks blocks(account);
  std::atomic<bool> exceeded{false};
  side_by_side(lanes, [&] {
    for (int i = 0; i < 100; ++i) {
      static_cast<void>(is_refused(blocks, kLeast));
      if (account.held_bytes() > 3 * kLeast) exceeded = true;
    }
  });
  CHECK(!exceeded);
  CHECK(account.held_bytes() == blocks.kept_bytes());
}

TEST(sizes_that_no_memory_has_are_refused) {
  MemoryAccount account;
  LargeBlocks blocks(account);
  CHECK(is_refused(blocks, SIZE_MAX - 10));
  CHECK(account.held_bytes() == 0);
}

TEST(a_refusal_is_known_again_in_the_words_of_others) {
  const MemoryRefused refused(123'456);
  const std::string told = "Non-zero status: node 'x' 12" + std::string(refused.what()) + " (op)";
  CHECK(MemoryRefused::is_said_by(told));
  CHECK(MemoryRefused::cut_from("node 'x': " + std::string(refused.what()) + " (op)") ==
        "123456 bytes more are above the memory limit");
  CHECK(!MemoryRefused::is_said_by("Failed to allocate memory"));
  CHECK(MemoryRefused::cut_from("above the memory limit") == "above the memory limit");
}

}  // namespace memory_account_tests
