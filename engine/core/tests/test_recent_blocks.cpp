#include <cstdint>
#include <thread>
#include <vector>

#include "memory/recent_blocks.hpp"
#include "memory/refused.hpp"
#include "test.hpp"

namespace recent_blocks_tests {

using namespace engine;

namespace {
constexpr std::size_t kMiB = std::size_t{1} << 20;
}

TEST(the_block_released_last_comes_first) {
  MemoryAccount account;
  RecentBlocks blocks(account);
  std::byte* const first = blocks.allocate(600'000);
  std::byte* const second = blocks.allocate(600'000);
  CHECK(first != second && account.held_bytes() == 0);
  blocks.release(first, 600'000);
  blocks.release(second, 600'000);
  CHECK(blocks.kept_bytes() >= 1'200'000 && account.held_bytes() == blocks.kept_bytes());
  CHECK(blocks.allocate(601'000) == second && blocks.allocate(599'000) == first);
  CHECK(blocks.kept_bytes() == 0 && account.held_bytes() == 0);
  blocks.release(first, 600'000);
  blocks.release(second, 600'000);
}

TEST(blocks_of_any_size_are_aligned) {
  MemoryAccount account;
  RecentBlocks blocks(account);
  for (const std::size_t bytes : {std::size_t{1}, 64 * kMiB / 1024, kMiB + 1, 20 * kMiB}) {
    std::byte* const block = blocks.allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % RecentBlocks::kAlignment == 0);
    block[0] = block[bytes - 1] = std::byte{1};
    blocks.release(block, bytes);
  }
  CHECK(blocks.kept_bytes() < 2 * kMiB);  // neither the smallest nor the largest
}

TEST(little_is_kept_and_all_of_it_given_back) {
  MemoryAccount account;
  RecentBlocks blocks(account);
  std::vector<std::byte*> used;
  for (int i = 0; i < 20; ++i) used.push_back(blocks.allocate(4 * kMiB));
  for (std::byte* const block : used) blocks.release(block, 4 * kMiB);
  CHECK(blocks.kept_bytes() == RecentBlocks::kMostKeptBytes);
  CHECK(blocks.give_back() == RecentBlocks::kMostKeptBytes);
  CHECK(blocks.kept_bytes() == 0 && account.held_bytes() == 0);
}

TEST(a_full_account_keeps_nothing_and_takes_what_is_kept) {
  MemoryAccount account(3 * kMiB);
  RecentBlocks blocks(account);
  auto held = blocks.counted(kMiB);
  CHECK(account.held_bytes() == kMiB);
  held.reset();
  CHECK(account.held_bytes() == blocks.kept_bytes() && blocks.kept_bytes() == kMiB);
  MemoryShare share(account);
  CHECK(blocks.try_take(share, 3 * kMiB) && blocks.kept_bytes() == 0);
  bool is_refused = false;
  try {
    static_cast<void>(blocks.counted(kMiB));
  } catch (const MemoryRefused&) {
    is_refused = true;
  }
  CHECK(is_refused && account.held_bytes() == 3 * kMiB);
  blocks.release(blocks.allocate(kMiB), kMiB);
  CHECK(blocks.kept_bytes() == 0);
}

TEST(threads_share_recent_blocks) {
  MemoryAccount account;
  RecentBlocks blocks(account);
  std::vector<std::thread> threads;
  for (int i = 0; i < lanes; ++i)
    threads.emplace_back([&blocks] {
      for (int j = 0; j < 200; ++j) {
        const auto block = blocks.counted(100'000);
        block.get()[0] = block.get()[99'999] = std::byte{2};
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(account.held_bytes() == blocks.kept_bytes());
}

}  // namespace recent_blocks_tests
