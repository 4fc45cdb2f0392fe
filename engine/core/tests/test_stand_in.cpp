#include "ort/stand_in.hpp"

#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "ort/wire.hpp"
#include "ort_fixtures.hpp"
#include "scheduler/status_error.hpp"
#include "test.hpp"

namespace stand_in_tests {

using namespace engine;
using namespace engine::test;

namespace {

std::int64_t first_of(const ValuePtr& value) {
  return *static_cast<const std::int64_t*>(static_cast<const ort::OnnxValue&>(*value).data());
}

/// Adds so much to a number; another process does not change what it adds.
class AddKernel final : public Kernel {
 public:
  explicit AddKernel(std::int64_t more) : more_(more) {}
  void execute(std::span<const ValuePtr> inputs, std::span<ValuePtr> outputs,
               CancelToken*) const override {
    outputs[0] = tensor(first_of(inputs[0]) + more_, 1);
  }

 private:
  const std::int64_t more_;
};

/// Answers as the child would, a thread of this process: adds 1 to a number.
class Other {
 public:
  explicit Other(const std::string& kind = "tensor") {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) throw std::runtime_error("socket");
    socket = ends[0];
    thread_ = std::thread([this, kind, end = ends[1]] { answer(kind, end); });
  }
  ~Other() { await_end(); }
  Other(const Other&) = delete;
  Other& operator=(const Other&) = delete;

  /// Until its socket is closed.
  void await_end() {
    if (thread_.joinable()) thread_.join();
  }
  /// Queries that it has answered, or is about to.
  [[nodiscard]] int answers() const {
    return answers_.load(std::memory_order_relaxed);  // relaxed: a count
  }

  int socket = -1;

 private:
  void answer(const std::string& kind, int end) {
    ort::Wire wire(end);
    const std::vector<ort::ValueInfo> infos{
        {.name = "x", .kind = kind, .elem_type = ort::kInt64, .shape = {{{-1, "n"}}}}};
    try {
      wire.write(infos);
      wire.write(infos);
      wire.write(std::int64_t{0});
      while (true) {
        const std::int64_t number = first_of(wire.read_tensor());
        answers_.fetch_add(1, std::memory_order_relaxed);  // relaxed: see answers()
        wire.write(number < 0 ? std::string("below 0") : std::string());
        if (number >= 0)
          wire.write(tensor(number + 1, 1));
        else
          wire.write(std::string("2"));
      }
    } catch (const std::runtime_error&) {
      // Nobody asks any more.
    }
  }

  std::atomic<int> answers_{0};
  std::thread thread_;
};

std::int64_t asked(const Kernel& kernel, std::int64_t number) {
  const std::array<ValuePtr, 1> inputs{tensor(number, 1)};
  std::array<ValuePtr, 1> outputs;
  kernel.execute(inputs, outputs, nullptr);
  return first_of(outputs[0]);
}

std::shared_ptr<const Kernel> own() { return std::make_shared<const AddKernel>(1); }

}  // namespace

TEST(every_query_is_answered_while_the_model_is_opened) {
  const FakeOrt runtime;
  Other other;
  ort::StandIn stand_in(other.socket);
  CHECK(stand_in.declared().inputs.at(0).shape->at(0).symbol == "n");
  const auto kernel = stand_in.kernel(own);
  CHECK(asked(*kernel, 4) == 5);
  CHECK(other.answers() == 1);
  std::atomic<int> wrong{0};
  std::atomic<bool> is_over{false};
  std::vector<std::thread> callers;
  for (int i = 0; i < lanes; ++i) {
    callers.emplace_back([&, i] {
      // relaxed, all: the threads are joined
      while (!is_over.load(std::memory_order_relaxed))
        if (asked(*kernel, i) != i + 1) wrong.fetch_add(1, std::memory_order_relaxed);
    });
  }
  other.await_end();
  is_over.store(true, std::memory_order_relaxed);
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong.load(std::memory_order_relaxed) == 0);
}

TEST(a_query_that_fails_there_says_why_and_others_go_on) {
  const FakeOrt runtime;
  Other other;
  const auto kernel = ort::StandIn(other.socket).kernel(own);
  std::string said;
  try {
    asked(*kernel, -1);
  } catch (const StatusError& error) {
    said = error.what() + std::to_string(error.code());
  }
  CHECK(said == "below 02");
  CHECK(asked(*kernel, 1) == 2);
}

TEST(a_model_that_cannot_be_opened_is_asked_for_by_each_query) {
  const FakeOrt runtime;
  Other other("sequence");
  std::atomic<int> opened{0};
  const auto kernel = ort::StandIn(other.socket).kernel([&]() -> std::shared_ptr<const Kernel> {
    opened.fetch_add(1);
    throw std::runtime_error("no memory");
  });
  other.await_end();
  int failed = 0;
  for (int i = 0; i < 2; ++i) {
    try {
      asked(*kernel, 1);
    } catch (const std::runtime_error& error) {
      failed += std::string(error.what()) == "no memory";
    }
  }
  CHECK(failed == 2);
  CHECK(opened.load() >= 2);
}

TEST(a_model_may_go_before_it_was_opened_and_meanwhile) {
  const FakeOrt runtime;
  for (const bool is_opening : {false, true}) {
    Other other;
    std::atomic<bool> began{false};
    auto kernel = ort::StandIn(other.socket).kernel([&] {
      began.store(true);
      return own();
    });
    CHECK(asked(*kernel, 1) == 2);
    while (is_opening && !began.load()) std::this_thread::yield();
    kernel.reset();
    other.await_end();
  }
}

}  // namespace stand_in_tests
