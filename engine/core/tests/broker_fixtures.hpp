// What the tests of the broker share: a folder of their own, claims, processes that end.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "broker/broker.hpp"
#include "test.hpp"

namespace engine::test {

inline constexpr std::int64_t second_ns = 1'000'000'000;

/// With a file of the broker in it, gone afterwards.
class BrokerFolder {
 public:
  BrokerFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "broker-XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  BrokerFolder(const BrokerFolder&) = delete;
  BrokerFolder& operator=(const BrokerFolder&) = delete;
  ~BrokerFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string file() const { return path_ / "broker"; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Due so long from now; 0: not due.
inline broker::Claim claim(std::int64_t due_in_ns, std::int64_t service_ns = second_ns) {
  const std::int64_t now = now_ns();
  return {.order = RunOrder::of(0, false, due_in_ns == 0 ? 0 : now + due_in_ns, 0),
          .arrival_ns = now,
          .service_ns = service_ns,
          .what = "claimed"};
}

inline bool never() { return false; }
inline bool at_once() { return true; }

/// Holds as soon as it does; false if it does not within seconds.
inline bool holds(const std::function<bool()>& condition) {
  const std::int64_t end_ns = now_ns() + 20 * second_ns;
  while (!condition()) {
    if (now_ns() > end_ns) return false;
    usleep(200);
  }
  return true;
}

/// A process that does something, then lives until it is killed.
class Child {
 public:
  explicit Child(const std::function<void()>& work) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    process_ = ::fork();
    if (process_ == 0) {
      work();
      static_cast<void>(!::write(ends[1], "x", 1));
      for (;;) ::pause();
    }
    ::close(ends[1]);
    char byte = 0;
    const bool began = process_ > 0 && ::read(ends[0], &byte, 1) == 1;
    ::close(ends[0]);
    CHECK(began);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { kill(); }

  /// Waits until it is gone.
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  pid_t process_ = 0;
};

}  // namespace engine::test
