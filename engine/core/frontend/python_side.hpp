// What Python is told by the front end, and tells it: two queues, each with a descriptor that
// wakes.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "frontend/call.hpp"
#include "scheduler/doorbell.hpp"

namespace engine::frontend {

/// What came for Python.
struct Event {
  enum Kind : std::uint8_t {
    call,         ///< one begins: its path
    message,      ///< of a call
    end,          ///< nothing more comes of a call
    item,         ///< a message of ModelStreamInfer, to be answered by itself
    failed,       ///< the run of a call failed: `path` says why
    item_failed,  ///< the run of an item did; `encoding` is its query's id
    gone,         ///< who called does not wait any more
    request,      ///< of REST, whole: `path` is its target, `method` its own
  };

  Kind kind = call;
  std::uint64_t token = 0;
  std::uint64_t number = 0;  ///< of an item in its stream
  std::string path = {}, encoding = {};
  Message content = {};
  std::int64_t deadline_ns = 0;
  std::string method = {};
  std::vector<std::pair<std::string, std::string>> fields = {};  ///< of a request's head
  // Of a call, an item or a request: who asks.
  std::string authorization = {};
  std::vector<std::string> certificate_names = {};
  std::string trace_parent = {};  ///< of a call or an item
};

/// What Python has for a call.
struct Reply {
  enum Kind : std::uint8_t {
    message,  ///< to be sent
    end,      ///< with a status
    item,     ///< the answer to an item
    answer,   ///< to a request of REST
  };

  Kind kind = message;
  std::uint64_t token = 0;
  std::uint64_t number = 0;
  std::string content = {};  ///< a message, a body, or the status's text
  Status status = Status::ok;
  int http_status = 0;      ///< of an answer
  std::string fields = {};  ///< of its head, each line with its end
};

/// A queue between two threads, one at each end. Rings when it is not empty any more.
template <typename T>
class Mailbox {
 public:
  void put(T one) {
    bool was_empty = false;
    {
      const std::lock_guard lock(mutex_);
      was_empty = items_.empty();
      items_.push_back(std::move(one));
    }
    if (was_empty) bell_.ring();
  }
  [[nodiscard]] std::vector<T> take() {
    bell_.silence();
    const std::lock_guard lock(mutex_);
    return std::exchange(items_, {});
  }
  /// Wakes who takes, without anything to take.
  void ring() const noexcept { bell_.ring(); }
  [[nodiscard]] int fd() const noexcept { return bell_.fd(); }

 private:
  Doorbell bell_;
  std::mutex mutex_;
  std::vector<T> items_;  // guarded by mutex_
};

}  // namespace engine::frontend
