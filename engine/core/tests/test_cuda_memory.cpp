#include <chrono>
#include <future>

#include "cuda_fixtures.hpp"

namespace cuda_memory_tests {

using namespace engine;
using namespace engine::test;
using cuda::DevicePool;
using cuda::Memory;
using cuda::PinnedPool;
using cuda::Ranges;
using cuda::Stamp;
using cuda::Streams;

namespace {

cuda::ApiPtr api() { return std::make_shared<const cuda::Api>(FAKE_CUDA_LIBRARY); }

std::string text_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A kernel that writes the block on a stream.
void write(Streams& streams, std::uint32_t stream, void* block, std::size_t bytes) {
  FakeCuda::launch(streams.handle(stream), {{block, bytes, true}}, [](void*) {}, nullptr);
}

}  // namespace

TEST(a_missing_cuda_library_and_a_missing_function_are_named) {
  CHECK(contains(text_of([] { cuda::Api("/nowhere/libcudart.so"); }), "/nowhere/libcudart.so"));
  const std::string text = text_of([] { cuda::Api("libm.so.6"); });
  CHECK(contains(text, "libm.so.6 lacks the function cudaGetErrorName"));
}

TEST(cuda_errors_name_call_code_and_cuda_s_word_for_it) {
  const FakeCuda fake;
  const auto cuda = api();
  const std::string text = text_of([&] { cuda->set_device(5); });
  CHECK(contains(text, "cudaSetDevice failed with CUDA error 101"));
  CHECK(cuda::severity_of(2) == cuda::Severity::recoverable);
  CHECK(cuda::severity_of(900) == cuda::Severity::recoverable);
  CHECK(cuda::severity_of(700) == cuda::Severity::fatal);
}

TEST(what_users_of_a_stream_share_is_counted_once_and_keeps_no_pool) {
  const FakeCuda fake;
  const auto cuda = api();
  Streams streams(cuda, 2);
  auto pool = std::make_shared<DevicePool>(
      cuda, streams, DevicePool::Params{.pools = 2, .limit_bytes = 4096, .chunk_bytes = 1024});
  auto one = pool->count_shared(0, 1024), same = pool->count_shared(0, 1024);
  auto other = pool->count_shared(1, 1024);
  CHECK(pool->stats().device_bytes == 2048);
  one.reset();
  CHECK(pool->stats().device_bytes == 2048);
  same.reset();
  CHECK(pool->stats().device_bytes == 1024);
  one = pool->count_shared(0, 2048);
  CHECK(pool->stats().device_bytes == 3072);
  CHECK(contains(text_of([&] { static_cast<void>(pool->count_outside(2048)); }), "out of GPU"));
  const std::weak_ptr<DevicePool> seen = pool;
  pool.reset();
  CHECK(!seen.expired());
  one.reset();
  other.reset();
  CHECK(seen.expired());
}

TEST(what_a_lane_is_launching_has_no_other_lane_use_its_memory) {
  const FakeCuda fake;
  const auto cuda = api();
  Streams streams(cuda, 2);
  const auto pool = std::make_shared<DevicePool>(
      cuda, streams, DevicePool::Params{.pools = 2, .limit_bytes = 4096, .chunk_bytes = 4096});
  void* const block = pool->allocate_bare(0, 1024);
  write(streams, 0, block, 1024);
  pool->release(block);
  // No event is behind it yet.
  CHECK(
      contains(text_of([&] { static_cast<void>(pool->allocate(1, 4096)); }), "out of GPU memory"));
  static_cast<void>(streams.record(0));
  Memory memory = pool->allocate(1, 4096);
  write(streams, 1, memory.get(), 4096);
  static_cast<void>(streams.record(1));
  memory.reset();
  streams.settle();
  pool->close();
  fake.check_clean();
}

TEST(ranges_split_and_join) {
  std::array<std::byte, 4096> memory{};
  Ranges ranges;
  ranges.add_chunk(memory.data(), 2048);
  ranges.add_chunk(memory.data() + 2048, 2048);
  const auto any = [](const cuda::Uses&) { return true; };
  CHECK(!ranges.take(2304, any));  // chunks are never joined
  const auto a = ranges.take(256, any), b = ranges.take(1792, any), c = ranges.take(2048, any);
  CHECK(a && b && c && !ranges.take(256, any));
  CHECK(ranges.give(a->first) == 256);
  CHECK(ranges.give(b->first) == 1792);
  CHECK(ranges.drop_chunks(any).size() == 1);
  ranges.give(c->first);
  CHECK(ranges.drop_chunks(any).size() == 1 && ranges.empty());
}

TEST(waits_are_issued_once_and_never_for_what_has_passed) {
  const FakeCuda fake;
  Streams streams(api(), 2);
  const Stamp first = streams.record(0), second = streams.record(0);
  CHECK(first.position == 1 && second.position == 2);
  CHECK(streams.is_behind(0, second) && !streams.is_behind(1, first));
  streams.wait(1, second);
  CHECK(streams.is_behind(1, first));
  while (streams.passed(0) < 2) static_cast<void>(streams.poll());
  const Stamp third = streams.record(1);
  CHECK(!streams.is_behind(0, third));
  while (streams.passed(1) < 1) static_cast<void>(streams.poll());
  CHECK(streams.is_behind(0, third));
  fake.check_clean();
}

TEST(memory_moves_to_another_lane_only_behind_an_event) {
  const FakeCuda fake;
  const auto cuda = api();
  Streams streams(cuda, 2);
  const auto pool = std::make_shared<DevicePool>(
      cuda, streams, DevicePool::Params{.pools = 2, .limit_bytes = 4096, .chunk_bytes = 4096});
  void* first = nullptr;
  {
    const Memory block = pool->allocate(0, 4096);
    first = block.get();
    write(streams, 0, first, 4096);
    static_cast<void>(streams.record(0));
  }
  const Memory same = pool->allocate(1, 4096);
  CHECK(same.get() == first);
  write(streams, 1, same.get(), 4096);
  static_cast<void>(streams.record(1));
  fake.check_clean();
  CHECK(contains(text_of([&] { static_cast<void>(pool->allocate(0, 256)); }), "the limit is 4096"));
  while (streams.passed(1) < 1) static_cast<void>(streams.poll());
}

TEST(a_block_handed_over_without_an_event_is_noticed) {
  const FakeCuda fake;
  const auto cuda = api();
  Streams streams(cuda, 2);
  const auto pool = std::make_shared<DevicePool>(
      cuda, streams, DevicePool::Params{.pools = 2, .limit_bytes = 4096, .chunk_bytes = 4096});
  fake.ignore("cudaStreamWaitEvent");
  {
    const Memory block = pool->allocate(0, 4096);
    write(streams, 0, block.get(), 4096);
    static_cast<void>(streams.record(0));
  }
  write(streams, 1, pool->allocate(1, 4096).get(), 4096);
  CHECK(fake.violations() == 1);
  static_cast<void>(streams.record(1));
  while (streams.passed(1) < 1 || streams.passed(0) < 1) static_cast<void>(streams.poll());
}

TEST(chunks_of_the_wrong_size_are_given_back) {
  const FakeCuda fake;
  const auto cuda = api();
  Streams streams(cuda, 1);
  const auto pool = std::make_shared<DevicePool>(
      cuda, streams, DevicePool::Params{.limit_bytes = 8192, .chunk_bytes = 4096});
  {
    const Memory a = pool->allocate(0, 4096), b = pool->allocate(0, 4096);
  }
  static_cast<void>(streams.record(0));
  while (streams.passed(0) < 1) static_cast<void>(streams.poll());
  {
    CHECK(pool->allocate(0, 8192) != nullptr);
  }
  CHECK(pool->stats().device_bytes == 8192 && pool->stats().used_bytes == 0);
  static_cast<void>(streams.record(0));
  while (streams.passed(0) < 2) static_cast<void>(streams.poll());
  fake.check_clean();
}

TEST(a_point_that_is_not_recorded_yet_cannot_be_waited_for) {
  const FakeCuda fake;
  Streams streams(api(), 2);
  CHECK(contains(text_of([&] { streams.wait(1, streams.next(0)); }), "not recorded yet"));
}

TEST(nobody_waits_for_memory_that_goes_back_to_the_device) {
  const FakeCuda fake;
  const auto cuda = api();
  Streams streams(cuda, 1);
  const auto pool = std::make_shared<DevicePool>(
      cuda, streams, DevicePool::Params{.limit_bytes = 12288, .chunk_bytes = 4096});
  Memory held = pool->allocate(0, 4096);
  static_cast<void>(pool->allocate(0, 4096));
  static_cast<void>(streams.record(0));
  streams.settle();
  // cudaFree waits for the GPU: meanwhile a caller lets go of an answer.
  std::future<void> let_go;
  fake.during("cudaFree", [&] {
    let_go = std::async(std::launch::async, [&] { held.reset(); });
    CHECK(let_go.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  });
  CHECK(pool->allocate(0, 8192) != nullptr);
  fake.during("cudaFree", {});
  CHECK(let_go.valid() && held == nullptr);
  static_cast<void>(streams.record(0));
  streams.settle();
  fake.check_clean();
}

TEST(memory_is_freed_with_its_last_holder_after_the_pool_was_closed) {
  const FakeCuda fake;
  const auto cuda = api();
  auto streams = std::make_unique<Streams>(cuda, 1);
  auto pool = std::make_shared<DevicePool>(cuda, *streams, DevicePool::Params{});
  auto pinned = std::make_shared<PinnedPool>(cuda, 4096);
  Memory block = pool->allocate(0, 256), staged = pinned->allocate(256, false);
  pool->close();
  pinned->close();
  pool.reset();
  pinned.reset();
  CHECK(fake.alive() == 3);
  block.reset();
  staged.reset();
  CHECK(fake.alive() == 1);
}

TEST(callers_keep_at_most_half_of_the_pinned_memory) {
  const FakeCuda fake;
  const auto pinned = std::make_shared<PinnedPool>(api(), 4096);
  CHECK(pinned->may_lend(2048) && !pinned->may_lend(2304));
  Memory lent = pinned->lend(pinned->allocate(2048, false), 2048);
  CHECK(!pinned->may_lend(256) && pinned->holds(lent.get()));
  CHECK(pinned->allocate(2304, false) == nullptr);
  CHECK(pinned->allocate(2304, true) != nullptr);
  lent.reset();
  CHECK(pinned->may_lend(2048));
}

TEST(small_copies_do_not_starve_a_large_one_of_pinned_memory) {
  const FakeCuda fake;
  const auto pinned = std::make_shared<PinnedPool>(api(), 4096);
  constexpr std::size_t out = 1, in = 0;
  Memory first = pinned->allocate(256, false, out), second = pinned->allocate(256, false, out);
  CHECK(pinned->allocate(4096, false, in) == nullptr);
  first.reset();
  CHECK(pinned->allocate(256, false, out) == nullptr);  // it would never come to 4096 bytes
  CHECK(pinned->allocate(4096, false, in) == nullptr);
  second.reset();
  Memory large = pinned->allocate(4096, false, in);
  CHECK(large != nullptr);
  CHECK(pinned->allocate(256, false, out) == nullptr);  // from now on it is its turn
  large.reset();
  CHECK(pinned->allocate(256, false, in) == nullptr);
  CHECK(pinned->allocate(256, false, out) != nullptr);
  CHECK(pinned->allocate(256, false, in) != nullptr);
}

}  // namespace cuda_memory_tests
